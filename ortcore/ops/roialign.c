/* RoiAlign: regions of an image, sampled between its elements and pooled to one size. */
#include <math.h>
#include <ortcore/base/threads.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/roialign.h>

enum { GRAIN = 512 };                                      /* cells that one thread does at least */

static status roi_prepare(prepare_ctx *c, void **out_params) {
  roi_params *p = *out_params = ZONE_NEW(c->memory, roi_params);
  if (!p) return status_out_of_memory();
  text mode = attr_string_or(c->node, "mode", "avg");
  text coordinates = attr_string_or(c->node, "coordinate_transformation_mode", c->op->since < 16 ? "output_half_pixel" : "half_pixel");
  p->max = !strcmp(mode.data, "max");
  p->half_pixel = !strcmp(coordinates.data, "half_pixel");
  p->height = attr_int_or(c->node, "output_height", 1);
  p->width = attr_int_or(c->node, "output_width", 1);
  p->ratio = attr_int_or(c->node, "sampling_ratio", 0);
  p->scale = attr_float_or(c->node, "spatial_scale", 1);
  if (!p->max && strcmp(mode.data, "avg")) return ERROR(INVALID_ARGUMENT, "attribute 'mode' is '%s', expected avg or max", mode.data);
  if (!p->half_pixel && strcmp(coordinates.data, "output_half_pixel"))
    return ERROR(INVALID_ARGUMENT, "attribute 'coordinate_transformation_mode' is '%s', expected half_pixel or output_half_pixel", coordinates.data);
  if (p->height < 1 || p->width < 1 || p->ratio < 0 || p->ratio > ROI_MOST_SAMPLES)
    return ERROR(INVALID_ARGUMENT, "output_height %lld and output_width %lld must be positive, and sampling_ratio %lld from 0 to %d",
                 (long long)p->height, (long long)p->width, (long long)p->ratio, ROI_MOST_SAMPLES);
  return OK;
}

static status roi_infer(infer_ctx *c) {
  const fact *x = c->in[0], *rois = c->in[1];
  fact_set_shape(c->out[0], 4, (dim[]){rois->rank == 2 ? rois->dims[0] : DIM_UNKNOWN, x->rank == 4 ? x->dims[1] : DIM_UNKNOWN, attr_int_or(c->node, "output_height", 1),
                                       attr_int_or(c->node, "output_width", 1)});
  return OK;
}

/* A sample lies between two elements of each axis. Outside of the image both weights are 0. */
typedef struct axis_tap { int64_t at[2]; double weight[2]; } axis_tap;

static axis_tap find_tap(double x, int64_t n) {
  if (!(x >= -1 && x <= (double)n)) return (axis_tap){{0}, {0}};
  x = x < 0 ? 0 : x;
  int64_t first = (int64_t)x;
  if (first >= n - 1) return (axis_tap){{n - 1, n - 1}, {1, 0}};
  return (axis_tap){{first, first + 1}, {1 - (x - (double)first), x - (double)first}};
}

/* One region: its taps are those of all cells along each axis, `rows` or `columns` to a cell. */
typedef struct region { double y, x, cell_height, cell_width; int64_t rows, columns; axis_tap *y_taps, *x_taps; } region;

typedef struct roi_work { const roi_params *p; const tensor *x; const int64_t *batch; tensor *y; region *regions; } roi_work;

static double number(const tensor *t, int64_t i) { return t->type == ORTC_DOUBLE ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i]; }
/* Sizes are computed in the input's precision: whether a size is a whole number decides how many samples there are. */
static double rounded(const tensor *t, double v) { return t->type == ORTC_DOUBLE ? v : (double)(float)v; }

static int64_t samples(const roi_params *p, double cell) {
  double n = p->ratio ? (double)p->ratio : ceil(cell);
  return n > 0 ? (n < ROI_MOST_SAMPLES ? (int64_t)n : ROI_MOST_SAMPLES + 1) : 0;
}

static status read_region(const roi_params *p, const tensor *rois, int64_t r, region *out) {
  double corner[4];
  for (int i = 0; i < 4; ++i) corner[i] = rounded(rois, rounded(rois, number(rois, r * 4 + i) * p->scale) - (p->half_pixel ? 0.5 : 0));
  double width = rounded(rois, corner[2] - corner[0]), height = rounded(rois, corner[3] - corner[1]);
  if (!p->half_pixel) {
    width = width > 1 ? width : 1;
    height = height > 1 ? height : 1;
  }
  *out = (region){.y = corner[1], .x = corner[0], .cell_height = rounded(rois, height / (double)p->height), .cell_width = rounded(rois, width / (double)p->width)};
  out->rows = samples(p, out->cell_height);
  out->columns = samples(p, out->cell_width);
  if (out->rows <= ROI_MOST_SAMPLES && out->columns <= ROI_MOST_SAMPLES) return OK;
  return ERROR(INVALID_ARGUMENT, "region %lld of 'rois' is %g high and %g wide, which makes more than %d samples a cell: set 'sampling_ratio', or see that 'spatial_scale' fits",
               (long long)r, height, width, ROI_MOST_SAMPLES);
}

static axis_tap *find_taps(axis_tap *to, double start, double cell, int64_t cells, int64_t each, int64_t n) {
  for (int64_t i = 0; i < cells * each; ++i) *to++ = find_tap(start + (double)(i / each) * cell + ((double)(i % each) + 0.5) * cell / (double)each, n);
  return to;
}

/* All regions with their taps, which serve every channel. */
static status find_regions(kernel_ctx *k, const tensor *rois, roi_work *w) {
  const roi_params *p = w->p;
  int64_t count = rois->dims[0], taps = 0;
  void *regions, *memory;
  TRY(kernel_scratch(k, (size_t)count * sizeof(region), &regions));
  w->regions = regions;
  for (int64_t r = 0; r < count; ++r) {
    region *at = &w->regions[r];
    TRY(read_region(p, rois, r, at));
    taps += p->height * at->rows + p->width * at->columns;
    if (taps > INT32_MAX)
      return ERROR(INVALID_ARGUMENT, "the regions take more than %d samples along their sides: set 'sampling_ratio', or see that 'spatial_scale' fits", INT32_MAX);
  }
  TRY(kernel_scratch(k, (size_t)taps * sizeof(axis_tap), &memory));
  axis_tap *next = memory;
  for (int64_t r = 0; r < count; ++r) {
    region *at = &w->regions[r];
    at->y_taps = next;
    at->x_taps = next = find_taps(next, at->y, at->cell_height, p->height, at->rows, w->x->dims[2]);
    next = find_taps(next, at->x, at->cell_width, p->width, at->columns, w->x->dims[3]);
  }
  return OK;
}

/* The value of one cell of one channel. `max` takes the largest weighted element, as the operator's first implementation did. */
#define POOL(name, T) \
  static double pool_##name(const void *plane, int64_t width, const axis_tap *y, int64_t rows, const axis_tap *x, int64_t columns, bool max) { \
    int64_t count = rows * columns; \
    double sum = 0, most = count > 0 ? -INFINITY : 0; \
    for (int64_t i = 0; i < rows; ++i) { \
      const T *above = (const T *)plane + y[i].at[0] * width, *below = (const T *)plane + y[i].at[1] * width; \
      for (int64_t j = 0; j < columns; ++j) { \
        const double a = y[i].weight[0], b = y[i].weight[1], c = x[j].weight[0], d = x[j].weight[1]; \
        const double v[4] = {a * c * (double)above[x[j].at[0]], a * d * (double)above[x[j].at[1]], \
                             b * c * (double)below[x[j].at[0]], b * d * (double)below[x[j].at[1]]}; \
        sum += v[0] + v[1] + v[2] + v[3]; \
        for (int t = 0; max && t < 4; ++t) most = v[t] > most ? v[t] : most; \
      } \
    } \
    return max ? most : sum / (double)(count > 0 ? count : 1); \
  }
POOL(f32, float)
POOL(f64, double)

static void roi_range(void *context, int64_t begin, int64_t end) {
  const roi_work *w = context;
  const roi_params *p = w->p;
  int64_t channels = w->x->dims[1], height = w->x->dims[2], width = w->x->dims[3], cells = p->height * p->width, element = tensor_width(w->y);
  for (int64_t task = begin; task < end; ++task) {
    const region *r = &w->regions[task / channels];
    int64_t plane = (w->batch[task / channels] * channels + task % channels) * height * width;
    for (int64_t i = 0; i < cells; ++i) {
      const axis_tap *y = r->y_taps + i / p->width * r->rows, *x = r->x_taps + i % p->width * r->columns;
      void *to = (char *)w->y->data + (task * cells + i) * element;
      if (w->y->type == ORTC_DOUBLE) *(double *)to = pool_f64((const double *)w->x->data + plane, width, y, r->rows, x, r->columns, p->max);
      else *(float *)to = (float)pool_f32((const float *)w->x->data + plane, width, y, r->rows, x, r->columns, p->max);
    }
  }
}

static status roi_run(kernel_ctx *k) {
  const roi_params *p = k->params;
  tensor copies[2], out_copy, *out;
  const tensor *rois;
  roi_work w = {.p = p, .batch = k->in[2]->data};
  TRY(float_input(k, 0, &copies[0], &w.x));
  TRY(float_input(k, 1, &copies[1], &rois));
  if (w.x->rank != 4) return ERROR(INVALID_ARGUMENT, "input 'X' has rank %d, expected 4 (N, C, H, W)", w.x->rank);
  if (rois->rank != 2 || rois->dims[1] != 4 || k->in[2]->count != rois->dims[0])
    return ERROR(INVALID_ARGUMENT, "input 'rois' must have shape [regions, 4], and 'batch_indices' an element for each region");
  for (int64_t r = 0; r < rois->dims[0]; ++r)
    if (w.batch[r] < 0 || w.batch[r] >= w.x->dims[0])
      return ERROR(INVALID_ARGUMENT, "input 'batch_indices' has %lld at %lld, but 'X' has %lld images", (long long)w.batch[r], (long long)r, (long long)w.x->dims[0]);
  TRY(kernel_output(k, 0, 4, (int64_t[]){rois->dims[0], w.x->dims[1], p->height, p->width}, &out));
  TRY(float_output(k, out, &out_copy, &w.y));
  if (!out || !out->count) return OK;
  if (!w.x->count) return ERROR(INVALID_ARGUMENT, "input 'X' has no elements");
  TRY(find_regions(k, rois, &w));
  parallel_for(k->threads, rois->dims[0] * w.x->dims[1], 1 + GRAIN / (p->height * p->width), roi_range, &w);
  float_finish(out, w.y);
  return OK;
}

#define ROI_ALIGN(since_version) \
  {.name = "RoiAlign", .since = since_version, .signature = "X:T rois:T batch_indices:i64 -> Y:T", .T = TS_FLOAT, .infer = roi_infer, .prepare = roi_prepare, .run = roi_run}

OP_FAMILY(roialign) = {
  ROI_ALIGN(10),
  ROI_ALIGN(16),
  {0}};
