/* Normalisations that are not of rows: LRN (across channels), LpNormalization (along an axis), MeanVarianceNormalization (over any axes). */
#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/mathf.h>
#include <ortcore/kernels/cpu/reduce.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/norm.h>

enum { ELEMENTS_PER_THREAD = 1 << 14 };

/* ---- LRN ------------------------------------------------------------------------------------------------------------------------------------- */

static status lrn_prepare(prepare_ctx *c, void **out_params) {
  lrn_params *p = *out_params = ZONE_NEW(c->memory, lrn_params);
  if (!p) return status_out_of_memory();
  p->size = attr_int_or(c->node, "size", 0);
  p->alpha = attr_float_or(c->node, "alpha", 0.0001f);
  p->beta = attr_float_or(c->node, "beta", 0.75f);
  p->bias = attr_float_or(c->node, "bias", 1);
  return p->size > 0 ? OK : ERROR(INVALID_ARGUMENT, "attribute 'size' is %lld, expected a positive number of channels", (long long)p->size);
}

MULTIVERSION static void lrn_f32(const lrn_params *p, const float *restrict x, float *restrict y, int64_t channels, int64_t inner, int64_t c) {
  int64_t first = c - (p->size - 1) / 2, last = first + p->size;
  float scale = (float)(p->alpha / (double)p->size), bias = (float)p->bias, beta = (float)p->beta;
  first = first < 0 ? 0 : first;
  last = last > channels ? channels : last;
  for (int64_t i = 0; i < inner; ++i) y[i] = 0;
  for (int64_t n = first; n < last; ++n)
    for (int64_t i = 0; i < inner; ++i) y[i] += x[n * inner + i] * x[n * inner + i];
  for (int64_t i = 0; i < inner; ++i) y[i] = x[c * inner + i] * mathf_exp(-beta * mathf_log(bias + scale * y[i]));
}

static void lrn_f64(const lrn_params *p, const double *x, double *y, int64_t channels, int64_t inner, int64_t c) {
  int64_t first = c - (p->size - 1) / 2;
  for (int64_t i = 0; i < inner; ++i) {
    double sum = 0;
    for (int64_t n = first < 0 ? 0 : first; n < channels && n < first + p->size; ++n) sum += x[n * inner + i] * x[n * inner + i];
    y[i] = x[c * inner + i] * pow(p->bias + p->alpha / (double)p->size * sum, -p->beta);
  }
}

typedef struct lrn_work { const lrn_params *p; const tensor *x; tensor *y; int64_t channels, inner; } lrn_work;

static void lrn_range(void *context, int64_t begin, int64_t end) {
  const lrn_work *w = context;
  for (int64_t row = begin; row < end; ++row) {
    int64_t c = row % w->channels, image = (row - c) * w->inner;
    if (w->x->type == ORTC_DOUBLE) lrn_f64(w->p, (const double *)w->x->data + image, (double *)w->y->data + row * w->inner, w->channels, w->inner, c);
    else lrn_f32(w->p, (const float *)w->x->data + image, (float *)w->y->data + row * w->inner, w->channels, w->inner, c);
  }
}

static status lrn_run(kernel_ctx *k) {
  tensor copy, out_copy, *out;
  lrn_work w = {.p = k->params};
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  TRY(float_input(k, 0, &copy, &w.x));
  TRY(float_output(k, out, &out_copy, &w.y));
  if (w.x->rank < 2) return ERROR(INVALID_ARGUMENT, "the input has rank %d, expected at least the dims N and C", w.x->rank);
  if (!w.x->count) return OK;
  w.channels = w.x->dims[1];
  w.inner = dims_product(w.x->dims, 2, w.x->rank);
  parallel_for(k->threads, w.x->dims[0] * w.channels, ELEMENTS_PER_THREAD / w.inner / w.p->size + 1, lrn_range, &w);
  float_finish(out, w.y);
  return OK;
}

/* ---- LpNormalization ------------------------------------------------------------------------------------------------------------------------ */

typedef void (*divide_fn)(const void *x, const void *norms, void *y, int64_t begin, int64_t end, int64_t n, int64_t inner);
typedef struct lp_work { const tensor *x; tensor *y; void *norms; reduce_fn norm; divide_fn divide; int64_t n, inner; } lp_work;

/* y = x / norm over [outer, n, inner], with a norm for each of [outer, inner]; where that is 0, so are the elements. */
#define DIVIDE(name, T) \
  MULTIVERSION static void divide_##name(const void *from, const void *by, void *to, int64_t begin, int64_t end, int64_t n, int64_t inner) { \
    for (int64_t row = begin * n; row < end * n; ++row) { \
      const T *restrict x = (const T *)from + row * inner, *restrict norm = (const T *)by + row / n * inner; \
      T *restrict y = (T *)to + row * inner; \
      for (int64_t i = 0; i < inner; ++i) y[i] = norm[i] == 0 ? 0 : x[i] / norm[i]; \
    } \
  } \
  MULTIVERSION static void divide_rows_##name(const void *from, const void *by, void *to, int64_t begin, int64_t end, int64_t n, int64_t inner) { \
    (void)inner; \
    for (int64_t row = begin; row < end; ++row) { \
      const T *restrict x = (const T *)from + row * n; \
      T *restrict y = (T *)to + row * n, norm = ((const T *)by)[row]; \
      for (int64_t i = 0; i < n; ++i) y[i] = norm == 0 ? 0 : x[i] / norm; \
    } \
  }
DIVIDE(f32, float)
DIVIDE(f64, double)

static void lp_range(void *context, int64_t begin, int64_t end) {
  const lp_work *w = context;
  w->norm(w->x->data, w->norms, begin, end, w->n, w->inner);
  w->divide(w->x->data, w->norms, w->y->data, begin, end, w->n, w->inner);
}

static status lp_run(kernel_ctx *k) {
  tensor copy, out_copy, *out;
  lp_work w = {0};
  int64_t p = attr_int_or(k->node, "p", 2);
  int axis;
  if (p != 1 && p != 2) return ERROR(INVALID_ARGUMENT, "attribute 'p' is %lld, expected 1 or 2", (long long)p);
  TRY(axis_normalise(attr_int_or(k->node, "axis", -1), k->in[0]->rank, "axis", &axis));
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  TRY(float_input(k, 0, &copy, &w.x));
  TRY(float_output(k, out, &out_copy, &w.y));
  if (!w.x->count) return OK;
  w.n = w.x->dims[axis];
  w.inner = dims_product(w.x->dims, axis + 1, w.x->rank);
  w.norm = reduce_for(p == 1 ? REDUCE_L1 : REDUCE_L2, w.x->type);
  if (w.x->type == ORTC_DOUBLE) w.divide = w.inner > 1 ? divide_f64 : divide_rows_f64;
  else w.divide = w.inner > 1 ? divide_f32 : divide_rows_f32;
  TRY(kernel_scratch(k, tensor_bytes(w.x) / (size_t)w.n, &w.norms));
  parallel_for(k->threads, w.x->count / w.n / w.inner, ELEMENTS_PER_THREAD / w.n / w.inner + 1, lp_range, &w);
  float_finish(out, w.y);
  return OK;
}

/* ---- MeanVarianceNormalization ---------------------------------------------------------------------------------------------------------------- */

/* Dims, of which neighbours that are both averaged or both not have become one. Strides into the statistics are 0 on averaged dims. */
typedef struct mvn_walk { int rank; int64_t dims[MAX_RANK], strides[MAX_RANK], groups; double each; } mvn_walk;

/* The statistic at which run number `run` (of elements along the last dim) begins. */
static int64_t statistic_of(const mvn_walk *w, int64_t run) {
  int64_t at = 0;
  for (int d = w->rank - 2; d >= 0; --d) {
    at += run % w->dims[d] * w->strides[d];
    run /= w->dims[d];
  }
  return at;
}

/* Sums are in double, and the variance is taken about the mean. A run has one statistic, or one for each element. */
#define MVN(name, T) \
  MULTIVERSION static double sum_##name(const T *x, int64_t n, double mean, bool squares) { \
    double lanes[8] = {0}; \
    int64_t i = 0; \
    for (; i + 8 <= n; i += 8) \
      for (int l = 0; l < 8; ++l) lanes[l] += squares ? ((double)x[i + l] - mean) * ((double)x[i + l] - mean) : (double)x[i + l]; \
    for (; i < n; ++i) lanes[0] += squares ? ((double)x[i] - mean) * ((double)x[i] - mean) : (double)x[i]; \
    return lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7]; \
  } \
  MULTIVERSION static void add_##name(const T *restrict x, int64_t n, const double *restrict mean, double *restrict to, bool squares) { \
    for (int64_t i = 0; i < n; ++i) to[i] += squares ? ((double)x[i] - mean[i]) * ((double)x[i] - mean[i]) : (double)x[i]; \
  } \
  static void gather_##name(const mvn_walk *w, const T *x, int64_t runs, const double *mean, double *to, bool squares) { \
    int64_t n = w->dims[w->rank - 1], stride = w->strides[w->rank - 1]; \
    for (int64_t run = 0; run < runs; ++run) { \
      int64_t s = statistic_of(w, run); \
      if (stride) add_##name(x + run * n, n, mean + s, to + s, squares); \
      else to[s] += sum_##name(x + run * n, n, mean[s], squares); \
    } \
  } \
  MULTIVERSION static void scale_##name(const mvn_walk *w, const T *restrict from, T *restrict to, int64_t runs, const double *mean, const double *deviation) { \
    int64_t n = w->dims[w->rank - 1], stride = w->strides[w->rank - 1]; \
    for (int64_t run = 0; run < runs; ++run) { \
      int64_t s = statistic_of(w, run); \
      const T *x = from + run * n; \
      T *y = to + run * n; \
      if (stride) \
        for (int64_t i = 0; i < n; ++i) y[i] = (T)(((double)x[i] - mean[s + i]) / deviation[s + i]); \
      else \
        for (int64_t i = 0; i < n; ++i) y[i] = (T)(((double)x[i] - mean[s]) / deviation[s]); \
    } \
  } \
  static void mvn_##name(const mvn_walk *w, const T *x, T *y, int64_t runs, double *sums, double *mean, double *deviation) { \
    gather_##name(w, x, runs, mean, sums, false); \
    for (int64_t s = 0; s < w->groups; ++s) mean[s] = sums[s] / w->each; \
    gather_##name(w, x, runs, mean, deviation, true); \
    for (int64_t s = 0; s < w->groups; ++s) deviation[s] = sqrt(deviation[s] / w->each) + 1e-9; \
    scale_##name(w, x, y, runs, mean, deviation); \
  }
MVN(f32, float)
MVN(f64, double)

static mvn_walk mvn_axes(const tensor *x, const integers *axes) {
  mvn_walk w = {.groups = 1};
  bool averaged[MAX_RANK] = {false};
  for (int i = 0; i < axes->count; ++i) averaged[axes->at[i]] = true;
  for (int d = 0; d < x->rank; ++d) {
    if (d > 0 && averaged[d] == averaged[d - 1]) w.dims[w.rank - 1] *= x->dims[d];
    else w.dims[w.rank++] = x->dims[d];
    w.strides[w.rank - 1] = !averaged[d];                  /* 1 stands for a stride that is found below */
  }
  for (int d = w.rank - 1; d >= 0; --d) {
    if (!w.strides[d]) continue;
    w.strides[d] = w.groups;
    w.groups *= w.dims[d];
  }
  w.each = (double)(x->count / w.groups);
  return w;
}

static status mvn_run(kernel_ctx *k) {
  tensor copy, out_copy, *out, *y;
  const tensor *x;
  integers axes = {0};
  bool present;
  TRY(integers_from_attr(k->node, "axes", &axes, &present));
  if (!present) axes = (integers){3, {0, 2, 3}};
  TRY(axes_normalise(&axes, k->in[0]->rank, "axes"));
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  TRY(float_input(k, 0, &copy, &x));
  TRY(float_output(k, out, &out_copy, &y));
  if (!x->count) return OK;
  if (x->rank == 0) return ERROR(INVALID_ARGUMENT, "the input is a scalar, which has no axes to average over");
  mvn_walk w = mvn_axes(x, &axes);
  int64_t runs = x->count / w.dims[w.rank - 1];
  void *memory;
  TRY(kernel_scratch(k, (size_t)w.groups * 3 * sizeof(double), &memory));
  double *sums = memset(memory, 0, (size_t)w.groups * 3 * sizeof(double)), *mean = sums + w.groups, *deviation = mean + w.groups;
  if (x->type == ORTC_DOUBLE) mvn_f64(&w, x->data, y->data, runs, sums, mean, deviation);
  else mvn_f32(&w, x->data, y->data, runs, sums, mean, deviation);
  float_finish(out, y);
  return OK;
}

OP_FAMILY(normalize) = {
  {.name = "LRN", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, .prepare = lrn_prepare, .run = lrn_run},
  {.name = "LpNormalization", .since = 1, .signature = "input:T -> output:T", .T = TS_FLOAT, .run = lp_run},
  {.name = "MeanVarianceNormalization", .since = 9, .signature = "X:T -> Y:T", .T = TS_FLOAT, .run = mvn_run},
  {0}};
