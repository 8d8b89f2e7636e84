/* Copies that a GPU takes part in: host to device, device to host, within a device, from GPU to GPU. */
#include <ortcore/provider/cuda/gpu.h>

static bool on_host(memory_place p) {
  return p.info->device_type == ORTC_DEVICE_CPU || p.info->device_mem_type == ORTC_DEVICE_MEM_HOST_ACCESSIBLE;
}

static cudaError_t enqueue(memory_place to, memory_place from, size_t bytes, cudaStream_t on) {
  if (on_host(to)) return cudaMemcpyAsync(to.data, from.data, bytes, on_host(from) ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost, on);
  if (on_host(from)) return cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyHostToDevice, on);
  if (to.info->device_id == from.info->device_id) return cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDeviceToDevice, on);
  return cudaMemcpyPeerAsync(to.data, to.info->device_id, from.data, from.info->device_id, bytes, on);
}

/* Ranges that overlap go by way of other memory: what CUDA does with them is not defined. */
static status copy_overlapping(const gpu *g, memory_place to, memory_place from, size_t bytes, cudaStream_t on) {
  memory_place between = {from.info, NULL};
  TRY(g->memory->vtable->alloc(g->memory, bytes, &between.data));
  cudaError_t error = enqueue(between, from, bytes, on);
  if (error == cudaSuccess) error = enqueue(to, between, bytes, on);
  if (error == cudaSuccess) error = cudaStreamSynchronize(on);
  g->memory->vtable->free(g->memory, between.data);
  return gpu_status(g, error, "a copy within the device failed");
}

static bool overlap(memory_place to, memory_place from, size_t bytes) {
  const char *a = to.data, *b = from.data;
  return a < b + bytes && b < a + bytes;
}

/* The stream for copies without one, made when it is first needed. */
static status own_stream(gpu *g, enum copy_way way, cudaStream_t *out) {
  status s = OK;
  pthread_mutex_lock(&g->lock);
  if (!g->copies[way]) s = gpu_status(g, cudaStreamCreateWithFlags(&g->copies[way], cudaStreamNonBlocking), "a stream for copies cannot be made");
  *out = g->copies[way];
  pthread_mutex_unlock(&g->lock);
  return s;
}

static status copy_complete(gpu *g, memory_place to, memory_place from, size_t bytes) {
  cudaStream_t on = NULL;
  TRY(own_stream(g, on_host(to) ? COPY_OUT : on_host(from) ? COPY_IN : COPY_WITHIN, &on));
  if (!on_host(to) && !on_host(from) && overlap(to, from, bytes)) return copy_overlapping(g, to, from, bytes, on);
  cudaError_t error = enqueue(to, from, bytes, on);
  if (error == cudaSuccess) error = cudaStreamSynchronize(on);
  return gpu_status(g, error, on_host(to) ? "a copy from the device failed" : on_host(from) ? "a copy to the device failed" : "a copy on the device failed");
}

status gpu_copy(const device *d, stream *s, memory_place to, memory_place from, size_t bytes) {
  gpu *g = (gpu *)(uintptr_t)gpu_of(d);
  intptr_t token;
  if (bytes == 0) return OK;
  TRY(gpu_enter(g, &token));
  status failed = s ? gpu_status(g, enqueue(to, from, bytes, raw_stream(s)), "a copy cannot be enqueued") : copy_complete(g, to, from, bytes);
  gpu_leave(token);
  return failed;
}

/* The farthest apart that rows of one copy may be; CUDA's limit is a little more. */
#define WIDEST_STEP ((size_t)1 << 30)

static cudaError_t enqueue_rows(void *to, size_t to_step, const void *from, size_t from_step, size_t bytes, size_t rows, cudaStream_t on) {
  cudaError_t error = cudaSuccess;
  if (rows == 1 || (to_step == bytes && from_step == bytes)) return cudaMemcpyAsync(to, from, rows * bytes, cudaMemcpyDeviceToDevice, on);
  if (to_step <= WIDEST_STEP && from_step <= WIDEST_STEP) return cudaMemcpy2DAsync(to, to_step, from, from_step, bytes, rows, cudaMemcpyDeviceToDevice, on);
  for (size_t i = 0; i < rows && error == cudaSuccess; ++i)
    error = cudaMemcpyAsync((char *)to + i * to_step, (const char *)from + i * from_step, bytes, cudaMemcpyDeviceToDevice, on);
  return error;
}

status gpu_copy_rows(const device *d, stream *s, void *to, size_t to_step, const void *from, size_t from_step, size_t bytes, size_t rows) {
  const gpu *g = gpu_of(d);
  intptr_t token;
  if (bytes == 0 || rows == 0) return OK;
  TRY(gpu_enter(g, &token));
  status failed = gpu_status(g, enqueue_rows(to, to_step, from, from_step, bytes, rows, raw_stream(s)), "a copy of rows cannot be enqueued");
  gpu_leave(token);
  return failed;
}

status gpu_fill(const device *d, stream *s, void *to, int byte, size_t bytes) {
  const gpu *g = gpu_of(d);
  intptr_t token;
  if (bytes == 0) return OK;
  TRY(gpu_enter(g, &token));
  status failed = gpu_status(g, cudaMemsetAsync(to, byte, bytes, raw_stream(s)), "memory cannot be filled");
  gpu_leave(token);
  return failed;
}
