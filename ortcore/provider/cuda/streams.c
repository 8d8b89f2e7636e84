/* Streams and events of GPUs. */
#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/provider/cuda/gpu.h>

typedef struct cuda_event {
  event base;
  cudaEvent_t raw;
  bool borrowed;                                           /* the caller's: never destroyed here */
  int64_t *fault;                                          /* of the stream that was recorded */
} cuda_event;

static const gpu *gpu_of_stream(const stream *s) { return gpu_of(s->owner); }
static cudaEvent_t raw_event(const event *e) { return ((const cuda_event *)e)->raw; }

/* Errors while something is released have nobody to go to. */
static void released(const gpu *g, cudaError_t error, const char *what) {
  status s = gpu_status(g, error, what);
  if (s) LOG(WARNING, "%s", s->message);
  status_release(s);
}

void *cuda_raw(const stream *s) { return raw_stream(s); }
void *gpu_stream_handle(const stream *s) { return raw_stream(s); }

/* It does not wait for the legacy default stream, nor that one for it. */
status gpu_stream_create(const device *d, stream **out) {
  const gpu *g = gpu_of(d);
  intptr_t token;
  *out = NULL;
  cuda_stream *made = MEM_NEW(cuda_stream);
  if (!made) return status_out_of_memory();
  made->base.owner = d;
  status s = gpu_enter(g, &token);
  if (!s) {
    s = gpu_fault_word((gpu *)(uintptr_t)g, &made->fault);
    if (!s) s = gpu_status(g, cudaStreamCreateWithFlags(&made->raw, cudaStreamNonBlocking), "a stream cannot be made");
    gpu_leave(token);
  }
  if (!s) *out = &made->base;
  else mem_free(made);
  return s;
}

/* The default streams (0, cudaStreamLegacy, cudaStreamPerThread) belong to whichever device is current, so they suit every device. */
static bool is_default_stream(cudaStream_t raw) { return !raw || raw == cudaStreamLegacy || raw == cudaStreamPerThread; }

static status check_stream(const gpu *g, cudaStream_t raw) {
  int index = g->index;
  if (is_default_stream(raw)) return OK;
  cudaError_t error = cudaStreamGetDevice(raw, &index);
  if (error == cudaErrorNotSupported || error == cudaErrorCallRequiresNewerDriver) {
    (void)cudaGetLastError();
    return OK;                                             /* a driver that cannot tell; the first use will */
  }
  if (error != cudaSuccess) {
    return status_context(gpu_status(g, error, "the stream cannot be used"),
                          "stream %p is not a cudaStream_t of this process that is still there", (void *)raw);
  }
  if (index == g->index) return OK;
  return ERROR(INVALID_ARGUMENT, "stream %p belongs to GPU %d, and it is to be used on %s: make a stream while device %d is current, or use device_id=%d",
               (void *)raw, index, g->title, g->index, index);
}

status gpu_stream_wrap(const device *d, void *handle, stream **out) {
  const gpu *g = gpu_of(d);
  intptr_t token;
  *out = NULL;
  cuda_stream *wrapped = MEM_NEW(cuda_stream);
  if (!wrapped) return status_out_of_memory();
  *wrapped = (cuda_stream){.base = {d}, .raw = handle, .borrowed = true};
  status s = gpu_enter(g, &token);
  if (!s) {
    s = check_stream(g, handle);
    if (!s) s = gpu_fault_word((gpu *)(uintptr_t)g, &wrapped->fault);
    gpu_leave(token);
  }
  if (!s) *out = &wrapped->base;
  else mem_free(wrapped);
  return s;
}

void gpu_stream_release(stream *s) {
  cuda_stream *c = (cuda_stream *)s;
  const gpu *g = gpu_of_stream(s);
  intptr_t token;
  status failed = gpu_enter(g, &token);
  if (!failed) {
    if (c->cudnn) cuda_cudnn(NULL)->destroy(c->cudnn);
    if (!c->borrowed) released(g, cudaStreamDestroy(c->raw), "a stream cannot be released");
    gpu_leave(token);
  }
  status_release(failed);
  mem_free(c);
}

status gpu_stream_synchronise(stream *s) {
  const gpu *g = gpu_of_stream(s);
  intptr_t token;
  TRY(gpu_enter(g, &token));
  status failed = gpu_status(g, cudaStreamSynchronize(raw_stream(s)), "work on the device did not complete");
  gpu_leave(token);
  return failed ? failed : gpu_take_fault(g, ((const cuda_stream *)s)->fault);
}

status gpu_event_create(const device *d, event **out) {
  const gpu *g = gpu_of(d);
  intptr_t token;
  *out = NULL;
  cuda_event *made = MEM_NEW(cuda_event);
  if (!made) return status_out_of_memory();
  made->base.owner = d;
  status s = gpu_enter(g, &token);
  if (!s) {
    s = gpu_status(g, cudaEventCreateWithFlags(&made->raw, cudaEventDisableTiming), "an event cannot be made");
    gpu_leave(token);
  }
  if (!s) *out = &made->base;
  else mem_free(made);
  return s;
}

status gpu_event_wrap(const device *d, void *handle, event **out) {
  *out = NULL;
  if (!handle) return ERROR(INVALID_ARGUMENT, "the handle of an event is 0; a cudaEvent_t that was recorded is expected");
  cuda_event *wrapped = MEM_NEW(cuda_event);
  if (!wrapped) return status_out_of_memory();
  *wrapped = (cuda_event){.base = {d}, .raw = handle, .borrowed = true};
  *out = &wrapped->base;
  return OK;
}

void gpu_event_release(event *e) {
  const gpu *g = gpu_of(e->owner);
  intptr_t token;
  status failed = OK;
  if (!((cuda_event *)e)->borrowed && !(failed = gpu_enter(g, &token))) {
    released(g, cudaEventDestroy(raw_event(e)), "an event cannot be released");
    gpu_leave(token);
  }
  status_release(failed);
  mem_free((cuda_event *)e);
}

status gpu_event_record(event *e, stream *s) {
  const gpu *g = gpu_of(e->owner);
  intptr_t token;
  if (!is_cuda(s->owner)) return OK;                       /* the host's work is done already: the event has nothing to wait for */
  if (s->owner != e->owner) {
    return ERROR(INVALID_ARGUMENT, "an event of %s cannot record a stream of %s: make the event on the stream's device", g->title, gpu_of_stream(s)->title);
  }
  TRY(gpu_enter(g, &token));
  status failed = gpu_status(g, cudaEventRecord(raw_event(e), raw_stream(s)), "an event cannot be recorded");
  ((cuda_event *)e)->fault = ((const cuda_stream *)s)->fault;
  gpu_leave(token);
  return failed;
}

status gpu_event_synchronise(event *e) {
  const gpu *g = gpu_of(e->owner);
  intptr_t token;
  TRY(gpu_enter(g, &token));
  status failed = gpu_status(g, cudaEventSynchronize(raw_event(e)), "work on the device did not complete");
  gpu_leave(token);
  return failed ? failed : gpu_take_fault(g, ((cuda_event *)e)->fault);
}

/* Events of other GPUs are waited for on this one; those of devices that CUDA does not know, by the host. */
status gpu_stream_wait(stream *s, event *e) {
  const gpu *g = gpu_of_stream(s);
  intptr_t token;
  if (!is_cuda(e->owner)) return event_synchronise(e);
  TRY(gpu_enter(g, &token));
  status failed = gpu_status(g, cudaStreamWaitEvent(raw_stream(s), raw_event(e), 0), "the stream cannot wait for an event");
  gpu_leave(token);
  return failed;
}
