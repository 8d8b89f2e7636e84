#include <emulator/runtime/race.h>

#include <emulator/executor/executor.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/memory.h>
#include <emulator/runtime/pinned.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/scheduler.h>

#include <sys/mman.h>

#include <cinttypes>
#include <deque>

namespace emulator {

namespace {

/* An operation that touched memory: what cells refer to, by its place in the list. */
struct past_actor {
  uint32_t lane, time;
  std::string what;
};
auto &actors = *new std::deque<past_actor>;                 /* [0] is nobody */
const actor *current;
uint32_t current_index;
const access *current_access;                               /* of a kernel; NULL: a copy or a fill */

/* The last accesses of four bytes. Two readers, so that a second stream's read does not hide the first one's. */
struct cell {
  uint32_t writer, readers[2];
  uint8_t written, read[2];                                 /* which of the four bytes */
};

constexpr size_t kGranule = 4;

/* Cells of a device's whole range; pages that nobody touches cost nothing. */
struct shadow {
  cell *cells = nullptr;
  uint64_t start = 0;
  size_t count = 0;
};
shadow shadows[kMostDevices];

cell *cell_of(uint64_t address, int device) {
  shadow &s = shadows[device];
  const device_memory &memory = used_device(device)->memory;
  if (!s.cells) {
    s.start = memory.start();
    s.count = memory.extent() / kGranule;
    void *p = mmap(nullptr, s.count * sizeof(cell), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    s.cells = static_cast<cell *>(p);
  }
  return &s.cells[(address - s.start) / kGranule];
}

bool is_before(uint32_t past) {
  const past_actor &p = actors[past];
  return past == current_index || current->after->at(p.lane) >= p.time;
}

std::string source_line(const access *a) { return a && a->file && a->line ? formatted(" at %s:%u", a->file, a->line) : ""; }

void report_race(uint64_t address, bool writes, uint32_t past, bool wrote) {
  const allocation *a = find_device_allocation(address);
  std::string memory = a ? describe(*a) : "device memory", line = source_line(current_access);
  report("race", "%s %s %s%s, which %s %s, and nothing orders the two: let one wait for the other with an event or a synchronisation",
         current->what.c_str(), writes ? "writes" : "reads", memory.c_str(), line.c_str(), actors[past].what.c_str(), wrote ? "writes" : "reads");
}

/* `bytes`: which bytes of the granule, as bits. */
void check_cell(cell &c, uint64_t address, uint8_t bytes, bool write) {
  if (c.written & bytes && !is_before(c.writer)) report_race(address, write, c.writer, true);
  if (write) {
    for (int i = 0; i < 2; ++i) {
      if (c.read[i] & bytes && !is_before(c.readers[i])) report_race(address, true, c.readers[i], false);
      c.read[i] &= static_cast<uint8_t>(~bytes);
    }
    if (c.writer != current_index) c.written &= bytes;      /* what others wrote beside it is forgotten: one writer is kept */
    c.writer = current_index;
    c.written |= bytes;
    return;
  }
  int slot = c.readers[0] == current_index || !c.read[0] || is_before(c.readers[0]) ? 0 : 1;
  if (c.readers[slot] != current_index) c.read[slot] = 0;
  c.readers[slot] = current_index;
  c.read[slot] |= bytes;
}

void check_range(uint64_t address, size_t bytes, bool write, int device) {
  uint64_t end = address + bytes;
  for (uint64_t granule = address / kGranule * kGranule; granule < end; granule += kGranule) {
    cell *c = cell_of(granule, device);
    if (!c) return;
    unsigned mask = 0xF;
    if (granule < address) mask &= 0xFu << (address - granule);
    if (granule + kGranule > end) mask &= 0xFu >> (granule + kGranule - end);
    check_cell(*c, granule, static_cast<uint8_t>(mask), write);
  }
}

int device_holding(uint64_t address) {
  for (int i = 0; i < kMostDevices; ++i) {
    device *d = used_device(i);
    if (d && d->memory.holds(address)) return i;
  }
  return -1;
}

const char *verb(access_kind kind) { return kind == access_kind::read ? "reads" : kind == access_kind::write ? "writes" : "updates atomically"; }

std::string place_in_kernel(const access &a) {
  return formatted("block %" PRIu64 ", thread %u%s,", a.block, a.thread, source_line(&a).c_str());
}

/* Memory that is no device's: pinned memory and module variables can be reached, the rest of the host's cannot. */
void check_foreign(const access &a) {
  const void *p = reinterpret_cast<const void *>(a.address);
  if (find_pinned(p) || is_device_address(p)) return;
  stop_kernel(fault_kind::illegal_address, a.address, "%s %u bytes of host memory at %p, which a device cannot reach", verb(a.kind), a.bytes, p);
}

void on_access(void *, const access *a) {
  static const allocation *last = nullptr;                  /* most accesses go where the one before went */
  static uint64_t last_change = 0;
  int device = device_holding(a->address);
  if (device < 0) return check_foreign(*a);
  if (last_change != memory_changes || !last || a->address < last->address || a->address >= last->address + last->bytes) {
    last = find_device_allocation(a->address);
    last_change = memory_changes;
  }
  if (!last || last->freed || a->address + a->bytes > last->address + last->bytes) {
    const char *kind = last && last->freed ? "use_after_free" : "out_of_bounds";
    report(kind, "%s: %s %s %u bytes at %s%s", current ? current->what.c_str() : a->kernel, place_in_kernel(*a).c_str(), verb(a->kind), a->bytes,
           last ? describe_at(*last, a->address).c_str() : formatted("%p, where nothing is allocated", reinterpret_cast<void *>(a->address)).c_str(),
           last && last->freed ? formatted(", which %s has freed", last->freed_by).c_str() : "");
    last = nullptr;
    return;
  }
  current_access = a;
  if (current) check_range(a->address, a->bytes, a->kind != access_kind::read, device);
  current_access = nullptr;
}

void on_shared_race(void *, const char *message) {
  report("shared_race", "%s: %s", current ? current->what.c_str() : "a kernel", message);
}

const observer watcher = {nullptr, on_access, on_shared_race};

}  // namespace

void watch_accesses(bool on) { set_observer(on ? &watcher : nullptr); }

void begin_accesses(const actor &who) {
  static actor &copy = *new actor;                          /* the caller's is a temporary */
  if (actors.empty()) actors.push_back({0, 0, "nobody"});
  copy = who;
  current = &copy;
  current_index = static_cast<uint32_t>(actors.size());
  actors.push_back({who.lane, who.after->at(who.lane), who.what});
}

void end_accesses() { current = nullptr; }

void access_range(uint64_t address, size_t bytes, bool write) {
  int device = device_holding(address);
  if (current && device >= 0) check_range(address, bytes, write, device);
}

void forget_accesses(uint64_t address, size_t bytes) {
  int device = device_holding(address);
  if (device < 0 || !shadows[device].cells) return;
  for (uint64_t at = address; at < address + bytes; at += kGranule) *cell_of(at, device) = {};
}

void forget_all_accesses() {
  for (shadow &s : shadows) {
    if (s.cells) munmap(s.cells, s.count * sizeof(cell));
    s = {};
  }
  actors.clear();
}

/* Rarely: it costs the pages of all that was touched. */
void forget_settled_accesses() {
  constexpr size_t many = 1 << 16;
  if (actors.size() > many && !current && host_knows_all()) forget_all_accesses();
}

}  // namespace emulator
