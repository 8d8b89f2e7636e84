/* Stream capture: work given to a stream becomes nodes of a graph. What is forbidden meanwhile, and what it costs to do it all the same. */
#ifndef EMULATOR_RUNTIME_CAPTURE_H
#define EMULATOR_RUNTIME_CAPTURE_H

#include <emulator/runtime/graph.h>
#include <emulator/runtime/scheduler.h>

#include <thread>

namespace emulator {

struct capture {
  uint64_t id;
  std::shared_ptr<graph> into;
  bool own_graph;                                           /* made for it, so it goes with a capture that fails */
  size_t nodes_before;                                      /* of a graph that it adds to */
  std::shared_ptr<stream> origin;
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  bool invalidated = false;
  std::string why;                                          /* of the first thing that invalidated it */
};

/* What a call that is unsafe in captures returns; cudaSuccess where no capture forbids it. */
cudaError_t refuse_in_capture(const char *call);
/* The same for a call that waits for a stream, or asks about it. */
cudaError_t refuse_for_stream(const char *call, const stream &s);
/* The same for work on a default stream, or a wait for one, while a stream that it orders itself with captures. */
cudaError_t refuse_implicit(const char *call, const stream &s);
/* That stream; NULL if there is none. */
const stream *implied_capture(const stream &s);
/* Records a finding, and the capture ends in `error`. */
cudaError_t invalidate(capture &c, const char *call, cudaError_t error, const std::string &why);

/* Work for a stream that captures. */
cudaError_t add_to_capture(const char *call, stream &s, std::shared_ptr<const work> what);
/* The stream comes after these nodes of another's capture from now on. */
cudaError_t join_capture(const char *call, const std::shared_ptr<stream> &s, const std::shared_ptr<capture> &c,
                         const std::vector<std::shared_ptr<graph_node>> &after);
void end_all_captures();

}  // namespace emulator

#endif
