/* A tensor is a view: where, what, how large. It owns nothing. Kernels see only these. */
#ifndef ORTCORE_VALUE_TENSOR_H
#define ORTCORE_VALUE_TENSOR_H

#include <ortcore/base/dtype.h>
#include <ortcore/base/status.h>

#define MAX_RANK ORTC_MAX_RANK                             /* higher ranks are refused where a model or a value is made */

/* Order of the elements in memory. dims are logical (N, C, spatial...) whatever the layout. */
typedef enum layout { LAYOUT_PLAIN = 0, LAYOUT_CHANNELS_LAST = 1 } layout;

typedef struct tensor {
  void *data;                                              /* any alignment; may be NULL if count is 0 */
  int64_t count;                                           /* elements: the product of dims */
  dtype type;
  int32_t rank;
  layout order;
  int64_t dims[MAX_RANK];
} tensor;

/* Sets type, rank, dims and count; data NULL, plain. Fails on a negative dim, a rank above MAX_RANK or overflow of the byte size. */
status tensor_init(tensor *t, dtype type, int rank, const int64_t *dims) MUST_CHECK;
size_t tensor_bytes(const tensor *t);
bool dims_equal(int rank_a, const int64_t *a, int rank_b, const int64_t *b);
static inline int64_t dims_product(const int64_t *dims, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= dims[i];
  return n;
}
/* "[2,3]" into a caller's buffer, which is returned; -1 prints as "?", an unknown rank as "[...]". */
char *dims_format(char *buffer, size_t capacity, int rank, const int64_t *dims);
#define DIMS_TEXT 256                                      /* a buffer that always suffices (longer texts are cut with "...") */

/* Byte width of whole-element moves, for kernels that need no type (1, 2, 4, 8, 16); 0 for packed sub-byte types. */
static inline int tensor_width(const tensor *t) { return dtype_width(t->type); }

#endif
