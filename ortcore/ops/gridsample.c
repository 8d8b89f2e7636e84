/* GridSample and AffineGrid: an image read at the places that a grid names, between its elements.
 *
 * A place becomes a short list of taps, elements with weights: one (nearest), two an axis (linear) or four an axis (cubic). The taps serve all
 * channels, so the work on coordinates is done once. Arithmetic is in double. */
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/gridsample.h>

#include <inttypes.h>
#include <math.h>
#include <ortcore/base/half.h>
#include <ortcore/base/threads.h>

enum { MAX_AXES = 3, MAX_TAPS = 64 };

static status sample_prepare(prepare_ctx *c, void **out_params) {
  sample_params *p = ZONE_NEW(c->memory, sample_params);
  if (!p) return status_out_of_memory();
  text mode = attr_string_or(c->node, "mode", "linear"), padding = attr_string_or(c->node, "padding_mode", "zeros");
  p->align_corners = attr_int_or(c->node, "align_corners", 0) != 0;
  *out_params = p;
  if (!strcmp(mode.data, "nearest")) p->mode = SAMPLE_NEAREST;
  else if (!strcmp(mode.data, "linear") || !strcmp(mode.data, "bilinear")) p->mode = SAMPLE_LINEAR;
  else if (!strcmp(mode.data, "cubic") || !strcmp(mode.data, "bicubic")) p->mode = SAMPLE_CUBIC;
  else return ERROR(INVALID_GRAPH, "attribute 'mode' is '%s', but must be nearest, linear or cubic", mode.data);
  if (!strcmp(padding.data, "zeros")) p->padding = PADDING_ZEROS;
  else if (!strcmp(padding.data, "border")) p->padding = PADDING_BORDER;
  else if (!strcmp(padding.data, "reflection")) p->padding = PADDING_REFLECTION;
  else return ERROR(INVALID_GRAPH, "attribute 'padding_mode' is '%s', but must be zeros, border or reflection", padding.data);
  return OK;
}

static status sample_infer(infer_ctx *c) {
  const fact *x = c->in[0], *grid = c->in[1];
  int rank = x->rank != RANK_UNKNOWN ? x->rank : grid->rank;
  if (rank < 3 || rank > MAX_RANK) return OK;
  dim dims[MAX_RANK];
  for (int d = 0; d < rank; ++d) {
    const fact *from = d < 2 ? x : grid;
    dims[d] = from->rank == rank ? from->dims[d < 2 ? d : d - 1] : DIM_UNKNOWN;
  }
  fact_set_shape(c->out[0], rank, dims);
  return OK;
}

/* ---- Places and taps ---- */

/* Back and forth between low and high. */
static double reflect(double x, double low, double high) {
  double range = high - low;
  if (!(range > 0)) return low;
  double far = fmod(fabs(x - low), 2 * range);
  return low + (far > range ? 2 * range - far : far);
}

/* Element i of an axis as one that exists; -1: a zero. */
static int64_t tap_index(const sample_params *p, double i, int64_t n) {
  double low = p->align_corners ? 0 : -0.5, high = p->align_corners ? (double)n - 1 : (double)n - 0.5;
  if (i >= 0 && i <= (double)(n - 1)) return (int64_t)i;
  if (p->padding == PADDING_ZEROS) return -1;
  if (p->padding == PADDING_REFLECTION) i = trunc(reflect(i, low, high));
  return i > 0 ? (i < (double)(n - 1) ? (int64_t)i : n - 1) : 0;
}

typedef struct axis_taps { int count; int64_t index[4]; double weight[4]; } axis_taps;

static void tap(axis_taps *t, const sample_params *p, double i, int64_t n, double weight) {
  int64_t index = tap_index(p, i, n);
  if (index < 0) return;
  t->index[t->count] = index;
  t->weight[t->count++] = weight;
}

/* The cubic kernel with a = -0.75 at distance d >= 0. */
static double cubic(double d) {
  const double a = -0.75;
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/* Taps of one axis of n elements for a normalised coordinate: -1 and 1 are its ends, or the centres of its end elements (align_corners). */
static axis_taps taps_of(const sample_params *p, double at, int64_t n) {
  axis_taps t = {0};
  double x = p->align_corners ? (at + 1) / 2 * (double)(n - 1) : ((at + 1) * (double)n - 1) / 2;
  double low = p->align_corners ? 0 : -0.5, high = p->align_corners ? (double)n - 1 : (double)n - 0.5;
  if (p->mode == SAMPLE_NEAREST) x = nearbyint(x);
  if (!isfinite(x)) {                                      /* nowhere */
    if (p->padding == PADDING_ZEROS) return t;
    x = 0;
  } else if (!(x >= low && x <= high) && p->mode != SAMPLE_CUBIC) {   /* cubic pads each tap instead */
    if (p->padding == PADDING_BORDER) x = x > 0 ? (x < (double)(n - 1) ? x : (double)(n - 1)) : 0;
    else if (p->padding == PADDING_REFLECTION) x = reflect(x, low, high);
  }
  double base = p->mode == SAMPLE_NEAREST ? nearbyint(x) : floor(x), rest = x - base;
  if (p->mode == SAMPLE_NEAREST) {
    tap(&t, p, base, n, 1);
  } else if (p->mode == SAMPLE_LINEAR) {
    tap(&t, p, base, n, 1 - rest);
    tap(&t, p, base + 1, n, rest);
  } else {
    for (int i = -1; i <= 2; ++i) tap(&t, p, base + i, n, cubic(fabs(rest - i)));
  }
  return t;
}

typedef struct taps { int count; int64_t offset[MAX_TAPS]; double weight[MAX_TAPS]; } taps;

/* Every combination of the axes' taps. The grid names the last axis first. */
static void taps_at(const sample_params *p, int axes, const int64_t *dims, const double *at, taps *out) {
  out->count = 1;
  out->offset[0] = 0;
  out->weight[0] = 1;
  for (int d = 0; d < axes; ++d) {
    axis_taps t = taps_of(p, at[axes - 1 - d], dims[d]);
    int before = out->count;
    out->count = before * t.count;
    for (int i = before - 1; i >= 0; --i) {                /* backwards: entry i becomes entries i * count ... */
      int64_t offset = out->offset[i] * dims[d];
      double weight = out->weight[i];
      for (int j = 0; j < t.count; ++j) {
        out->offset[i * t.count + j] = offset + t.index[j];
        out->weight[i * t.count + j] = weight * t.weight[j];
      }
    }
  }
}

/* ---- Reading ---- */

/* y[channel · y_stride] = the weighted sum of the taps of each channel. */
#define SAMPLER(name, T, LD, ST) \
  static void sample_##name(const void *from, int64_t stride, void *to, int64_t to_stride, int64_t channels, const taps *t) { \
    for (int64_t c = 0; c < channels; ++c) { \
      const T *x = (const T *)from + c * stride; \
      double sum = 0; \
      for (int i = 0; i < t->count; ++i) sum += t->weight[i] * (double)LD(x[t->offset[i]]); \
      ((T *)to)[c * to_stride] = ST(sum); \
    } \
  }
static inline double element_f16(f16 x) { return f16_to_f32(x); }
static inline double element_bf16(bf16 x) { return bf16_to_f32(x); }
SAMPLER(f32, float, , (float))
SAMPLER(f64, double, , )
SAMPLER(f16, f16, element_f16, f64_to_f16)
SAMPLER(bf16, bf16, element_bf16, f64_to_bf16)

typedef void (*sampler)(const void *from, int64_t stride, void *to, int64_t to_stride, int64_t channels, const taps *t);

static sampler sampler_for(dtype type) {
  return type == ORTC_FLOAT ? sample_f32 : type == ORTC_DOUBLE ? sample_f64 : type == ORTC_FLOAT16 ? sample_f16 : sample_bf16;
}

static double real_at(const tensor *t, int64_t i) {
  switch (t->type) {
    case ORTC_FLOAT: return ((const float *)t->data)[i];
    case ORTC_DOUBLE: return ((const double *)t->data)[i];
    case ORTC_FLOAT16: return f16_to_f32(((const f16 *)t->data)[i]);
    default: return bf16_to_f32(((const bf16 *)t->data)[i]);
  }
}

typedef struct sample_job {
  const sample_params *params;
  const tensor *x, *grid;
  tensor *out;
  sampler sample;
  int axes;
  int64_t image, places;                                   /* elements of one channel of the input and of the output */
} sample_job;

static void sample_range(void *context, int64_t begin, int64_t end) {
  const sample_job *j = context;
  int64_t channels = j->x->dims[1], width = tensor_width(j->x);
  for (int64_t i = begin; i < end; ++i) {
    int64_t sample = i / j->places, place = i % j->places;
    double at[MAX_AXES];
    taps t;
    for (int a = 0; a < j->axes; ++a) at[a] = real_at(j->grid, i * j->axes + a);
    taps_at(j->params, j->axes, j->x->dims + 2, at, &t);
    j->sample((const char *)j->x->data + sample * channels * j->image * width, j->image,
              (char *)j->out->data + (sample * channels * j->places + place) * width, j->places,
              channels, &t);
  }
}

static status sample_run(kernel_ctx *k) {
  const tensor *x = k->in[0], *grid = k->in[1];
  sample_job j = {.params = k->params, .x = x, .grid = grid, .axes = x->rank - 2, .sample = sampler_for(x->type)};
  char a[DIMS_TEXT], b[DIMS_TEXT];
  if (j.axes < 1 || j.axes > MAX_AXES)
    return ERROR(INVALID_ARGUMENT, "'X' must have rank 3 to 5 (batch, channels and 1 to 3 axes of an image), but has rank %d", x->rank);
  if (grid->rank != x->rank || grid->dims[0] != x->dims[0] || grid->dims[grid->rank - 1] != j.axes)
    return ERROR(INVALID_ARGUMENT, "'grid' of shape %s does not fit 'X' of shape %s: it must be the batch, the axes of the result, and %d "
                                   "coordinates",
                 dims_format(a, sizeof a, grid->rank, grid->dims), dims_format(b, sizeof b, x->rank, x->dims), j.axes);
  int64_t dims[MAX_RANK] = {x->dims[0], x->dims[1]};
  for (int d = 0; d < j.axes; ++d) dims[2 + d] = grid->dims[1 + d];
  TRY(kernel_output(k, 0, x->rank, dims, &j.out));
  if (!j.out || j.out->count == 0) return OK;
  j.image = dims_product(x->dims, 2, x->rank);
  j.places = dims_product(dims, 2, x->rank);
  if (j.image == 0)
    return ERROR(INVALID_ARGUMENT, "'X' of shape %s has an image without elements", dims_format(b, sizeof b, x->rank, x->dims));
  parallel_for(k->threads, dims[0] * j.places, 1 + 2048 / (1 + dims[1]), sample_range, &j);
  return OK;
}

/* ---- AffineGrid ---- */

static status affine_infer(infer_ctx *c) {
  integers size;
  if (!integers_from_fact(c->in[1], &size)) {
    int64_t n = integers_count(c->in[1]);
    if (n == 4 || n == 5) fact_set_rank(c->out[0], (int)n);
    return OK;
  }
  if (size.count != 4 && size.count != 5)
    return ERROR(INVALID_ARGUMENT, "'size' must be [N,C,H,W] or [N,C,D,H,W], but has %d entries", size.count);
  dim dims[5] = {size.at[0]};
  for (int d = 2; d < size.count; ++d) dims[d - 1] = size.at[d];
  dims[size.count - 1] = size.count - 2;
  fact_set_shape(c->out[0], size.count, dims);
  return OK;
}

static status affine_prepare(prepare_ctx *c, void **out_params) {
  bool *align_corners = ZONE_NEW(c->memory, bool);
  if (!align_corners) return status_out_of_memory();
  *align_corners = attr_int_or(c->node, "align_corners", 0) != 0;
  *out_params = align_corners;
  return OK;
}

static void real_put(tensor *t, int64_t i, double x) {
  switch (t->type) {
    case ORTC_FLOAT: ((float *)t->data)[i] = (float)x; break;
    case ORTC_DOUBLE: ((double *)t->data)[i] = x; break;
    case ORTC_FLOAT16: ((f16 *)t->data)[i] = f64_to_f16(x); break;
    default: ((bf16 *)t->data)[i] = f64_to_bf16(x);
  }
}

static status affine_run(kernel_ctx *k) {
  const tensor *theta = k->in[0];
  bool align_corners = *(const bool *)k->params;
  integers size;
  char text[DIMS_TEXT];
  TRY(integers_from_tensor(k->in[1], "size", &size));
  int axes = size.count - 2;
  if (axes != 2 && axes != 3) return ERROR(INVALID_ARGUMENT, "'size' must be [N,C,H,W] or [N,C,D,H,W], but has %d entries", size.count);
  if (theta->rank != 3 || theta->dims[0] != size.at[0] || theta->dims[1] != axes || theta->dims[2] != axes + 1)
    return ERROR(INVALID_ARGUMENT, "'theta' of shape %s does not fit 'size': it must be [%" PRId64 ",%d,%d]",
                 dims_format(text, sizeof text, theta->rank, theta->dims), size.at[0], axes, axes + 1);
  int64_t dims[5] = {size.at[0], 0, 0, 0, 0}, index[3] = {0};
  for (int d = 0; d < axes; ++d) dims[1 + d] = size.at[2 + d];
  dims[1 + axes] = axes;
  tensor *out;
  TRY(kernel_output(k, 0, size.count, dims, &out));
  if (!out || out->count == 0) return OK;
  int64_t places = dims_product(dims, 1, 1 + axes);
  for (int64_t i = 0; i < dims[0] * places; ++i) {
    double at[4] = {0, 0, 0, 0};
    for (int d = 0; d < axes; ++d) {                       /* x first, as the grid has it */
      double n = (double)dims[1 + d], where = (double)index[d];
      at[axes - 1 - d] = align_corners ? (n > 1 ? -1 + 2 * where / (n - 1) : -1) : (2 * where + 1) / n - 1;
    }
    at[axes] = 1;
    for (int row = 0; row < axes; ++row) {
      double sum = 0;
      for (int c = 0; c <= axes; ++c) sum += real_at(theta, (i / places * axes + row) * (axes + 1) + c) * at[c];
      real_put(out, i * axes + row, sum);
    }
    for (int d = axes - 1; d >= 0 && ++index[d] == dims[1 + d]; --d) index[d] = 0;
  }
  return OK;
}

#define GRID_SAMPLE .signature = "X:T1 grid:T2 -> Y:T1", .T1 = TS_FLOAT, .T2 = TS_FLOAT, .infer = sample_infer, \
  .prepare = sample_prepare, .run = sample_run

OP_FAMILY(gridsample) = {
  {.name = "GridSample", .since = 16, GRID_SAMPLE},
  {.name = "GridSample", .since = 20, GRID_SAMPLE},
  {.name = "GridSample", .domain = "com.microsoft", .since = 1, GRID_SAMPLE},
  {.name = "AffineGrid", .since = 20, .signature = "theta:T size:i64 -> grid:T", .T = TS_FLOAT, .infer = affine_infer,
   .prepare = affine_prepare, .run = affine_run},
  {0}};
