/* Finding the elements that are not zero, on a GPU, for C: they are counted tile by tile, the caller fetches their number, makes room, and has
 * their indices written in order. */
#ifndef ORTCORE_KERNELS_CUDA_SELECT_H
#define ORTCORE_KERNELS_CUDA_SELECT_H

#include <ortcore/value/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of 1, 2, 4 or 8 bytes, of which those bits decide whether one is zero. */
typedef struct cuda_elements { const void *data; int64_t count; int32_t width; uint64_t bits; } cuda_elements;

/* Device memory for the counts. */
size_t cuda_select_scratch_bytes(int64_t count);
/* Functions return a cudaError_t. *out_total: where in device memory the number will be. */
int cuda_select_count(const cuda_elements *x, void *scratch, void *stream, const int64_t **out_total);
/* After that: to[d * total + i] is the index along axis d of the i-th element that was found. */
int cuda_select_indices(const cuda_elements *x, void *scratch, int rank, const int64_t *dims, int64_t total, int64_t *to, void *stream);

/* y[o][i] = x[o][index[i]], blocks of `block` bytes; x has n of them for each of `outer`, y has `count`. */
typedef struct cuda_take { const void *x; void *y; const int64_t *index; int64_t outer, n, count, block; } cuda_take;
int cuda_take_run(const cuda_take *t, void *stream);

#ifdef __cplusplus
}
#endif
#endif
