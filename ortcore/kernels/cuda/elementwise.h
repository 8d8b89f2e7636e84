/* Elementwise kernels on a GPU, for C: a table by operator, functions that enqueue on a stream. */
#ifndef ORTCORE_KERNELS_CUDA_ELEMENTWISE_H
#define ORTCORE_KERNELS_CUDA_ELEMENTWISE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Axes of equal behaviour are merged before a launch; what is left rarely exceeds three. */
enum { CUDA_BROADCAST_RANK = 6 };

/* How the elements of y are found in a and b: dims of y, outermost first, and each operand's step along them (0: the same element again).
 * rank 0 says that a, b and y have one shape: element i meets element i. */
typedef struct cuda_broadcast {
  int32_t rank;
  int64_t dims[CUDA_BROADCAST_RANK], a_steps[CUDA_BROADCAST_RANK], b_steps[CUDA_BROADCAST_RANK];
} cuda_broadcast;

/* Each returns a cudaError_t. Memory may have any alignment that its type allows; y may be x, a or b where shapes are equal. */
typedef int (*cuda_unary_fn)(const void *x, void *y, int64_t count, void *stream);
typedef int (*cuda_binary_fn)(const void *a, const void *b, void *y, int64_t count, const cuda_broadcast *how, void *stream);

typedef struct cuda_unary { const char *op; cuda_unary_fn f32, f16; } cuda_unary;
typedef struct cuda_binary { const char *op; cuda_binary_fn f32, f16; } cuda_binary;

/* Both end with a row whose op is NULL. */
extern const cuda_unary cuda_unary_table[];
extern const cuda_binary cuda_binary_table[];

#ifdef __cplusplus
}
#endif
#endif
