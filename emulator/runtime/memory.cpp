#include <emulator/runtime/memory.h>

#include <emulator/runtime/devices.h>
#include <emulator/runtime/fault.h>
#include <emulator/runtime/pinned.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/symbols.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace emulator {

namespace {

constexpr size_t kAlignment = 512, kRedZone = 512;
constexpr size_t kReserve = size_t{1} << 36;                /* of addresses, for each device */
/* Easy to recognise, and free in ordinary processes and under ASan. The lower half is no small number, so that a number in front of four bytes of
 * padding does not look like an address. */
constexpr uint64_t kFirstBase = 0x300040000000;
/* Changing the protection of memory takes time for each page that it has: with pages of this size that is little. */
constexpr size_t kHugePage = size_t{2} << 20;
constexpr unsigned char kFresh = 0xFF;                      /* not-a-number in every float format */
constexpr unsigned char kFreed = 0xFE, kRedZoneByte = 0xFD;

bool memory_is_open = false;

constexpr uint64_t round_up(uint64_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
size_t block_bytes(size_t bytes) { return round_up(bytes, kAlignment) + kRedZone; }
unsigned char *at(uint64_t address) { return reinterpret_cast<unsigned char *>(address); }
size_t poisoned(size_t bytes) { return std::min(bytes, static_cast<size_t>(settings.poison_bytes)); }

/* The first byte that differs from the pattern; `bytes` if none does. */
size_t first_change(const unsigned char *from, size_t bytes, unsigned char pattern) {
  if (bytes == 0 || (from[0] == pattern && memcmp(from, from + 1, bytes - 1) == 0)) return bytes;
  size_t i = 0;
  while (from[i] == pattern) ++i;
  return i;
}

/* Memory that is looked at or filled between operations. */
class opened_for_a_moment {
 public:
  opened_for_a_moment() : was_open(memory_is_open) { open_device_memory(); }
  ~opened_for_a_moment() {
    if (!was_open) close_device_memory();
  }

 private:
  bool was_open;
};

}  // namespace

std::string describe(const allocation &a) {
  const char *where = a.kind == memory_kind::device ? "allocation" : "pinned memory";
  std::string name = a.name.empty() ? "" : " \"" + a.name + "\"";
  return formatted("%s #%llu%s (%s from %s)", where, static_cast<unsigned long long>(a.id), name.c_str(), bytes_text(a.bytes).c_str(), a.origin);
}

std::string describe_at(const allocation &a, uint64_t address) {
  if (address < a.address + a.bytes) return formatted("byte %llu of %s", static_cast<unsigned long long>(address - a.address), describe(a).c_str());
  return formatted("%llu bytes past the end of %s", static_cast<unsigned long long>(address - a.address - a.bytes), describe(a).c_str());
}

uint64_t memory_changes = 0;

uint64_t next_allocation_id() {
  static uint64_t last = 0;
  return ++last;
}

bool allocation_may_succeed() {
  if (settings.fail_allocation > 0 && --settings.fail_allocation == 0) return false;
  if (settings.fail_allocations_after == 0) return false;
  if (settings.fail_allocations_after > 0) --settings.fail_allocations_after;
  return true;
}

/* ---- A device's range ---- */

bool device_memory::reserve() {
  if (reserved) return true;
  for (size_t bytes = kReserve; bytes >= kHugePage; bytes /= 2) {
    void *wanted = reinterpret_cast<void *>(kFirstBase + static_cast<uint64_t>(device) * kReserve);
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *got = mmap(wanted, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) got = mmap(nullptr, bytes, PROT_NONE, flags, -1, 0);
    if (got == MAP_FAILED) continue;
    madvise(got, bytes, MADV_DONTFORK);
    madvise(got, bytes, MADV_HUGEPAGE);
    base = round_up(reinterpret_cast<uint64_t>(got), kHugePage);
    top = base + 2 * kAlignment;
    reserved = bytes - (base - reinterpret_cast<uint64_t>(got));
    return true;
  }
  return false;
}

void device_memory::open() {
  size_t wanted = std::min<size_t>(round_up(top - base, kHugePage), reserved);
  if (wanted <= opened) return;
  if (mprotect(at(base + opened), wanted - opened, PROT_READ | PROT_WRITE) == 0) opened = wanted;
}

void device_memory::close() {
  if (opened) mprotect(at(base), opened, PROT_NONE);
  opened = 0;
}

bool device_memory::take_block(size_t bytes, uint64_t *out_address) {
  for (auto block = free_blocks.begin(); block != free_blocks.end(); ++block) {
    if (block->second < bytes) continue;
    auto [address, size] = *block;
    free_blocks.erase(block);
    if (size > bytes) free_blocks.emplace(address + bytes, size - bytes);
    *out_address = address;
    return true;
  }
  if (base + reserved - top < bytes) return false;
  *out_address = top;
  top += bytes;
  return true;
}

/* Neighbours are merged, so that large blocks come back. */
void device_memory::give_block(uint64_t address, size_t bytes) {
  uint64_t first_page = round_up(address, kHugePage), end_page = (address + bytes) / kHugePage * kHugePage;
  if (first_page < end_page) madvise(at(first_page), end_page - first_page, MADV_DONTNEED);
  auto next = free_blocks.lower_bound(address);
  if (next != free_blocks.end() && next->first == address + bytes) {
    bytes += next->second;
    next = free_blocks.erase(next);
  }
  if (next != free_blocks.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == address) {
      before->second += bytes;
      return;
    }
  }
  free_blocks.emplace(address, bytes);
}

/* The oldest freed memory can be handed out again, where the device is done with it. */
void device_memory::shrink_quarantine(size_t most) {
  if (quarantine_bytes <= most) return;
  opened_for_a_moment now;
  for (auto entry = quarantine.begin(); entry != quarantine.end() && quarantine_bytes > most;) {
    allocation &a = allocations.at(*entry);
    if (!a.free_when.reached()) {
      ++entry;
      continue;
    }
    size_t bytes = poisoned(a.bytes), change = first_change(at(a.address), bytes, kFreed);
    if (change < bytes) {
      report("freed_write", "byte %zu of %s was written after %s had freed it", change, describe(a).c_str(), a.freed_by);
    }
    quarantine_bytes -= a.bytes;
    give_block(a.address, block_bytes(a.bytes));
    allocations.erase(a.address);
    entry = quarantine.erase(entry);
  }
}

void device_memory::fill_fresh(const allocation &a) {
  opened_for_a_moment now;
  memset(at(a.address), kFresh, poisoned(a.bytes));
  memset(at(a.address + a.bytes), kRedZoneByte, block_bytes(a.bytes) - a.bytes);
  if (settings.race_check) forget_accesses(a.address, a.bytes);
}

allocation *device_memory::allocate(size_t bytes, const char *origin) {
  if (!reserve() || live_bytes + bytes > static_cast<size_t>(settings.memory_bytes)) return nullptr;
  shrink_quarantine(static_cast<size_t>(settings.quarantine_bytes));
  uint64_t address;
  if (!take_block(block_bytes(bytes), &address)) {
    shrink_quarantine(0);
    if (!take_block(block_bytes(bytes), &address)) return nullptr;
  }
  allocation a = {next_allocation_id(), address, bytes, memory_kind::device, device, origin, ""};
  allocation *made = &allocations.emplace(address, std::move(a)).first->second;
  fill_fresh(*made);
  ++memory_changes;
  live_bytes += bytes;
  ++counters.allocations;
  ++counters.live_allocations;
  counters.live_bytes += static_cast<int64_t>(bytes);
  counters.peak_bytes = std::max(counters.peak_bytes, counters.live_bytes);
  return made;
}

void device_memory::release(allocation *a, const char *by, const mark &when) {
  ++memory_changes;
  a->freed = true;
  a->freed_by = by;
  a->free_when = when;
  live_bytes -= a->bytes;
  --counters.live_allocations;
  counters.live_bytes -= static_cast<int64_t>(a->bytes);
  if (!when.on) poison_freed(*a);
  quarantine.push_back(a->address);
  quarantine_bytes += a->bytes;
}

void device_memory::poison_freed(const allocation &a) {
  opened_for_a_moment now;
  check_red_zone(a, [&] { return formatted("something before %s", a.freed_by); });
  memset(at(a.address), kFreed, poisoned(a.bytes));
}

void device_memory::release_all(const char *by) {
  for (auto &[address, a] : allocations) {
    if (!a.freed) release(&a, by, {});
  }
}

allocation *device_memory::find(uint64_t address) {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return nullptr;
  allocation &a = std::prev(next)->second;
  return address < a.address + block_bytes(a.bytes) ? &a : nullptr;
}

allocation *device_memory::find_start(uint64_t address) {
  auto found = allocations.find(address);
  return found == allocations.end() ? nullptr : &found->second;
}

void device_memory::check_red_zone(const allocation &a, const std::function<std::string()> &by) {
  opened_for_a_moment now;
  size_t bytes = block_bytes(a.bytes) - a.bytes;
  size_t change = first_change(at(a.address + a.bytes), bytes, kRedZoneByte);
  if (change == bytes) return;
  report("out_of_bounds", "%s: memory %zu bytes past the end of %s was written", by().c_str(), change, describe(a).c_str());
  memset(at(a.address + a.bytes), kRedZoneByte, bytes);
}

void device_memory::check_red_zones() {
  for (auto &[address, a] : allocations) {
    if (!a.freed) check_red_zone(a, [] { return "something before a synchronisation of the device"; });
  }
}

/* ---- All devices ---- */

allocation *find_device_allocation(uint64_t address) {
  for (int i = 0; i < kMostDevices; ++i) {
    device *d = used_device(i);
    if (d && d->memory.holds(address)) return d->memory.find(address);
  }
  return nullptr;
}

bool is_device_address(const void *p) {
  uint64_t address = reinterpret_cast<uint64_t>(p);
  for (int i = 0; i < kMostDevices; ++i) {
    device *d = used_device(i);
    if (d && d->memory.holds(address)) return true;
  }
  return find_symbol_at(p) != nullptr;
}

void open_device_memory() {
  if (!memory_is_open) install_fault_handler();
  memory_is_open = true;
  open_pinned();
  for (int i = 0; i < kMostDevices; ++i) {
    if (device *d = used_device(i)) d->memory.open();
  }
}

void close_device_memory() {
  if (!memory_is_open) return;
  for (int i = 0; i < kMostDevices; ++i) {
    if (device *d = used_device(i)) d->memory.close();
  }
  close_pinned();
  memory_is_open = false;
}

cudaError_t find_for_free(const char *call, const void *p, device_memory **out_memory, allocation **out) {
  uint64_t address = reinterpret_cast<uint64_t>(p);
  for (int i = 0; i < kMostDevices; ++i) {
    device *d = used_device(i);
    if (!d || !d->memory.holds(address)) continue;
    allocation *a = d->memory.find_start(address);
    if (a && !a->freed) {
      *out_memory = &d->memory;
      *out = a;
      return cudaSuccess;
    }
    allocation *around = a ? a : d->memory.find(address);
    if (a) {
      report("double_free", "%s of %s, which %s has freed already", call, describe(*a).c_str(), a->freed_by);
    } else if (around) {
      report("invalid_free", "%s of %p, which is %s: only the address that the allocation returned can be freed", call, p,
             describe_at(*around, address).c_str());
    }
    if (around) return cudaErrorInvalidValue;
  }
  report("invalid_free", "%s of %p, which is no device memory that was allocated", call, p);
  return cudaErrorInvalidValue;
}

}  // namespace emulator
