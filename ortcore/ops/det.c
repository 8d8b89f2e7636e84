/* Det: determinants of the matrices in the last two dims, by elimination with row exchanges, in f64. */
#include <ortcore/base/half.h>
#include <ortcore/ops/op.h>
#include <math.h>

static status det_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  if (!c->out[0] || x->rank == RANK_UNKNOWN) return OK;
  if (x->rank < 2) return ERROR(INVALID_ARGUMENT, "input 'X' has rank %d; it must hold matrices", x->rank);
  dim rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
  if (dim_known(rows) && dim_known(columns) && rows != columns)
    return ERROR(INVALID_ARGUMENT, "input 'X' holds %lld x %lld matrices; determinants need square ones", (long long)rows, (long long)columns);
  fact_set_shape(c->out[0], x->rank - 2, x->dims);
  return OK;
}

static double load(const tensor *t, int64_t i) {
  switch (t->type) {
    case ORTC_FLOAT16: return f16_to_f32(((const f16 *)t->data)[i]);
    case ORTC_BFLOAT16: return bf16_to_f32(((const bf16 *)t->data)[i]);
    case ORTC_DOUBLE: return ((const double *)t->data)[i];
    default: return ((const float *)t->data)[i];
  }
}

static void save(tensor *t, int64_t i, double x) {
  switch (t->type) {
    case ORTC_FLOAT16: ((f16 *)t->data)[i] = f64_to_f16(x); break;
    case ORTC_BFLOAT16: ((bf16 *)t->data)[i] = f64_to_bf16(x); break;
    case ORTC_DOUBLE: ((double *)t->data)[i] = x; break;
    default: ((float *)t->data)[i] = (float)x; break;
  }
}

static double determinant(double *a, int64_t n) {
  double product = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r)
      if (fabs(a[r * n + c]) > fabs(a[pivot * n + c])) pivot = r;
    if (a[pivot * n + c] == 0) return 0;
    if (pivot != c) {
      for (int64_t j = c; j < n; ++j) {
        double swap = a[c * n + j];
        a[c * n + j] = a[pivot * n + j], a[pivot * n + j] = swap;
      }
      product = -product;
    }
    product *= a[c * n + c];
    for (int64_t r = c + 1; r < n; ++r) {
      double factor = a[r * n + c] / a[c * n + c];
      for (int64_t j = c + 1; j < n; ++j) a[r * n + j] -= factor * a[c * n + j];
    }
  }
  return product;
}

static status det_run(kernel_ctx *k) {
  const tensor *x = k->in[0];
  int64_t n = x->dims[x->rank - 1];
  tensor *y;
  void *memory;
  TRY(kernel_output(k, 0, x->rank - 2, x->dims, &y));
  if (!y) return OK;
  TRY(kernel_scratch(k, (size_t)(n * n) * sizeof(double) + 64, &memory));
  for (int64_t i = 0; i < y->count; ++i) {
    for (int64_t j = 0; j < n * n; ++j) ((double *)memory)[j] = load(x, i * n * n + j);
    save(y, i, determinant(memory, n));
  }
  return OK;
}

OP_FAMILY(det) = {
  {.name = "Det", .since = 11, .signature = "X:T -> Y:T", .T = TS_FLOAT, .infer = det_infer, .run = det_run},
  {0}};
