#include <emulator/runtime/pinned.h>

#include <emulator/runtime/api.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/report.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace emulator {

namespace {

constexpr uint64_t kPage = 4096;

struct pending_copy {
  uint64_t address;
  size_t bytes;
  uint64_t first_page, end_page;                            /* the pages that are wholly its own */
  bool writes;
  std::string by;
  uint64_t digest;                                          /* of what lies outside those pages */
};

auto &pinned = *new std::map<uint64_t, allocation>;         /* by address */
auto &pending = *new std::map<uint64_t, pending_copy>;      /* by number */
bool is_open = false;                                       /* work is running: nothing is protected */

uint64_t round_up(uint64_t n) { return (n + kPage - 1) / kPage * kPage; }

/* Bytes of the copy's range that protection does not cover, as one number (FNV-1a by bytes: they are a page at most at either end). */
uint64_t digest_of(const pending_copy &c) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) hash = (hash ^ *reinterpret_cast<const unsigned char *>(i)) * 0x100000001b3;
  };
  uint64_t end = c.address + c.bytes;
  bool covered = c.first_page < c.end_page;
  add(c.address, covered ? std::min(c.first_page, end) : end);
  if (covered && c.end_page < end) add(c.end_page, end);
  return hash;
}

/* What the pending copies leave open of one page. */
int protection_of(uint64_t page) {
  int protection = PROT_READ | PROT_WRITE;
  for (auto &[number, c] : pending) {
    if (page >= c.first_page && page < c.end_page) protection &= c.writes ? PROT_NONE : PROT_READ;
  }
  return protection;
}

void apply_protection(const pending_copy &c) {
  for (uint64_t page = c.first_page; page < c.end_page;) {
    int protection = is_open ? PROT_READ | PROT_WRITE : protection_of(page);
    uint64_t end = page + kPage;
    while (end < c.end_page && (is_open || protection_of(end) == protection)) end += kPage;
    mprotect(reinterpret_cast<void *>(page), end - page, protection);
    page = end;
  }
}

/* For a look at memory that other copies may protect. */
class opened_for_a_moment {
 public:
  opened_for_a_moment() : was_open(is_open) { open_pinned(); }
  ~opened_for_a_moment() {
    if (!was_open) close_pinned();
  }

 private:
  bool was_open;
};

cudaError_t allocate(void **out, size_t bytes, const char *origin, memory_kind kind, unsigned flags) {
  if (!out) return cudaErrorInvalidValue;
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (!allocation_may_succeed()) return cudaErrorMemoryAllocation;
  if (bytes > SIZE_MAX - 2 * kPage) return cudaErrorMemoryAllocation;
  /* The page behind it stays closed: who runs past the end faults there at the latest. */
  void *p = mmap(nullptr, round_up(bytes) + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return cudaErrorMemoryAllocation;
  uint64_t address = reinterpret_cast<uint64_t>(p);
  mprotect(reinterpret_cast<void *>(address + round_up(bytes)), kPage, PROT_NONE);
  pinned.emplace(address, allocation{next_allocation_id(), address, bytes, kind, this_thread.device, origin, "", flags});
  ++counters.pinned_allocations;
  *out = p;
  return cudaSuccess;
}

void wait_for_all_devices() {
  ++counters.synchronisations;
  for (int i = 0; i < kMostDevices; ++i) {
    if (device *d = used_device(i)) run_all_of(*d);
  }
}

cudaError_t release(const char *call, void *p) {
  if (!p) return cudaSuccess;
  auto found = pinned.find(reinterpret_cast<uint64_t>(p));
  if (found == pinned.end() || found->second.kind == memory_kind::registered) {
    report("invalid_free", "%s of %p, which cudaHostAlloc or cudaMallocHost did not return, or which was freed already", call, p);
    return cudaErrorInvalidValue;
  }
  wait_for_all_devices();
  munmap(p, round_up(found->second.bytes) + kPage);
  pinned.erase(found);
  return cudaSuccess;
}

cudaError_t register_memory(void *p, size_t bytes, unsigned flags) {
  constexpr unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
  if (!p || bytes == 0 || flags & ~known) return cudaErrorInvalidValue;
  uint64_t address = reinterpret_cast<uint64_t>(p);
  auto next = pinned.lower_bound(address + bytes);
  if (next != pinned.begin()) {
    const allocation &before = std::prev(next)->second;
    if (before.address + before.bytes > address) return cudaErrorHostMemoryAlreadyRegistered;
  }
  pinned.emplace(address, allocation{next_allocation_id(), address, bytes, memory_kind::registered, this_thread.device, "cudaHostRegister", "", flags});
  ++counters.pinned_allocations;
  return cudaSuccess;
}

cudaError_t unregister(void *p) {
  auto found = pinned.find(reinterpret_cast<uint64_t>(p));
  if (found == pinned.end() || found->second.kind != memory_kind::registered) return cudaErrorHostMemoryNotRegistered;
  wait_for_all_devices();
  pinned.erase(found);
  return cudaSuccess;
}

}  // namespace

cudaError_t free_managed(void *p) { return release("cudaFree", p); }

allocation *find_pinned(const void *p) {
  uint64_t address = reinterpret_cast<uint64_t>(p);
  auto next = pinned.upper_bound(address);
  if (next == pinned.begin()) return nullptr;
  allocation &a = std::prev(next)->second;
  return address < a.address + a.bytes ? &a : nullptr;
}

void open_pinned() {
  if (is_open) return;
  is_open = true;
  for (auto &[number, c] : pending) apply_protection(c);
}

void close_pinned() {
  if (!is_open) return;
  is_open = false;
  for (auto &[number, c] : pending) apply_protection(c);
}

uint64_t protect_pinned(const void *p, size_t bytes, bool writes, std::string by) {
  static uint64_t last = 0;
  const allocation *a = find_pinned(p);
  if (!a || bytes == 0 || a->kind == memory_kind::managed) return 0;
  uint64_t address = reinterpret_cast<uint64_t>(p), end = address + bytes;
  /* cudaHostAlloc's last page is its own to the end. */
  uint64_t end_page = a->kind == memory_kind::pinned && end == a->address + a->bytes ? round_up(end) : end / kPage * kPage;
  pending_copy c = {address, bytes, round_up(address), end_page, writes, std::move(by), 0};
  {
    opened_for_a_moment now;
    c.digest = digest_of(c);
  }
  pending_copy &added = pending.emplace(++last, std::move(c)).first->second;
  apply_protection(added);
  return last;
}

void unprotect_pinned(uint64_t number) {
  auto found = pending.find(number);
  if (found == pending.end()) return;
  pending_copy c = std::move(found->second);
  pending.erase(found);
  apply_protection(c);
  opened_for_a_moment now;
  if (digest_of(c) == c.digest) return;
  const allocation *a = find_pinned(reinterpret_cast<void *>(c.address));
  report("pinned_access", "%s was written while %s, which %s it, was pending: synchronise with it first",
         a ? describe_at(*a, c.address).c_str() : "pinned memory", c.by.c_str(), c.writes ? "writes" : "reads");
}

bool survive_pinned_access(uint64_t address, char *out_text, size_t capacity) {
  for (auto &[number, c] : pending) {
    if (address < c.first_page || address >= c.end_page) continue;
    mprotect(reinterpret_cast<void *>(address / kPage * kPage), kPage, PROT_READ | PROT_WRITE);
    const allocation *a = find_pinned(reinterpret_cast<void *>(address));
    snprintf(out_text, capacity, "host code touched byte %llu of pinned memory #%llu%s%s%s (%zu bytes from %s) while %s, which %s it, was pending: "
             "synchronise with it first",
             static_cast<unsigned long long>(a ? address - a->address : 0), static_cast<unsigned long long>(a ? a->id : 0), a && !a->name.empty() ? " \"" : "",
             a ? a->name.c_str() : "", a && !a->name.empty() ? "\"" : "", a ? a->bytes : 0, a ? a->origin : "", c.by.c_str(),
             c.writes ? "writes" : "reads");
    return true;
  }
  return false;
}

}  // namespace emulator

using namespace emulator;

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
  return api("cudaHostAlloc", unsafe_in_capture, [&] {
    constexpr unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    return flags & ~known ? cudaErrorInvalidValue : allocate(out, bytes, "cudaHostAlloc", memory_kind::pinned, flags);
  });
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
  return api("cudaMallocHost", unsafe_in_capture, [&] { return allocate(out, bytes, "cudaMallocHost", memory_kind::pinned, cudaHostAllocDefault); });
}

cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned flags) {
  return api("cudaMallocManaged", unsafe_in_capture, [&] {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
    return bytes == 0 ? cudaErrorInvalidValue : allocate(out, bytes, "cudaMallocManaged", memory_kind::managed, flags);
  });
}

cudaError_t cudaFreeHost(void *p) {
  return api("cudaFreeHost", unsafe_in_capture | releasing, [&] { return release("cudaFreeHost", p); });
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags) {
  return api("cudaHostRegister", unsafe_in_capture, [&] { return register_memory(p, bytes, flags); });
}

cudaError_t cudaHostUnregister(void *p) {
  return api("cudaHostUnregister", unsafe_in_capture | releasing, [&] { return unregister(p); });
}

cudaError_t cudaHostGetDevicePointer(void **out, void *p, unsigned flags) {
  return api("cudaHostGetDevicePointer", ordinary, [&] {
    if (!out || flags || !find_pinned(p)) return cudaErrorInvalidValue;
    *out = p;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned *out, void *p) {
  return api("cudaHostGetFlags", ordinary, [&] {
    const allocation *a = find_pinned(p);
    if (!out || !a || a->kind == memory_kind::registered) return cudaErrorInvalidValue;
    *out = a->flags | cudaHostAllocMapped;
    return cudaSuccess;
  });
}
