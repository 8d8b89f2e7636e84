/* Is a pointer that a caller bound what the binding says it is? CUDA would find out too, but in the middle of a run and without a name. */
#include <ortcore/provider/cuda/gpu.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

/* Can the host read there? The kernel tries it, so that a wild pointer is an answer and no signal. */
static bool host_can_read(const void *data) {
  char byte;
  struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)data, 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

static status not_on_any_device(const gpu *g, const void *data) {
  if (host_can_read(data)) {
    return ERROR(INVALID_ARGUMENT, "%p is memory of the host, and memory of %s is expected: bind it with device_type 'cpu', or copy it to the device first",
                 data, g->title);
  }
  return ERROR(INVALID_ARGUMENT, "%p is no memory that CUDA knows, and memory of %s is expected: it was freed already, or the address is wrong. "
               "Keep the array alive as long as it is bound.", data, g->title);
}

static status check_kind(const gpu *g, const void *data, const struct cudaPointerAttributes *is) {
  switch (is->type) {
  case cudaMemoryTypeManaged: return OK;                   /* every device reaches it */
  case cudaMemoryTypeDevice: break;
  case cudaMemoryTypeHost:
    return ERROR(INVALID_ARGUMENT, "%p is page-locked memory of the host, and memory of %s is expected: bind it with device_type 'cpu' (its copies need no "
                 "staging), or copy it to the device first", data, g->title);
  default: return not_on_any_device(g, data);
  }
  if (is->device == g->index) return OK;
  return ERROR(INVALID_ARGUMENT, "%p is memory of GPU %d, and memory of %s is expected: bind it with device_id %d in a session on that device, or copy it",
               data, is->device, g->title, is->device);
}

/* How far the allocation reaches, where the driver tells. */
static status check_extent(const gpu *g, const void *data, size_t bytes) {
  unsigned long long base = 0, at = (uintptr_t)data;
  size_t whole = 0;
  const driver_functions *d = cuda_driver();
  if (!d->address_range || d->address_range(&base, &whole, at) != 0 || bytes <= base + whole - at) return OK;
  return ERROR(INVALID_ARGUMENT, "%p has %llu bytes of memory of %s up to the end of its allocation (%zu bytes at 0x%llx), and the tensor needs %zu: "
               "check shape, element type and address", data, base + whole - at, g->title, whole, base, bytes);
}

static status check_pointer(const gpu *g, const void *data, size_t bytes) {
  struct cudaPointerAttributes is;
  cudaError_t error = cudaPointerGetAttributes(&is, data);
  if (error == cudaErrorInvalidValue) {                    /* what older drivers say of memory that they do not know */
    (void)cudaGetLastError();
    return not_on_any_device(g, data);
  }
  TRY(gpu_status(g, error, "a pointer cannot be checked"));
  TRY(check_kind(g, data, &is));
  return check_extent(g, data, bytes);
}

status gpu_check_memory(const device *d, const void *data, size_t bytes, size_t alignment) {
  const gpu *g = gpu_of(d);
  intptr_t token;
  if (bytes == 0) return OK;
  if (!data) return ERROR(INVALID_ARGUMENT, "the pointer is NULL, and %zu bytes of memory of %s are expected", bytes, g->title);
  if (alignment > 1 && (uintptr_t)data % alignment != 0) {
    return ERROR(INVALID_ARGUMENT, "%p is not a multiple of %zu, the element's size; a GPU reads aligned elements only: copy the tensor to an aligned address",
                 data, alignment);
  }
  TRY(gpu_enter(g, &token));
  status s = check_pointer(g, data, bytes);
  gpu_leave(token);
  return s;
}

status gpu_check_host(const device *d, const void *data) {
  const gpu *g = gpu_of(d);
  struct cudaPointerAttributes is;
  intptr_t token;
  TRY(gpu_enter(g, &token));
  cudaError_t error = cudaPointerGetAttributes(&is, data);
  if (error) (void)cudaGetLastError();                     /* older drivers say so of the host's memory */
  gpu_leave(token);
  if (error || is.type != cudaMemoryTypeDevice) return OK;
  return ERROR(INVALID_ARGUMENT, "%p is memory of GPU %d, which the host cannot use: bind it with device_type 'cuda' and device_id %d, or copy it to the host first",
               data, is.device, is.device);
}
