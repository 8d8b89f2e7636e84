/* Scaled dot-product attention, in f32 or f64, a block of query rows at a time: two products with a softmax between them. */
#ifndef ORTCORE_KERNELS_CPU_ATTENTION_H
#define ORTCORE_KERNELS_CPU_ATTENTION_H

#include <ortcore/value/tensor.h>

/* Vectors of heads: element strides; the numbers of one vector are neighbours. */
typedef struct head_view { void *data; int64_t batch, head, row; } head_view;

typedef enum scores_mode { SCORES_RAW, SCORES_CAPPED, SCORES_BIASED, SCORES_SOFTMAX } scores_mode;

typedef struct attention {
  dtype type;                                               /* of everything but the mask: FLOAT or DOUBLE */
  int64_t batch, q_heads, kv_heads, q_len, kv_len, size, v_size;
  head_view q, k, v, y;
  double scale, softcap;                                    /* softcap 0: none */
  /* Query i of batch b stands at place i + offset; it sees keys from place - left to place + right, -1 being no limit, and below valid[b]. */
  int64_t left, right, offset;
  const int64_t *valid;                                     /* NULL: all keys. With it, offset is valid[b] - q_len. */
  const tensor *mask;                                       /* bool, or added numbers; NULL: none */
  int64_t mask_batch, mask_head, mask_row, mask_len;        /* element strides; keys from mask_len on are not seen */
  void *scores;                                             /* [batch, q_heads, q_len, kv_len]; NULL: not wanted */
  scores_mode mode;
} attention;

size_t attention_scratch_bytes(const attention *a, int threads);
void attention_run(const attention *a, int threads, void *scratch);

#endif
