/* The executor for Python tests: kernels run on the memory of numpy arrays. */
#include <emulator/executor/executor.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <string>


namespace {

std::string accesses, races;

void on_fault(int number, siginfo_t *info, void *) {
  if (!emulator::fault_in_kernel(info->si_addr)) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

void note_access(void *, const emulator::access *a) {
  static const char *const kinds[] = {"read", "write", "atomic"};
  char line[200];
  snprintf(line, sizeof line, "%s %u line %u block %llu thread %u interval %u\n", kinds[static_cast<int>(a->kind)], a->bytes, a->line,
           static_cast<unsigned long long>(a->block), a->thread, a->interval);
  accesses += line;
}

void note_race(void *, const char *message) { races += std::string(message) + "\n"; }

const emulator::observer watching = {nullptr, note_access, note_race};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int run_kernel(const char *name, const char *params, const unsigned *blocks, const unsigned *threads, unsigned dynamic_shared, char *message,
                      size_t size) {
  static bool handled;
  if (!handled) {
    static char other_stack[64 << 10];
    stack_t alternative = {};
    alternative.ss_sp = other_stack;
    alternative.ss_size = sizeof other_stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    handled = true;
  }
  const emulator::kernel_image *image = emulator::find_kernel(name);
  if (!image) {
    snprintf(message, size, "there is no kernel %s", name);
    return -1;
  }
  emulator::fault f;
  bool done = emulator::run_grid(image, params, {blocks[0], blocks[1], blocks[2]}, {threads[0], threads[1], threads[2]}, dynamic_shared, &f);
  snprintf(message, size, "%s", done ? "" : f.message);
  return static_cast<int>(f.kind);
}

/* The layout of a kernel's parameters: writes offset and size of each, returns how many there are. */
EXPORT unsigned kernel_params(const char *name, unsigned *out_pairs, unsigned *out_bytes) {
  const emulator::kernel_image *image = emulator::find_kernel(name);
  if (!image) return 0;
  memcpy(out_pairs, image->params, image->param_count * 2 * sizeof *out_pairs);
  *out_bytes = image->param_bytes;
  return image->param_count;
}

EXPORT void choose_schedule(int order, unsigned long long seed) { emulator::set_schedule(static_cast<emulator::schedule>(order), seed); }
EXPORT void limit_steps(unsigned long long steps) { emulator::set_step_limit(steps); }
EXPORT unsigned long long count_switches() { return emulator::switch_count(); }

EXPORT void watch(int on) {
  accesses.clear();
  races.clear();
  emulator::set_observer(on ? &watching : nullptr);
}
EXPORT const char *seen_accesses() { return accesses.c_str(); }
EXPORT const char *seen_races() { return races.c_str(); }

EXPORT void *variable_address(const char *name) {
  const emulator::variable_image *v = emulator::find_variable(name);
  return v ? v->address : nullptr;
}
