/* CUDA graphs: work that is recorded from a stream once and launched again and again. */
#include <ortcore/base/mem.h>
#include <ortcore/provider/cuda/gpu.h>

/* Made executable on its first launch: a graph that only lends its addresses to another (graph_update) never needs to be. */
typedef struct cuda_graph {
  device_graph base;
  cudaGraph_t recorded;
  cudaGraphExec_t executable;
} cuda_graph;

/* Only this thread's forbidden calls spoil the capture, so that other threads may allocate and run meanwhile. */
status gpu_capture_begin(stream *s) {
  const gpu *g = gpu_of(s->owner);
  intptr_t token;
  TRY(gpu_enter(g, &token));
  status failed = gpu_status(g, cudaStreamBeginCapture(raw_stream(s), cudaStreamCaptureModeThreadLocal), "the capture of a CUDA graph cannot begin");
  gpu_leave(token);
  return failed;
}

status gpu_capture_end(stream *s, device_graph **out) {
  const gpu *g = gpu_of(s->owner);
  intptr_t token;
  *out = NULL;
  TRY(gpu_enter(g, &token));
  cudaGraph_t recorded = NULL;
  cuda_graph *made = NULL;
  status failed = gpu_status(g, cudaStreamEndCapture(raw_stream(s), &recorded), "the capture of a CUDA graph failed");
  if (!failed && !(made = MEM_NEW(cuda_graph))) failed = status_out_of_memory();
  if (failed && recorded) (void)cudaGraphDestroy(recorded);
  gpu_leave(token);
  if (failed) return failed;
  *made = (cuda_graph){{s->owner}, recorded, NULL};
  *out = &made->base;
  return OK;
}

bool gpu_is_capturing(const stream *s) {
  enum cudaStreamCaptureStatus now = cudaStreamCaptureStatusNone;
  cudaError_t error = cudaStreamIsCapturing(raw_stream(s), &now);
  if (error == cudaSuccess) return now != cudaStreamCaptureStatusNone;
  (void)cudaGetLastError();
  /* The legacy stream while another one is captured cannot be used either. Any other error is told by whatever uses the stream next. */
  return error == cudaErrorStreamCaptureImplicit;
}

static void destroy(const cuda_graph *g) {
  if (g->executable) (void)cudaGraphExecDestroy(g->executable);
  if (g->recorded) (void)cudaGraphDestroy(g->recorded);
}

/* Afterwards `to` does the work of `from`, updated in place where the driver finds them alike; otherwise it is made executable anew. */
status gpu_graph_update(device_graph *to, device_graph *from, bool *out_updated) {
  cuda_graph *kept = (cuda_graph *)to, *taken = (cuda_graph *)from;
  intptr_t token;
  *out_updated = false;
  status s = gpu_enter(gpu_of(to->owner), &token);
  if (s) {
    gpu_graph_release(from);
    return s;
  }
  cudaGraphExecUpdateResultInfo result;
  if (kept->executable) *out_updated = cudaGraphExecUpdate(kept->executable, taken->recorded, &result) == cudaSuccess;
  if (!*out_updated) (void)cudaGetLastError();
  cuda_graph old = *kept;
  kept->recorded = taken->recorded;
  kept->executable = *out_updated ? old.executable : taken->executable;
  if (*out_updated) old.executable = taken->executable;
  destroy(&old);
  gpu_leave(token);
  mem_free(taken);
  return OK;
}

status gpu_graph_launch(device_graph *to_launch, stream *s) {
  cuda_graph *graph = (cuda_graph *)to_launch;
  const gpu *g = gpu_of(s->owner);
  intptr_t token;
  TRY(gpu_enter(g, &token));
  status failed = OK;
  if (!graph->executable) failed = gpu_status(g, cudaGraphInstantiate(&graph->executable, graph->recorded, 0), "a CUDA graph cannot be made executable");
  if (!failed) failed = gpu_status(g, cudaGraphLaunch(graph->executable, raw_stream(s)), "a CUDA graph cannot be launched");
  gpu_leave(token);
  return failed;
}

void gpu_graph_release(device_graph *g) {
  intptr_t token;
  status failed = gpu_enter(gpu_of(g->owner), &token);
  if (!failed) {
    destroy((const cuda_graph *)g);
    gpu_leave(token);
  }
  status_release(failed);
  mem_free((cuda_graph *)g);
}
