#include <emulator/runtime/fault.h>

#include <emulator/executor/executor.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/pinned.h>
#include <emulator/runtime/report.h>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace emulator {

namespace {

/* A handler can neither lock nor allocate: what it has to say waits here for the next call. The tables that it reads may change under it if
 * another thread is in a CUDA function at that moment; a report that is cut short is better than none. */
constexpr size_t kMostWaiting = 16, kTextBytes = 640;
char waiting_texts[kMostWaiting][kTextBytes];
std::atomic<size_t> waiting{0};

struct sigaction previous[2];
thread_local bool in_handler = false;

struct sigaction &previous_of(int number) { return previous[number == SIGBUS]; }

bool is_ours(const struct sigaction &action);

size_t describe_host_access(uint64_t address, char *out, size_t capacity) {
  const allocation *a = find_device_allocation(address);
  int length;
  if (a) {
    const char *state = a->freed ? ", freed," : "";
    length = snprintf(out, capacity, "host code touched byte %lld of device memory: allocation #%llu%s%s%s (%zu bytes from %s on device %d)%s at %p. "
                      "Copy it to the host with cudaMemcpy first",
                      static_cast<long long>(address - a->address), static_cast<unsigned long long>(a->id), a->name.empty() ? "" : " \"", a->name.c_str(),
                      a->name.empty() ? "" : "\"", a->bytes, a->origin, a->device, state, reinterpret_cast<void *>(address));
  } else {
    length = snprintf(out, capacity, "host code touched device memory at %p, which is no allocation", reinterpret_cast<void *>(address));
  }
  return length < 0 ? 0 : static_cast<size_t>(length) < capacity ? static_cast<size_t>(length) : capacity - 1;
}

bool is_device_range(uint64_t address) {
  for (int i = 0; i < kMostDevices; ++i) {
    device *d = used_device(i);
    if (d && d->memory.holds(address)) return true;
  }
  return false;
}

void print(const char *text) {
  char line[kTextBytes + 64];
  int length = snprintf(line, sizeof line, "emulated GPU: host_access: %s\n", text);
  if (length > 0) (void)!write(STDERR_FILENO, line, static_cast<size_t>(length) < sizeof line ? static_cast<size_t>(length) : sizeof line - 1);
}

/* Whoever had the signal before. The default action follows from returning: the access is made again. */
void pass_on(int number, siginfo_t *info, void *context) {
  struct sigaction &before = previous_of(number);
  if (before.sa_flags & SA_SIGINFO && before.sa_sigaction) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    signal(number, SIG_DFL);
  }
}

void on_fault(int number, siginfo_t *info, void *context) {
  fault_in_kernel(info->si_addr);                           /* does not return if a kernel did it */
  uint64_t address = reinterpret_cast<uint64_t>(info->si_addr);
  if (in_handler) {                                         /* the handler before is one that passes on to this one */
    signal(number, SIG_DFL);
    return;
  }
  in_handler = true;
  size_t slot = waiting.load();
  char *text = waiting_texts[slot < kMostWaiting ? slot : kMostWaiting - 1];
  if (survive_pinned_access(address, text, kTextBytes)) {
    if (slot < kMostWaiting) ++waiting;
    in_handler = false;
    return;
  }
  if (is_device_range(address)) {
    char told[kTextBytes];
    describe_host_access(address, told, sizeof told);
    print(told);
  }
  pass_on(number, info, context);
  in_handler = false;
}

bool is_ours(const struct sigaction &action) { return action.sa_flags & SA_SIGINFO && action.sa_sigaction == on_fault; }

}  // namespace

void install_fault_handler() {
  for (int number : {SIGSEGV, SIGBUS}) {
    struct sigaction now;
    if (sigaction(number, nullptr, &now) != 0 || is_ours(now)) continue;
    previous_of(number) = now;
    struct sigaction ours = {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(number, &ours, nullptr);
  }
}

void collect_host_faults() {
  size_t count = waiting.exchange(0);
  for (size_t i = 0; i < count; ++i) report_text("pinned_access", waiting_texts[i]);
}

}  // namespace emulator
