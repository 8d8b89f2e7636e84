/* Device memory, pinned memory, pools: what may be done with them, and what is told who does something else. */
#include "test.h"

#include <cmath>
#include <cstring>

static void allocations_are_counted() {
  size_t free_before, free_now, total;
  void *p;
  CHECK_OK(cudaMemGetInfo(&free_before, &total));
  int64_t live = ortcore_emulator_counter("live_allocations");
  CHECK_OK(cudaMalloc(&p, 1 << 20));
  CHECK_OK(cudaMemGetInfo(&free_now, &total));
  CHECK(free_before - free_now == 1 << 20);
  CHECK(ortcore_emulator_counter("live_allocations") == live + 1);
  CHECK(ortcore_emulator_counter("allocations") == 1);
  CHECK_OK(cudaFree(p));
  CHECK(ortcore_emulator_counter("live_allocations") == live);
  CHECK_OK(cudaMemGetInfo(&free_now, &total));
  CHECK(free_now == free_before);
}

static void nothing_and_null() {
  void *p = &p;
  CHECK_OK(cudaMalloc(&p, 0));
  CHECK(p == nullptr);
  CHECK_OK(cudaFree(nullptr));
  CHECK_OK(cudaFreeHost(nullptr));
  CHECK_ERROR(cudaMalloc(nullptr, 4), cudaErrorInvalidValue);
}

static void fresh_memory_is_not_a_number() {
  void *p;
  CHECK_OK(cudaMalloc(&p, 4096));
  std::vector<float> values = host_floats(static_cast<float *>(p), 1024, nullptr);
  CHECK(std::isnan(values[0]) && std::isnan(values[1023]));
  CHECK_OK(cudaFree(p));
}

static void out_of_memory() {
  void *p, *q;
  set("memory_bytes", 1 << 20);
  CHECK_ERROR(cudaMalloc(&p, (1 << 20) + 1), cudaErrorMemoryAllocation);
  CHECK_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
  CHECK_OK(cudaGetLastError());
  CHECK_OK(cudaMalloc(&p, 1 << 20));
  CHECK_ERROR(cudaMalloc(&q, 1), cudaErrorMemoryAllocation);
  CHECK_OK(cudaFree(p));
  CHECK_OK(cudaMalloc(&p, 1 << 20));
  CHECK_OK(cudaFree(p));
}

static void the_nth_allocation_fails() {
  void *p, *q;
  set("fail_allocation", 2);
  CHECK_OK(cudaMalloc(&p, 16));
  CHECK_ERROR(cudaMalloc(&q, 16), cudaErrorMemoryAllocation);
  CHECK_OK(cudaMalloc(&q, 16));
  set("fail_allocations_after", 1);
  void *pinned, *third;
  CHECK_OK(cudaMallocHost(&pinned, 16));
  CHECK_ERROR(cudaMalloc(&third, 16), cudaErrorMemoryAllocation);
  CHECK_ERROR(cudaMallocAsync(&third, 16, nullptr), cudaErrorMemoryAllocation);
  CHECK_OK(cudaFreeHost(pinned));
  CHECK_OK(cudaFree(p));
  CHECK_OK(cudaFree(q));
}

static void double_free() {
  void *p;
  CHECK_OK(cudaMalloc(&p, 64));
  CHECK_OK(cudaFree(p));
  CHECK_ERROR(cudaFree(p), cudaErrorInvalidValue);
  CHECK(found("double_free", {"cudaFree of allocation #", "(64 bytes from cudaMalloc)", "which cudaFree has freed already"}));
}

static void free_of_something_else() {
  void *p;
  int local;
  CHECK_OK(cudaMalloc(&p, 64));
  CHECK_ERROR(cudaFree(static_cast<char *>(p) + 8), cudaErrorInvalidValue);
  CHECK(found("invalid_free", {"byte 8 of allocation #"}));
  CHECK_ERROR(cudaFree(&local), cudaErrorInvalidValue);
  CHECK_ERROR(cudaFreeHost(&local), cudaErrorInvalidValue);
  CHECK(count_found("invalid_free") == 3);
  CHECK_OK(cudaFree(p));
}

static void use_after_free() {
  cudaStream_t s = non_blocking_stream();
  float *x = device_floats(16, 1.0f), *y = device_floats(16, 2.0f);
  CHECK_OK(cudaFree(x));
  CHECK_OK(launch_add(x, y, y, 16, s));
  CHECK(found("use_after_free", {"kernel add", "allocation #", "which cudaFree has freed"}));
  CHECK_ERROR(cudaMemcpyAsync(y, x, 64, cudaMemcpyDeviceToDevice, s), cudaErrorInvalidValue);
  CHECK(found("use_after_free", {"cudaMemcpyAsync reads byte 0 of allocation #"}));
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK_OK(cudaFree(y));
}

static void freed_in_stream_order_then_used() {
  cudaStream_t s = non_blocking_stream();
  float *y = device_floats(16, 2.0f);
  void *x;
  CHECK_OK(cudaMallocAsync(&x, 64, s));
  CHECK_OK(cudaMemsetAsync(x, 0, 64, s));
  CHECK_OK(launch_add(static_cast<float *>(x), y, y, 16, s));
  CHECK_OK(cudaFreeAsync(x, s));
  CHECK(host_floats(y, 16, s)[15] == 2.0f);
  CHECK_OK(launch_add(static_cast<float *>(x), y, y, 16, s));
  CHECK(found("use_after_free", {"which cudaFreeAsync has freed"}));
  CHECK_ERROR(cudaFreeAsync(x, s), cudaErrorInvalidValue);
  CHECK(found("double_free", {"cudaFreeAsync of allocation #"}));
  CHECK_OK(cudaFree(y));
}

static void freed_in_stream_order_then_reused() {
  cudaStream_t s = non_blocking_stream();
  void *first, *second;
  set("quarantine_bytes", 0);
  CHECK_OK(cudaMallocAsync(&first, 1 << 16, s));
  CHECK_OK(cudaMemsetAsync(first, 1, 1 << 16, s));
  CHECK_OK(cudaFreeAsync(first, s));
  CHECK_OK(cudaMallocAsync(&second, 1 << 16, s));
  CHECK(first != second);                                  /* the free has not run yet */
  CHECK_OK(cudaFreeAsync(second, s));
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK_OK(cudaMallocAsync(&second, 1 << 16, s));
  CHECK(first == second);
  CHECK(std::isnan(host_floats(static_cast<float *>(second), 4, s)[0]));
  CHECK_OK(cudaFreeAsync(second, s));
  CHECK_OK(cudaStreamSynchronize(s));
}

static void freed_memory_is_kept_apart() {
  void *first, *second;
  CHECK_OK(cudaMalloc(&first, 4096));
  CHECK_OK(cudaFree(first));
  CHECK_OK(cudaMalloc(&second, 4096));
  CHECK(first != second);
  CHECK_OK(cudaFree(second));
}

static void writes_past_the_end() {
  cudaStream_t s = non_blocking_stream();
  float *x = device_floats(16, 1.0f);
  CHECK(ortcore_emulator_name(x, "activations") == 0);
  CHECK_OK(launch_store(x, 18, 5.0f, s));
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK(found("out_of_bounds", {"kernel store", "8 bytes past the end of allocation #", "\"activations\" (64 bytes from cudaMalloc)"}));
  CHECK_OK(cudaFree(x));
}

static void writes_to_freed_memory_are_found_later() {
  cudaStream_t s = non_blocking_stream();
  float *x = device_floats(16, 1.0f);
  CHECK_OK(cudaFree(x));
  CHECK_OK(launch_store(x, 3, 5.0f, s));
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK(count_found("use_after_free") == 1);
  void *p;
  set("quarantine_bytes", 0);
  CHECK_OK(cudaMalloc(&p, 64));
  CHECK(found("freed_write", {"byte 12 of allocation #", "after cudaFree had freed it"}));
  CHECK_OK(cudaFree(p));
}

static void pointers_are_told_apart() {
  cudaPointerAttributes is;
  void *device, *pinned;
  int local;
  std::vector<char> registered(1 << 16);
  CHECK_OK(cudaMalloc(&device, 64));
  CHECK_OK(cudaHostAlloc(&pinned, 64, cudaHostAllocDefault));
  CHECK_OK(cudaHostRegister(registered.data(), registered.size(), cudaHostRegisterDefault));
  CHECK_OK(cudaPointerGetAttributes(&is, static_cast<char *>(device) + 63));
  CHECK(is.type == cudaMemoryTypeDevice && is.device == 0 && is.devicePointer == static_cast<char *>(device) + 63 && !is.hostPointer);
  CHECK_OK(cudaPointerGetAttributes(&is, pinned));
  CHECK(is.type == cudaMemoryTypeHost && is.hostPointer == pinned && is.devicePointer == pinned);
  CHECK_OK(cudaPointerGetAttributes(&is, &registered[100]));
  CHECK(is.type == cudaMemoryTypeHost);
  CHECK_OK(cudaPointerGetAttributes(&is, &local));
  CHECK(is.type == cudaMemoryTypeUnregistered);
  CHECK_OK(cudaFree(device));
  CHECK_OK(cudaPointerGetAttributes(&is, device));
  CHECK(is.type == cudaMemoryTypeUnregistered);
  CHECK_ERROR(cudaHostRegister(&registered[10], 10, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
  CHECK_OK(cudaHostUnregister(registered.data()));
  CHECK_ERROR(cudaHostUnregister(registered.data()), cudaErrorHostMemoryNotRegistered);
  CHECK_OK(cudaFreeHost(pinned));
}

static void kernels_reach_pinned_memory() {
  void *pinned, *alias;
  cudaStream_t s = non_blocking_stream();
  CHECK_OK(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped));
  CHECK_OK(cudaHostGetDevicePointer(&alias, pinned, 0));
  CHECK_OK(launch_store(static_cast<float *>(alias), 2, 7.0f, s));
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK(static_cast<float *>(pinned)[2] == 7.0f);
  CHECK_OK(cudaFreeHost(pinned));
}

static void managed_memory_is_everybodys() {
  cudaStream_t s = non_blocking_stream();
  cudaPointerAttributes is;
  void *p;
  CHECK_OK(cudaMallocManaged(&p, 64, cudaMemAttachGlobal));
  float *values = static_cast<float *>(p);
  values[0] = 1.0f;
  CHECK_OK(cudaPointerGetAttributes(&is, p));
  CHECK(is.type == cudaMemoryTypeManaged);
  CHECK_OK(launch_add(values, values, values + 1, 1, s));
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK(values[1] == 2.0f);
  CHECK_OK(cudaFree(p));
  CHECK_ERROR(cudaFree(p), cudaErrorInvalidValue);
  CHECK(count_found("invalid_free") == 1);
}

static void pinned_destination_read_too_early() {
  cudaStream_t s = non_blocking_stream();
  float *x = device_floats(1024, 3.0f);
  void *p;
  CHECK_OK(cudaHostAlloc(&p, 4096, cudaHostAllocDefault));
  volatile float *pinned = static_cast<float *>(p);
  CHECK_OK(cudaMemcpyAsync(p, x, 4096, cudaMemcpyDeviceToHost, s));
  CHECK(pinned[5] != 3.0f);                                /* the program goes on, with what was there before */
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK(found("pinned_access", {"byte 20 of pinned memory #", "(4096 bytes from cudaHostAlloc)", "cudaMemcpyAsync of 4096 bytes", "which writes it"}));
  CHECK(pinned[5] == 3.0f);
  CHECK_OK(cudaFreeHost(p));
  CHECK_OK(cudaFree(x));
}

static void pinned_source_written_too_early() {
  cudaStream_t s = non_blocking_stream();
  float *x = device_floats(1024, 3.0f);
  void *p;
  CHECK_OK(cudaHostAlloc(&p, 8192, cudaHostAllocDefault));
  volatile float *pinned = static_cast<float *>(p);
  pinned[5] = 1.0f;
  CHECK_OK(cudaMemcpyAsync(x, p, 4096, cudaMemcpyHostToDevice, s));
  CHECK(pinned[5] == 1.0f);                                /* reading is fine, and so is the next page */
  pinned[1024] = 8.0f;
  CHECK(count_found("pinned_access") == 0);
  pinned[5] = 2.0f;
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK(found("pinned_access", {"byte 20 of pinned memory #", "which reads it"}));
  /* Less than a page shares it with others: the write is found when the copy runs. */
  CHECK_OK(cudaMemcpyAsync(x, p, 64, cudaMemcpyHostToDevice, s));
  pinned[16] = 4.0f;
  pinned[3] = 4.0f;
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK(found("pinned_access", {"byte 0 of pinned memory #", "was written while cudaMemcpyAsync of 64 bytes"}));
  CHECK_OK(cudaFreeHost(p));
  CHECK_OK(cudaFree(x));
}

static void two_copies_of_one_pinned_buffer() {
  cudaStream_t s = non_blocking_stream();
  float *x = device_floats(1024, 3.0f);
  void *p;
  CHECK_OK(cudaHostAlloc(&p, 4096, cudaHostAllocDefault));
  CHECK_OK(cudaMemcpyAsync(p, x, 4096, cudaMemcpyDeviceToHost, s));
  CHECK_OK(cudaMemcpyAsync(x, p, 4096, cudaMemcpyHostToDevice, s));
  CHECK_OK(cudaMemcpyAsync(p, x, 4096, cudaMemcpyDeviceToHost, s));
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK(static_cast<float *>(p)[1023] == 3.0f);
  CHECK_OK(cudaFreeHost(p));
  CHECK_OK(cudaFree(x));
}

static void pools() {
  cudaMemPool_t pool, now;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, {0}};
  properties.maxSize = 1 << 20;
  CHECK_OK(cudaMemPoolCreate(&pool, &properties));
  CHECK_OK(cudaDeviceSetMemPool(0, pool));
  CHECK_OK(cudaDeviceGetMemPool(&now, 0));
  CHECK(now == pool);
  void *p, *q;
  uint64_t used, threshold = 1 << 16;
  CHECK_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CHECK_OK(cudaMallocAsync(&p, 1 << 19, nullptr));
  CHECK_ERROR(cudaMallocFromPoolAsync(&q, (1 << 19) + 1, pool, nullptr), cudaErrorMemoryAllocation);
  CHECK_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK(used == 1 << 19);
  CHECK_OK(cudaFreeAsync(p, nullptr));
  CHECK_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK(used == 0);
  CHECK_OK(cudaMemPoolTrimTo(pool, 0));
  CHECK_OK(cudaMemPoolDestroy(pool));
  CHECK_OK(cudaDeviceGetMemPool(&now, 0));
  CHECK(now != pool);
  CHECK_ERROR(cudaMemPoolDestroy(now), cudaErrorInvalidValue);
}

int main() {
  return run_tests({
    {"allocations are counted", allocations_are_counted},
    {"nothing and NULL", nothing_and_null},
    {"fresh memory is not a number", fresh_memory_is_not_a_number},
    {"out of memory", out_of_memory},
    {"the n-th allocation fails", the_nth_allocation_fails},
    {"double free", double_free},
    {"free of something else", free_of_something_else},
    {"use after free", use_after_free},
    {"freed in stream order, then used", freed_in_stream_order_then_used},
    {"freed in stream order, then reused", freed_in_stream_order_then_reused},
    {"freed memory is kept apart", freed_memory_is_kept_apart},
    {"writes past the end", writes_past_the_end},
    {"writes to freed memory are found later", writes_to_freed_memory_are_found_later},
    {"pointers are told apart", pointers_are_told_apart},
    {"kernels reach pinned memory", kernels_reach_pinned_memory},
    {"managed memory is everybody's", managed_memory_is_everybodys},
    {"pinned destination read too early", pinned_destination_read_too_early},
    {"pinned source written too early", pinned_source_written_too_early},
    {"two copies of one pinned buffer", two_copies_of_one_pinned_buffer},
    {"pools", pools},
  });
}
