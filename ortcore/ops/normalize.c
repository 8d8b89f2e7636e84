/* Normalisations that are not of rows: LRN (across channels), LpNormalization (along an axis), MeanVarianceNormalization (over any axes). */
#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/mathf.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/movement.h>

enum { ELEMENTS_PER_THREAD = 1 << 14 };

/* ---- LRN ------------------------------------------------------------------------------------------------------------------------------------- */

typedef struct lrn_params { int64_t size; double alpha, beta, bias; } lrn_params;

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

static double get(const tensor *t, int64_t i) { return t->type == ORTC_DOUBLE ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i]; }
static void set(tensor *t, int64_t i, double v) {
  if (t->type == ORTC_DOUBLE) ((double *)t->data)[i] = v;
  else ((float *)t->data)[i] = (float)v;
}

typedef struct lp_work { const tensor *x; tensor *y; int64_t p, n, inner; } lp_work;

static void lp_range(void *context, int64_t begin, int64_t end) {
  const lp_work *w = context;
  for (int64_t line = begin; line < end; ++line) {
    int64_t first = line / w->inner * w->n * w->inner + line % w->inner;
    double norm = 0;
    for (int64_t i = 0; i < w->n; ++i) {
      double v = get(w->x, first + i * w->inner);
      norm += w->p == 1 ? fabs(v) : v * v;
    }
    if (w->p == 2) norm = sqrt(norm);
    for (int64_t i = 0; i < w->n; ++i) set(w->y, first + i * w->inner, norm == 0 ? 0 : get(w->x, first + i * w->inner) / norm);
  }
}

static status lp_run(kernel_ctx *k) {
  tensor copy, out_copy, *out;
  lp_work w = {.p = attr_int_or(k->node, "p", 2)};
  int axis;
  if (w.p != 1 && w.p != 2) return ERROR(INVALID_ARGUMENT, "attribute 'p' is %lld, expected 1 or 2", (long long)w.p);
  TRY(axis_normalise(attr_int_or(k->node, "axis", -1), k->in[0]->rank, "axis", &axis));
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  TRY(float_input(k, 0, &copy, &w.x));
  TRY(float_output(k, out, &out_copy, &w.y));
  if (!w.x->count) return OK;
  w.n = w.x->dims[axis];
  w.inner = dims_product(w.x->dims, axis + 1, w.x->rank);
  parallel_for(k->threads, w.x->count / w.n, ELEMENTS_PER_THREAD / w.n + 1, lp_range, &w);
  float_finish(out, w.y);
  return OK;
}

/* ---- MeanVarianceNormalization ---------------------------------------------------------------------------------------------------------------- */

typedef struct mvn_walk { int rank; int64_t dims[MAX_RANK], strides[MAX_RANK]; } mvn_walk;   /* strides into the statistics: 0 on averaged axes */

static int64_t statistic_of(const mvn_walk *w, int64_t element) {
  int64_t at = 0;
  for (int d = w->rank - 1; d >= 0; --d) {
    at += element % w->dims[d] * w->strides[d];
    element /= w->dims[d];
  }
  return at;
}

static void mvn_compute(const mvn_walk *w, const tensor *x, tensor *y, int64_t groups, double *mean, double *deviation) {
  double each = (double)(x->count / groups);
  for (int64_t i = 0; i < x->count; ++i) mean[statistic_of(w, i)] += get(x, i);
  for (int64_t s = 0; s < groups; ++s) mean[s] /= each;
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t s = statistic_of(w, i);
    double d = get(x, i) - mean[s];
    deviation[s] += d * d;
  }
  for (int64_t s = 0; s < groups; ++s) deviation[s] = sqrt(deviation[s] / each) + 1e-9;
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t s = statistic_of(w, i);
    set(y, i, (get(x, i) - mean[s]) / deviation[s]);
  }
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
  mvn_walk w = {.rank = x->rank};
  int64_t groups = 1;
  for (int d = x->rank - 1; d >= 0; --d) {
    bool averaged = false;
    for (int i = 0; i < axes.count; ++i) averaged |= axes.at[i] == d;
    w.dims[d] = x->dims[d];
    w.strides[d] = averaged ? 0 : groups;
    if (!averaged) groups *= x->dims[d];
  }
  void *statistics;
  TRY(kernel_scratch(k, (size_t)groups * 2 * sizeof(double), &statistics));
  memset(statistics, 0, (size_t)groups * 2 * sizeof(double));
  mvn_compute(&w, x, y, groups, statistics, (double *)statistics + groups);
  float_finish(out, y);
  return OK;
}

OP_FAMILY(normalize) = {
  {.name = "LRN", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, .prepare = lrn_prepare, .run = lrn_run},
  {.name = "LpNormalization", .since = 1, .signature = "input:T -> output:T", .T = TS_FLOAT, .run = lp_run},
  {.name = "MeanVarianceNormalization", .since = 9, .signature = "X:T -> Y:T", .T = TS_FLOAT, .run = mvn_run},
  {0}};
