/* A few bytes of device memory, for kernels whose outputs' shapes are known only there. */
#include <ortcore/provider/cuda/gpu.h>

status cuda_fetch(stream *s, const void *from, void *to, size_t bytes) {
  const gpu *g = gpu_of(s->owner);
  if (s->owner->vtable->is_capturing(s))
    return ERROR(NOT_IMPLEMENTED, "the shape of an output depends on data: such a run cannot be recorded as a CUDA graph; leave "
                 "'enable_cuda_graph' off for this model");
  TRY(gpu_status(g, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, raw_stream(s)), "a result cannot be copied to the host"));
  return stream_synchronise(s);
}
