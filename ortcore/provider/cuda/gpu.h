/* One GPU, as the files that implement its vtable see it: device.c (the GPU itself, whose turn it is, copies, pointers), memory.c, streams.c,
 * graphs.c. Functions that a vtable calls may be called from any thread, whatever device is current there. */
#ifndef ORTCORE_PROVIDER_CUDA_GPU_H
#define ORTCORE_PROVIDER_CUDA_GPU_H

#include <cuda_runtime_api.h>
#include <ortcore/provider/cuda/device.h>
#include <ortcore/provider/cuda/libraries.h>
#include <pthread.h>

/* Copies for which the caller names no stream go over these, one a direction, so that no direction waits for another. */
enum copy_way { COPY_IN, COPY_OUT, COPY_WITHIN, COPY_WAYS };

enum { MOST_FAULTS = 512 };                                /* words of a GPU: with more streams than that, two may share one */

typedef struct gpu {
  device base;
  int index;                                               /* as CUDA numbers them */
  int capability;                                          /* compute capability: 80 is 8.0 */
  char title[160];                                         /* "GPU 0 (NVIDIA H200)", for messages and base.name */
  ortc_allocator *memory, *pinned;
  pthread_mutex_t lock;                                    /* of what is made on first use */
  void *context;                                           /* the primary context, once it is there */
  cudaStream_t copies[COPY_WAYS];
  cublas_handle cublas;
  int64_t *faults;                                         /* page-locked, MOST_FAULTS words; streams take them in turn */
  unsigned next_fault;
} gpu;

typedef struct cuda_stream {
  stream base;
  cudaStream_t raw;
  bool borrowed;                                           /* the caller's: never destroyed here */
  cudnn_handle cudnn;                                      /* made on first use */
  int64_t *fault;                                          /* one of the GPU's words */
} cuda_stream;

extern const device_vtable cuda_device_vtable;
static inline const gpu *gpu_of(const device *d) { return (const gpu *)d; }
static inline cudaStream_t raw_stream(const stream *s) { return ((const cuda_stream *)s)->raw; }
static inline bool is_cuda(const device *d) { return d->vtable == &cuda_device_vtable; }

/* What happened while `what` was done on that GPU; NULL for cudaSuccess. The runtime's own memory of the error is cleared, so that the
 * caller's next look at cudaGetLastError() does not find ours. */
status gpu_status(const gpu *g, cudaError_t error, const char *what) MUST_CHECK;

/* A GPU is current between gpu_enter and gpu_leave. What follows gpu_enter must not return past gpu_leave. */
status gpu_enter(const gpu *g, intptr_t *out_token) MUST_CHECK;
void gpu_leave(intptr_t token);

/* ---- faults.c ---- */
status gpu_fault_word(gpu *g, int64_t **out) MUST_CHECK;   /* the GPU is current */
/* Tells and clears what kernels found. */
status gpu_take_fault(const gpu *g, int64_t *word) MUST_CHECK;

/* ---- device.c, memory.c: functions of the vtable by what they are about ---- */
ortc_allocator *gpu_memory_create(const gpu *g);            /* NULL without memory of the host */
ortc_allocator *gpu_pinned_create(const gpu *g);
status gpu_external_allocator(const device *d, const external_memory *functions, ortc_allocator **out);
status gpu_check_memory(const device *d, const void *data, size_t bytes, size_t alignment);
status gpu_check_host(const device *d, const void *data);
status gpu_copy(const device *d, stream *s, memory_place to, memory_place from, size_t bytes);
status gpu_copy_rows(const device *d, stream *s, void *to, size_t to_step, const void *from, size_t from_step, size_t bytes, size_t rows);
status gpu_fill(const device *d, stream *s, void *to, int byte, size_t bytes);

/* ---- streams.c ---- */
status gpu_stream_create(const device *d, stream **out);
status gpu_stream_wrap(const device *d, void *handle, stream **out);
void *gpu_stream_handle(const stream *s);
void gpu_stream_release(stream *s);
status gpu_stream_synchronise(stream *s);
status gpu_event_create(const device *d, event **out);
status gpu_event_wrap(const device *d, void *handle, event **out);
void gpu_event_release(event *e);
status gpu_event_record(event *e, stream *s);
status gpu_event_synchronise(event *e);
status gpu_stream_wait(stream *s, event *e);

/* ---- graphs.c ---- */
status gpu_capture_begin(stream *s);
status gpu_capture_end(stream *s, device_graph **out);
bool gpu_is_capturing(const stream *s);
status gpu_graph_update(device_graph *g, device_graph *from, bool *out_updated);
status gpu_graph_launch(device_graph *g, stream *s);
void gpu_graph_release(device_graph *g);

/* ranges.c */
const range_marks *gpu_marks(const device *d);

/* Functions of the driver that the runtime does not offer. Each is NULL where the driver has none. */
typedef struct driver_functions {
  int (*get_current)(void **out_context);                  /* cuCtxGetCurrent */
  int (*set_current)(void *context);                       /* cuCtxSetCurrent */
  int (*address_range)(unsigned long long *out_base, size_t *out_bytes, unsigned long long data);   /* cuMemGetAddressRange */
} driver_functions;
const driver_functions *cuda_driver(void);

#endif
