/* The gate of every CUDA function: takes the lock, refuses where the driver or the device would, and keeps the last error. */
#ifndef EMULATOR_RUNTIME_API_H
#define EMULATOR_RUNTIME_API_H

#include <emulator/runtime/cuda_api.h>

#include <utility>

namespace emulator {

enum call_trait : unsigned {
  ordinary = 0,
  unsafe_in_capture = 1,            /* what it does would not be replayed with the graph, or it waits */
  releasing = 2,                    /* gives something back, and does so on a device that has failed */
  deviceless = 4,                   /* works without a healthy device */
  driverless = 12,                  /* works without a driver, and so without a device */
};

/* What the emulator knows of a host thread. */
struct host_thread {
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  bool in_host_function = false;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
};
extern thread_local host_thread this_thread;

/* One call in progress. */
class call {
 public:
  call(const char *name, unsigned traits);
  ~call();
  call(const call &) = delete;
  call &operator=(const call &) = delete;

  bool may_proceed() const { return refused == cudaSuccess; }
  cudaError_t finish(cudaError_t result) const;

 private:
  cudaError_t reason_to_refuse();

  const char *name;
  unsigned traits;
  cudaError_t refused;
};

/* `body` does the work and returns what the function returns. */
template <class F> cudaError_t api(const char *name, unsigned traits, F &&body) {
  call c(name, traits);
  return c.finish(c.may_proceed() ? std::forward<F>(body)() : cudaSuccess);
}

}  // namespace emulator

#endif
