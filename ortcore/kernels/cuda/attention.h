/* Scaled dot-product attention without a matrix of scores: keys and values pass through shared memory in tiles, and each query keeps a running
 * largest score and sum of exponentials. For C. */
#ifndef ORTCORE_KERNELS_CUDA_ATTENTION_H
#define ORTCORE_KERNELS_CUDA_ATTENTION_H

#include <ortcore/kernels/cuda/fault.h>
#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_ATTENTION_SIZE = 256, CUDA_ATTENTION_KEYS = 1 << 30 };   /* the largest head, the most keys */

/* Vectors of heads: element strides; the numbers of one vector are neighbours. */
typedef struct cuda_heads { void *data; int64_t batch, head, row; } cuda_heads;

/* Query i of batch b stands at place i + offset; it sees keys from place - left to place + right (-1: no limit), below valid[b] and mask_len,
 * that the mask does not hide. Where it sees none, its result is 0. */
typedef struct cuda_attention {
  dtype type;                                              /* FLOAT, FLOAT16 or BFLOAT16: of all but the mask */
  int32_t batch, q_heads, kv_heads, q_len, kv_len, size, v_size;
  cuda_heads q, k, v, y;
  float scale, softcap;                                    /* softcap 0: none */
  int32_t left, right, offset;
  const int64_t *valid;                                    /* NULL: all keys. With it, offset is valid[b] - q_len */
  cuda_fault_place fault;                                  /* gets GPU_FAULT_LENGTH where valid[b] is no count of keys */
  const void *mask;                                        /* NULL: none. Bools hide keys where they are false, floats are added */
  dtype mask_type;
  int32_t mask_len;
  int64_t mask_batch, mask_head, mask_row;                 /* element strides */
  int32_t parts, chunk;                                    /* the keys of few queries are divided among blocks: parts of `chunk` keys */
  float *partial;                                          /* memory for what parts find; NULL if there is one part */
} cuda_attention;

/* Sets parts and chunk, and says how much memory `partial` must have. */
int64_t cuda_attention_plan(cuda_attention *a);
/* Returns a cudaError_t. Memory may have any alignment that its type allows. */
int cuda_attention_run(const cuda_attention *a, void *stream);

/* Past and new rows of [batch, heads, length, size] one after the other: to[b, h] is past[b, h] and then now[b, h]. */
typedef struct cuda_cache { const void *past; cuda_heads now; void *to; int64_t heads, past_length, length, size; } cuda_cache;
/* Of keys and values at once. */
int cuda_attention_join(dtype type, int64_t batch, const cuda_cache caches[2], void *stream);

#ifdef __cplusplus
}
#endif
#endif
