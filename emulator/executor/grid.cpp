/* run_grid: blocks one after the other, shared memory, faults. */
#include <emulator/executor/scheduler.h>
#include <emulator/executor/watch.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

namespace emulator {

device_state device;

namespace {

constexpr uint64_t kDefaultSteps = 1ull << 30;
constexpr size_t kWindow = size_t(1) << 32;                /* as far as a 32-bit shared address reaches */
constexpr size_t kMostShared = size_t(1) << 20;
constexpr size_t kSharedAlignment = 128;
constexpr int kUninitialised = 0xcb;

schedule block_schedule = schedule::forward;
uint64_t block_seed = 1, step_limit = kDefaultSteps;
bool running;
pthread_t running_on;
fault *report;

/* Shared memory ends where the window does, as exactly as its alignment allows: what lies behind it cannot be read or written. */
char *shared_memory(unsigned bytes) {
  static char *end;
  if (!end) {
    void *window = mmap(nullptr, kMostShared + kWindow, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (window == MAP_FAILED || mprotect(window, kMostShared, PROT_READ | PROT_WRITE) != 0) return nullptr;
    end = static_cast<char *>(window) + kMostShared;
  }
  size_t rounded = (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
  return rounded <= kMostShared ? end - rounded : nullptr;
}

bool cpu_can_run() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
#else
  return true;
#endif
}

bool refuse(fault *f, fault_kind kind, const char *message) {
  f->kind = kind;
  f->address = 0;
  snprintf(f->message, sizeof f->message, "%s", message);
  return false;
}

/* Threads wait and nobody is left who could wake them. */
void report_deadlock() {
  struct {
    const char *what;
    unsigned place, count, first;
  } seen[3] = {};
  unsigned kinds = 0;
  for (unsigned t = 0; t < grid.thread_count; ++t) {
    const thread_record *r = &grid.threads[t];
    if (!r->waits_for) continue;
    unsigned k = 0;
    while (k < kinds && (seen[k].what != r->waits_for || seen[k].place != r->place)) ++k;
    if (k == 3) continue;
    if (k == kinds) seen[kinds++] = {r->waits_for, r->place, 0, t};
    ++seen[k].count;
  }
  char waiting[360] = "";
  size_t at = 0;
  for (unsigned k = 0; k < kinds && at < sizeof waiting; ++k) {
    char place[120];
    describe_place(seen[k].place, place, sizeof place);
    at += static_cast<size_t>(snprintf(waiting + at, sizeof waiting - at, "%s%u (the first is thread %u) at %s, %s", k ? "; " : "", seen[k].count,
                                       seen[k].first, seen[k].what, place));
  }
  report->kind = fault_kind::barrier;
  report->address = 0;
  char kernel[160];
  describe_kernel(kernel, sizeof kernel);
  snprintf(report->message, sizeof report->message, "kernel %s, block (%u,%u,%u): the threads that have not ended wait for each other: %s", kernel,
           device.block.x, device.block.y, device.block.z, waiting);
}

void run_block(uint64_t index) {
  device.block = {static_cast<unsigned>(index % device.blocks.x), static_cast<unsigned>(index / device.blocks.x % device.blocks.y),
                  static_cast<unsigned>(index / device.blocks.x / device.blocks.y)};
  device.steps_left = static_cast<int64_t>(step_limit);
  memset(device.shared, kUninitialised, device.shared_bytes);
  watch_begin_block(index);
  scheduler_run_block();
  if (report->kind == fault_kind::none && grid.alive) report_deadlock();
}

/* The block is run once more, with every access noted, to learn at which line it went wrong. Its memory is of no use to anybody any more. */
void find_line(uint64_t block) {
  fault again = {}, *first = report;
  report = &again;
  device.watching |= kWatchPlaces;
  run_block(block);
  if (again.kind == first->kind) *first = again;
  report = first;
}

}  // namespace

void set_schedule(schedule order, uint64_t seed) {
  block_schedule = order;
  block_seed = seed;
}

void set_step_limit(uint64_t branches_per_block) { step_limit = branches_per_block ? branches_per_block : kDefaultSteps; }

void stop_kernel(fault_kind kind, uint64_t address, const char *format, ...) {
  char what[320], where[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  describe_thread(where, sizeof where);
  report->kind = kind;
  report->address = address;
  snprintf(report->message, sizeof report->message, "%s: %s", where, what);
  stop_block();
}

bool fault_in_kernel(const void *at) {
  if (!running || !pthread_equal(running_on, pthread_self())) return false;
  /* What was noted is exact; a signal does not tell addresses that no process can have. */
  uint64_t address = device.watching ? watched_address() : reinterpret_cast<uint64_t>(at);
  if (in_stack_guard(address)) {
    stop_kernel(fault_kind::stack, address, "local variables need more than the %zu KiB of a thread's stack", kStackBytes >> 10);
  }
  uint64_t past = address - reinterpret_cast<uint64_t>(device.shared);
  if (past < kWindow) {
    stop_kernel(fault_kind::illegal_address, address, "shared memory is accessed at offset %lld; the block has %u bytes",
                static_cast<long long>(past), device.shared_bytes);
  }
  stop_kernel(fault_kind::illegal_address, address, "0x%llx is accessed, which is no memory of the device", static_cast<unsigned long long>(address));
}

void step_limit_reached(unsigned place) {
  watch_place(place);
  stop_kernel(fault_kind::step_limit, 0, "the block took more than %llu backward branches: an endless loop, or it waits for what another thread can only do later",
              static_cast<unsigned long long>(step_limit));
}

void trap(unsigned place) {
  watch_place(place);
  stop_kernel(fault_kind::illegal_address, 0, "trap: the kernel found a state that must not be");
}

bool run_grid(const kernel_image *image, const char *params, extent blocks, extent threads, unsigned dynamic_shared, fault *out_fault) {
  out_fault->kind = fault_kind::none;
  if (!cpu_can_run()) return refuse(out_fault, fault_kind::unsupported, "the emulated GPU needs a CPU with AVX2, FMA, F16C and BMI2");
  char *shared = shared_memory(image->static_shared + dynamic_shared);
  if (!shared) return refuse(out_fault, fault_kind::stack, "there is no memory for the shared memory of a block");
  device = {};
  device.threads = threads;
  device.blocks = blocks;
  device.shared = shared;
  device.shared_bytes = image->static_shared + dynamic_shared;
  device.dynamic_shared_bytes = dynamic_shared;
  device.watching = watch_begin_grid();
  grid.image = image;
  grid.params = params;
  report = out_fault;
  running_on = pthread_self();
  running = true;
  scheduler_begin_grid(threads, block_schedule, block_seed);
  uint64_t count = uint64_t(blocks.x) * blocks.y * blocks.z, block = 0;
  for (uint64_t turn = 0; turn < count && out_fault->kind == fault_kind::none; ++turn) {
    block = block_schedule == schedule::backward ? count - 1 - turn : turn;
    run_block(block);
  }
  if (out_fault->kind == fault_kind::illegal_address && !(device.watching & kWatchPlaces)) find_line(block);
  running = false;
  return out_fault->kind == fault_kind::none;
}

}  // namespace emulator
