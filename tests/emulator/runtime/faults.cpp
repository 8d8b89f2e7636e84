/* What kills a process, or outlives one: host accesses of device memory, handlers of others, forks. Each in a child. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

struct outcome {
  int signal = 0, status = -1;
  std::string told;                                         /* what it wrote to stderr */
};

static outcome in_child(int (*run)()) {
  int pipe_ends[2];
  outcome result;
  CHECK(pipe(pipe_ends) == 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    _exit(run());
  }
  close(pipe_ends[1]);
  char text[4096];
  for (ssize_t n; (n = read(pipe_ends[0], text, sizeof text)) > 0;) result.told.append(text, static_cast<size_t>(n));
  close(pipe_ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  else result.status = WEXITSTATUS(status);
  return result;
}

static bool has(const outcome &o, const char *text) {
  if (o.told.find(text) != std::string::npos) return true;
  printf("stderr of the child: %s\n", o.told.c_str());
  return false;
}

static float *named_memory() {
  float *x = device_floats(256, 1.0f);
  ortcore_emulator_name(x, "weights");
  return x;
}

static void host_reads_of_device_memory() {
  outcome o = in_child([] { return static_cast<int>(static_cast<volatile float *>(named_memory())[5]); });
  CHECK(o.signal == SIGSEGV);
  CHECK(has(o, "host_access: host code touched byte 20 of device memory: allocation #"));
  CHECK(has(o, "\"weights\" (1024 bytes from cudaMalloc on device 0)"));
}

static void host_writes_of_freed_memory() {
  outcome o = in_child([] {
    float *x = named_memory();
    (void)cudaFree(x);
    memset(x, 0, 4);
    return 0;
  });
  CHECK(o.signal == SIGSEGV);
  CHECK(has(o, "freed, at "));
}

static void other_faults_are_not_ours() {
  outcome o = in_child([] {
    (void)named_memory();
    volatile uintptr_t nowhere = 16;
    return static_cast<int>(*reinterpret_cast<volatile int *>(nowhere));
  });
  CHECK(o.signal == SIGSEGV);
  CHECK(o.told.find("emulated GPU") == std::string::npos);
}

static void on_signal(int, siginfo_t *info, void *) {
  static const char text[] = "the handler before";
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(info->si_addr ? 42 : 43);
}

static void install_own() {
  struct sigaction own = {};
  own.sa_sigaction = on_signal;
  own.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &own, nullptr);
}

static void the_handler_before_is_called() {
  outcome o = in_child([] {
    install_own();
    return static_cast<int>(static_cast<volatile float *>(named_memory())[5]);
  });
  CHECK(o.status == 42);
  CHECK(has(o, "host_access"));
  CHECK(has(o, "the handler before"));
}

/* One that was installed later, by a debugger's helper say, does not keep kernels' faults from being errors. */
static void later_handlers_are_kept_behind() {
  outcome o = in_child([] {
    float *x = named_memory();
    install_own();
    if (launch_load(nullptr, 0, x, nullptr) != cudaSuccess) return 1;
    if (cudaDeviceSynchronize() != cudaErrorIllegalAddress) return 2;
    return static_cast<int>(static_cast<volatile float *>(x)[5]);
  });
  CHECK(o.status == 42);
  CHECK(has(o, "host_access"));
}

static void a_handler_that_calls_back_ends() {
  static struct sigaction emulators;
  outcome o = in_child([] {
    float *x = named_memory();
    struct sigaction own = {};
    own.sa_flags = SA_SIGINFO | SA_NODEFER;
    own.sa_sigaction = [](int number, siginfo_t *info, void *context) { emulators.sa_sigaction(number, info, context); };
    sigaction(SIGSEGV, &own, &emulators);
    (void)device_floats(1, 0.0f);                          /* the emulator's is put in front again */
    return static_cast<int>(static_cast<volatile float *>(x)[5]);
  });
  CHECK(o.signal == SIGSEGV);
}

static void children_get_an_error() {
  void *p;
  CHECK_OK(cudaMalloc(&p, 64));
  outcome o = in_child([] {
    void *q;
    if (cudaMalloc(&q, 64) != cudaErrorInitializationError || cudaStreamSynchronize(nullptr) != cudaErrorInitializationError) return 1;
    const char *kind, *text;
    if (ortcore_emulator_finding(0, &kind, &text) != 0 || strcmp(kind, "fork") != 0 || !strstr(text, "spawn")) return 2;
    return 7;
  });
  CHECK(o.status == 7);
  CHECK_OK(cudaFree(p));                                    /* the parent goes on */
}

int main() {
  /* The parent uses CUDA in the last one only: from then on its children could do nothing but get errors. */
  return run_tests({
    {"host reads of device memory", host_reads_of_device_memory},
    {"host writes of freed memory", host_writes_of_freed_memory},
    {"other faults are not ours", other_faults_are_not_ours},
    {"the handler before is called", the_handler_before_is_called},
    {"later handlers are kept behind", later_handlers_are_kept_behind},
    {"a handler that calls back ends", a_handler_that_calls_back_ends},
    {"children get an error", children_get_an_error},
  });
}
