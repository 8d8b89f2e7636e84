/* What a kernel may find wrong in data that only the device sees: an index outside its axis, a division by zero. The kernel tells what it
 * found to a word of the stream (cuda_fault() of provider/cuda/plugin.h) and goes on with something harmless; whoever waits for the stream then
 * gets the error. Of several faults any one is told. */
#ifndef ORTCORE_KERNELS_CUDA_FAULT_H
#define ORTCORE_KERNELS_CUDA_FAULT_H

#include <stdint.h>

/* X(name, what the message says) */
#define GPU_FAULTS(X) \
  X(INDEX, "an index is out of range: indices of an axis of n elements go from -n to n-1") \
  X(DIVISION, "an integer is divided by zero") \
  X(LENGTH, "a length is negative or longer than its axis") \
  X(IMAGE, "'batch_indices' names an image that 'X' does not have") \
  X(PLACE, "an index names no element of the unpooled image") \
  X(SAMPLES, "a region takes more samples than a cell may have: set sampling_ratio, or see that spatial_scale fits") \
  X(POSITION, "a position id is negative, or there is no row for it in the cosine and sine caches") \
  X(COLUMN, "an index names no column of X: columns are counted from 0") \
  X(CATEGORY, "an element of the input is in no category, and zeros is 0")

enum gpu_fault {
  GPU_FAULT_NONE,
#define X(name, text) GPU_FAULT_##name,
  GPU_FAULTS(X)
#undef X
};

/* Where a launch tells its faults, in a kernel's arguments. */
typedef struct cuda_fault_place {
  int64_t *word;                                           /* memory of the host that the device reaches */
  int64_t node;                                            /* whose launch it is: an address below 2^GPU_FAULT_SHIFT, or 0 */
} cuda_fault_place;
enum { GPU_FAULT_SHIFT = 56 };                             /* the number of the fault stands above the address */

#ifdef __CUDACC__
static __device__ __forceinline__ void tell_fault(const cuda_fault_place &place, gpu_fault fault) {
  *place.word = place.node | static_cast<int64_t>(fault) << GPU_FAULT_SHIFT;
}
#endif

#endif
