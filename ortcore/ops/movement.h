/* What the operators that move data share: lists of integers from inputs and attributes, axes, indices. */
#ifndef ORTCORE_OPS_MOVEMENT_H
#define ORTCORE_OPS_MOVEMENT_H

#include <ortcore/ops/params/movement.h>
#include <string.h>

/* Element i of int64 (wide) or int32 data; of a tensor of either type. */
static inline int64_t index_at(const void *data, bool wide,
                               int64_t i) { return wide ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i]; }
static inline int64_t integer_at(const tensor *t, int64_t i) { return index_at(t->data, t->type == ORTC_INT64, i); }

/* A short list: a shape, axes, pads. */
typedef struct integers {
  int count;
  int64_t at[2 * MAX_RANK];
} integers;

/* From an int32 or int64 input of rank 0 or 1; `what` names it in errors. */
status integers_from_tensor(const tensor *t, const char *what, integers *out) MUST_CHECK;
/* From an attribute: *out_present is false, and the list empty, if the node has none of that name. */
status integers_from_attr(const node *n, const char *name, integers *out, bool *out_present) MUST_CHECK;
/* From a constant input. False if the contents are not known (or too long, which run reports). */
bool integers_from_fact(const fact *f, integers *out);
/* How many entries a 1-D integer input has, or -1. */
int64_t integers_count(const fact *f);

/* Makes every axis non-negative; an axis out of range or named twice is an error. */
status axes_normalise(integers *axes, int rank, const char *what) MUST_CHECK;

/* Input i of a run, or an error that says it is missing. Optional inputs are fetched with `kernel_in`. */
static inline const tensor *kernel_in(const kernel_ctx *k, int32_t i) { return i < k->in_count ? k->in[i] : NULL; }
static inline const fact *infer_in(const infer_ctx *c, int32_t i) { return i < c->in_count ? c->in[i] : NULL; }

/* Whether K elements of an axis of n can be picked. */
status topk_check(int64_t k, dim n, int axis) MUST_CHECK;

/* Every index lies in [-n, n), or an error that names the first one that does not. */
status indices_check(const tensor *indices, int64_t n, int axis) MUST_CHECK;
/* Whether indices [first, first + count) are all the same, as they are where a list of rows was expanded to elements. */
bool indices_equal(const tensor *indices, int64_t first, int64_t count);
/* For GatherElements and ScatterElements: `indices` has data's rank and is no larger on the other axes. */
status elements_check(const tensor *data, const tensor *indices, int axis) MUST_CHECK;
/* A negative index counts from the end. */
static inline int64_t index_wrap(int64_t index, int64_t n) { return index < 0 ? index + n : index; }

/* Types whose elements are whole bytes. */
#define TS_WHOLE (TS_ALL & ~TS_SUBBYTE)

/* memcpy for blocks that are mostly one element or a few. */
static inline void move_block(char *to, const char *from, int64_t bytes) {
  switch (bytes) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    case 16: memcpy(to, from, 16); break;
    case 32: memcpy(to, from, 32); break;
    case 64: memcpy(to, from, 64); break;
    default: memcpy(to, from, (size_t)bytes);
  }
}

/* For loops over indices and elements that are worth compiling for each combination: calls f(..., width, wide) with constants for the usual
 * widths and both index types, so that f, an ALWAYS_INLINE function, becomes a plain loop. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define FOR_WIDTHS(f, width, wide, ...) \
  do { \
    if ((width) == 4 && (wide)) f(__VA_ARGS__, 4, true); \
    else if ((width) == 4) f(__VA_ARGS__, 4, false); \
    else if ((width) == 8 && (wide)) f(__VA_ARGS__, 8, true); \
    else if ((width) == 8) f(__VA_ARGS__, 8, false); \
    else f(__VA_ARGS__, width, wide); \
  } while (0)

/* The work of a movement kernel is divided among threads so that each has some ten microseconds of it; a move costs about as much as 32
 * bytes do. */
enum { MOVE_BYTES_PER_THREAD = 512 << 10 };
static inline int64_t move_grain(int64_t bytes_each) { return MOVE_BYTES_PER_THREAD / (bytes_each + 32) + 1; }

/* The bits that say whether an element is zero: the signs of floats do not. */
static inline uint64_t truth_bits(dtype type) {
  switch (type) {
    case ORTC_FLOAT16: case ORTC_BFLOAT16: return 0x7fff;
    case ORTC_FLOAT: return 0x7fffffff;
    case ORTC_DOUBLE: case ORTC_COMPLEX128: return INT64_MAX;
    case ORTC_COMPLEX64: return 0x7fffffff7fffffff;
    default: return UINT64_MAX;
  }
}

/* Strings are counted references: call it once an output's elements have been moved into place. */
static inline void tensor_moved(tensor *out) {
  if (out->type == ORTC_STRING) rcstr_retain_n(out->data, out->count);
}

/* Output 0: the tensors joined along an axis, or stacked along a new one. */
status concat_tensors(kernel_ctx *k, int64_t count, const tensor *const *in, int64_t axis, bool stack) MUST_CHECK;

/* The attribute 'reduction' of the scatters, and its loops; NULL for none. */
status scatter_reduction(const node *n, dtype type, combine *out_how, const combine_fns **out) MUST_CHECK;

/* Where the tuples of `indices` point, for GatherND and ScatterND: data is [batch, dims of the coordinates, block]. */
typedef struct nd_map {
  const tensor *indices;
  int coordinates, first_axis;
  int64_t tuples, per_batch, batch_stride, block;          /* strides and block in elements */
  const int64_t *dims;                                     /* of data, from first_axis on */
  int64_t strides[MAX_RANK];
} nd_map;
/* From the shapes; the indices themselves are not read. */
status nd_map_make(const tensor *data, const tensor *indices, int64_t batch_dims, nd_map *m) MUST_CHECK;
/* ScatterND: `updates` is one block for each tuple. */
status nd_updates_check(const tensor *data, const tensor *updates, const nd_map *m) MUST_CHECK;

/* run of rows whose data is a strided_op. */
status strided_run(kernel_ctx *k) MUST_CHECK;

/* A fact without a shape: rank known, dims not. */
void fact_set_rank(fact *f, int rank);

#endif
