/* RoiAlign: regions of an image, sampled between its elements and pooled to one size. */
#include <math.h>
#include <ortcore/base/threads.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/movement.h>

typedef struct roi_params { bool max, half_pixel; int64_t height, width, ratio; double scale; } roi_params;

static status roi_prepare(prepare_ctx *c, void **out_params) {
  roi_params *p = *out_params = ZONE_NEW(c->memory, roi_params);
  if (!p) return status_out_of_memory();
  text mode = attr_string_or(c->node, "mode", "avg"), coordinates = attr_string_or(c->node, "coordinate_transformation_mode", c->op->since < 16 ? "output_half_pixel" : "half_pixel");
  p->max = !strcmp(mode.data, "max");
  p->half_pixel = !strcmp(coordinates.data, "half_pixel");
  p->height = attr_int_or(c->node, "output_height", 1);
  p->width = attr_int_or(c->node, "output_width", 1);
  p->ratio = attr_int_or(c->node, "sampling_ratio", 0);
  p->scale = attr_float_or(c->node, "spatial_scale", 1);
  if (!p->max && strcmp(mode.data, "avg")) return ERROR(INVALID_ARGUMENT, "attribute 'mode' is '%s', expected avg or max", mode.data);
  if (!p->half_pixel && strcmp(coordinates.data, "output_half_pixel"))
    return ERROR(INVALID_ARGUMENT, "attribute 'coordinate_transformation_mode' is '%s', expected half_pixel or output_half_pixel", coordinates.data);
  if (p->height < 1 || p->width < 1 || p->ratio < 0 || p->ratio > 1 << 16)
    return ERROR(INVALID_ARGUMENT, "output_height %lld, output_width %lld and sampling_ratio %lld must be positive", (long long)p->height, (long long)p->width, (long long)p->ratio);
  return OK;
}

static status roi_infer(infer_ctx *c) {
  const fact *x = c->in[0], *rois = c->in[1];
  fact_set_shape(c->out[0], 4, (dim[]){rois->rank == 2 ? rois->dims[0] : DIM_UNKNOWN, x->rank == 4 ? x->dims[1] : DIM_UNKNOWN, attr_int_or(c->node, "output_height", 1),
                                       attr_int_or(c->node, "output_width", 1)});
  return OK;
}

/* Where a sample lies: four elements and their weights. All weights are 0 outside of the image. */
typedef struct sample { int64_t at[4]; double weight[4]; } sample;

static sample find_sample(double y, double x, int64_t height, int64_t width) {
  sample s = {{0}, {0}};
  if (!(y >= -1 && y <= (double)height && x >= -1 && x <= (double)width)) return s;
  y = y < 0 ? 0 : y;
  x = x < 0 ? 0 : x;
  int64_t y0 = (int64_t)y, x0 = (int64_t)x;
  if (y0 >= height - 1) y = (double)(y0 = height - 1);
  if (x0 >= width - 1) x = (double)(x0 = width - 1);
  int64_t y1 = y0 + (y0 < height - 1), x1 = x0 + (x0 < width - 1);
  double down = y - (double)y0, right = x - (double)x0;
  return (sample){{y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1},
                  {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right}};
}

typedef struct roi_work { const roi_params *p; const tensor *x, *rois; const int64_t *batch; tensor *y; } roi_work;

static double number(const tensor *t, int64_t i) { return t->type == ORTC_DOUBLE ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i]; }

/* The pooled value of one cell of one channel. `max` takes the largest weighted element, as the operator's first implementation did. */
static double pool(const roi_work *w, int64_t plane, double y0, double x0, double cell_h, double cell_w, int64_t rows, int64_t columns) {
  int64_t height = w->x->dims[2], width = w->x->dims[3];
  double sum = 0, most = -INFINITY;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      sample s = find_sample(y0 + ((double)i + 0.5) * cell_h / (double)rows, x0 + ((double)j + 0.5) * cell_w / (double)columns, height, width);
      for (int t = 0; t < 4; ++t) {
        double v = s.weight[t] * number(w->x, plane + s.at[t]);
        sum += v;
        most = v > most ? v : most;
      }
    }
  if (rows * columns == 0) return 0;
  return w->p->max ? most : sum / (double)(rows * columns);
}

static int64_t samples(const roi_params *p, double size, int64_t cells) {
  double n = p->ratio ? (double)p->ratio : ceil(size / (double)cells);
  return n > 0 ? (n < 1 << 20 ? (int64_t)n : 1 << 20) : 0;
}

static void roi_range(void *context, int64_t begin, int64_t end) {
  const roi_work *w = context;
  const roi_params *p = w->p;
  int64_t channels = w->x->dims[1], area = w->x->dims[2] * w->x->dims[3], cells = p->height * p->width;
  for (int64_t task = begin; task < end; ++task) {
    int64_t r = task / channels, c = task % channels, plane = (w->batch[r] * channels + c) * area;
    double offset = p->half_pixel ? 0.5 : 0, corner[4];
    for (int i = 0; i < 4; ++i) corner[i] = number(w->rois, r * 4 + i) * p->scale - offset;
    double width = corner[2] - corner[0], height = corner[3] - corner[1];
    if (!p->half_pixel) {
      width = width > 1 ? width : 1;
      height = height > 1 ? height : 1;
    }
    double cell_h = height / (double)p->height, cell_w = width / (double)p->width;
    int64_t rows = samples(p, height, p->height), columns = samples(p, width, p->width);
    for (int64_t i = 0; i < cells; ++i) {
      double v = pool(w, plane, corner[1] + (double)(i / p->width) * cell_h, corner[0] + (double)(i % p->width) * cell_w, cell_h, cell_w, rows, columns);
      if (w->y->type == ORTC_DOUBLE) ((double *)w->y->data)[task * cells + i] = v;
      else ((float *)w->y->data)[task * cells + i] = (float)v;
    }
  }
}

static status roi_run(kernel_ctx *k) {
  const roi_params *p = k->params;
  tensor copies[2], out_copy, *out;
  roi_work w = {.p = p, .batch = k->in[2]->data};
  TRY(float_input(k, 0, &copies[0], &w.x));
  TRY(float_input(k, 1, &copies[1], &w.rois));
  if (w.x->rank != 4) return ERROR(INVALID_ARGUMENT, "input 'X' has rank %d, expected 4 (N, C, H, W)", w.x->rank);
  if (w.rois->rank != 2 || w.rois->dims[1] != 4 || k->in[2]->count != w.rois->dims[0])
    return ERROR(INVALID_ARGUMENT, "input 'rois' must have shape [regions, 4], and 'batch_indices' an element for each region");
  for (int64_t r = 0; r < w.rois->dims[0]; ++r)
    if (w.batch[r] < 0 || w.batch[r] >= w.x->dims[0])
      return ERROR(INVALID_ARGUMENT, "input 'batch_indices' has %lld at %lld, but 'X' has %lld images", (long long)w.batch[r], (long long)r, (long long)w.x->dims[0]);
  TRY(kernel_output(k, 0, 4, (int64_t[]){w.rois->dims[0], w.x->dims[1], p->height, p->width}, &out));
  TRY(float_output(k, out, &out_copy, &w.y));
  if (!out || !out->count) return OK;
  if (!w.x->count) return ERROR(INVALID_ARGUMENT, "input 'X' has no elements");
  parallel_for(k->threads, w.rois->dims[0] * w.x->dims[1], 1, roi_range, &w);
  float_finish(out, w.y);
  return OK;
}

#define ROI_ALIGN(since_version) \
  {.name = "RoiAlign", .since = since_version, .signature = "X:T rois:T batch_indices:i64 -> Y:T", .T = TS_FLOAT, .infer = roi_infer, .prepare = roi_prepare, .run = roi_run}

OP_FAMILY(roialign) = {
  ROI_ALIGN(10),
  ROI_ALIGN(16),
  {0}};
