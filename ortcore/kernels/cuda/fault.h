/* What a kernel may find wrong in data that only the device sees: an index outside its axis, a division by zero. The kernel stores the number
 * of what it found in the stream's fault word (cuda_fault() of provider/cuda/plugin.h) and goes on with something harmless; whoever waits for
 * the stream then gets the error. Of several faults any one is told. */
#ifndef ORTCORE_KERNELS_CUDA_FAULT_H
#define ORTCORE_KERNELS_CUDA_FAULT_H

/* X(name, what the message says) */
#define GPU_FAULTS(X) \
  X(INDEX, "an index is out of range: indices of an axis of n elements go from -n to n-1") \
  X(DIVISION, "an integer is divided by zero") \
  X(LENGTH, "a length is negative or longer than its axis") \
  X(IMAGE, "'batch_indices' names an image that 'X' does not have") \
  X(PLACE, "an index names no element of the unpooled image") \
  X(SAMPLES, "a region takes more samples than a cell may have: set sampling_ratio, or see that spatial_scale fits") \
  X(POSITION, "a position id is negative, or there is no row for it in the cosine and sine caches")

enum gpu_fault {
  GPU_FAULT_NONE,
#define X(name, text) GPU_FAULT_##name,
  GPU_FAULTS(X)
#undef X
};

#endif
