/* What is known of a value: kind, dtype, shape (with symbols), layout, and its contents if constant.
 *
 * The same facts serve twice. At load, dims may be symbols or unknown. When a plan is made for one set of input dims, they are numbers
 * unless they depend on data. `infer` functions need not care: they compute with dims through the helpers below. */
#ifndef ORTCORE_IR_FACT_H
#define ORTCORE_IR_FACT_H

#include <ortcore/base/checked.h>
#include <ortcore/value/ort_value.h>

/* >= 0: that many. DIM_UNKNOWN: anything. <= -2: a symbol; equal symbols are equal dims. */
typedef int64_t dim;
#define DIM_UNKNOWN ((dim)-1)
#define RANK_UNKNOWN (-1)

typedef enum value_kind { KIND_UNKNOWN = 0, KIND_TENSOR, KIND_SEQUENCE, KIND_MAP, KIND_SPARSE } value_kind;

typedef struct fact {
  value_kind kind;
  bool optional;                                           /* the ONNX optional(...) type around it */
  dtype type;                                              /* TENSOR, SEQUENCE of tensors, SPARSE: the elements'; MAP: the values' */
  dtype key;                                               /* MAP (and SEQUENCE of maps): the keys'; else UNDEFINED */
  int32_t rank;                                            /* TENSOR: RANK_UNKNOWN, or 0..MAX_RANK */
  layout order;
  dim dims[MAX_RANK];
  const tensor *value;                                     /* its contents, if they are known; owned by the graph or the shape plan */
} fact;

static inline bool dim_known(dim d) { return d >= 0; }
/* All dims are numbers. */
bool fact_is_static(const fact *f);
/* Sets rank and dims; kind, type and the rest stay. */
void fact_set_shape(fact *f, int rank, const dim *dims);
void fact_copy_shape(fact *to, const fact *from);
/* Elements, or -1 if not known. */
int64_t fact_count(const fact *f);
/* An int32 or int64 constant's elements as int64; returns the count, or -1 if the fact is not a known integer constant of at most `capacity` elements. */
int64_t fact_integers(const fact *f, int64_t *out, int64_t capacity);
bool fact_scalar_f64(const fact *f, double *out);           /* a known numeric constant of one element */
/* axis in [-rank, rank) made non-negative; an error names the operator's attribute or input. */
status axis_normalise(int64_t axis, int rank, const char *what, int *out) MUST_CHECK;
/* numpy broadcasting of two shapes; unknown dims give unknown, 1 against a symbol gives the symbol. */
status fact_broadcast(const fact *a, const fact *b, fact *out) MUST_CHECK;
/* What does not fit is unknown: a tensor of such dims is refused where it is made. */
static inline dim dim_add(dim a, dim b) {
  dim sum;
  if (dim_known(a) && dim_known(b)) return checked_add(a, b, &sum) ? DIM_UNKNOWN : sum;
  return b == 0 ? a : a == 0 ? b : DIM_UNKNOWN;
}
static inline dim dim_mul(dim a, dim b) {
  dim product;
  if (dim_known(a) && dim_known(b)) return checked_mul(a, b, &product) ? DIM_UNKNOWN : product;
  return a == 1 ? b : b == 1 ? a : DIM_UNKNOWN;
}

#endif
