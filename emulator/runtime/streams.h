/* Streams by their handles, and where work goes that is given to one: into its queue, or into the graph that it captures. */
#ifndef EMULATOR_RUNTIME_STREAMS_H
#define EMULATOR_RUNTIME_STREAMS_H

#include <emulator/runtime/scheduler.h>

namespace emulator {

struct device;

/* A function of the host in stream order. The lock is given up while it runs: it may wait for a thread that needs it. */
struct host_function_work : work {
  cudaHostFn_t function;
  void *argument;

  host_function_work(cudaHostFn_t function, void *argument) : function(function), argument(argument) {}
  cudaGraphNodeType type() const override { return cudaGraphNodeTypeHost; }
  std::string describe() const override { return "a host function"; }
  cudaError_t run(stream &on, const operation &op) const override;
};

/* The current device's default stream for 0 and cudaStreamLegacy, the thread's own for cudaStreamPerThread. NULL, with a finding that names
 * `call`, for a handle that is no stream or no longer one. */
std::shared_ptr<stream> find_stream(const char *call, cudaStream_t handle);
std::shared_ptr<stream> make_default_stream(device &d);

/* Work for a stream. */
cudaError_t submit(const char *call, cudaStream_t handle, std::shared_ptr<const work> what);
cudaError_t submit_to(const char *call, const std::shared_ptr<stream> &s, std::shared_ptr<const work> what, mark *out_end = nullptr);
/* The host waits for the stream; counted, refused while it captures. */
cudaError_t synchronise(const char *call, const std::shared_ptr<stream> &s);

}  // namespace emulator

#endif
