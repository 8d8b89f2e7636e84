/* MaxUnpool puts elements back where MaxPool found them; MaxRoiPool takes maxima over boxes. */
#include "window_read.h"

#include <ortcore/base/half.h>
#include <math.h>
#include <string.h>

/* ---- MaxUnpool ---------------------------------------------------------------------------------------------------- */

static status unpool_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  dim dims[2 + SPATIAL];
  int rank;
  TRY(window_spatial_rank(x, "X", &rank));
  if (rank == 0 || !c->out[0]) return OK;
  TRY(window_unpool(c->node, x->rank, x->dims, dims));
  if (c->in_count > 2 && c->in[2]) {
    int64_t given[MAX_RANK];
    int64_t count = fact_integers(c->in[2], given, MAX_RANK);
    for (int i = 0; i < x->rank; ++i) dims[i] = count == x->rank ? given[i] : DIM_UNKNOWN;
  }
  fact_set_shape(c->out[0], x->rank, dims);
  return OK;
}

static status unpool_run(kernel_ctx *k) {
  const tensor *x = k->in[0], *index = k->in[1], *wanted = k->in_count > 2 ? k->in[2] : NULL;
  int64_t dims[2 + SPATIAL], out_dims[2 + SPATIAL];
  TRY(window_unpool(k->node, x->rank, x->dims, dims));
  memcpy(out_dims, dims, sizeof dims);
  if (!dims_equal(x->rank, x->dims, index->rank, index->dims)) return ERROR(INVALID_ARGUMENT, "inputs 'X' and 'I' must have equal shapes");
  if (wanted && wanted->count != x->rank)
    return ERROR(INVALID_ARGUMENT, "input 'output_shape' has %lld elements; 'X' has rank %d", (long long)wanted->count, x->rank);
  for (int i = 0; wanted && i < x->rank; ++i) memcpy(&out_dims[i], (const char *)wanted->data + (size_t)i * 8, 8);
  tensor *y;
  TRY(kernel_output(k, 0, x->rank, out_dims, &y));
  if (!y) return OK;
  memset(y->data ? y->data : "", 0, y->data ? tensor_bytes(y) : 0);
  size_t width = (size_t)tensor_width(x);
  int64_t size = dims_product(dims, 0, x->rank);
  /* Indices count in the image that the attributes describe; a larger output has the same coordinates. */
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t place, to = 0, stride = 1;
    memcpy(&place, (const char *)index->data + (size_t)i * 8, 8);
    if (place < 0 || place >= size)
      return ERROR(INVALID_ARGUMENT, "input 'I' holds %lld; the unpooled image has %lld elements", (long long)place, (long long)size);
    bool inside = true;
    for (int d = x->rank - 1; d >= 0; --d) {
      int64_t at = place % dims[d];
      place /= dims[d];
      inside = inside && at < out_dims[d];
      to += at * stride;
      stride *= out_dims[d];
    }
    if (inside) memcpy((char *)y->data + (size_t)to * width, (const char *)x->data + (size_t)i * width, width);
  }
  return OK;
}

/* ---- MaxRoiPool --------------------------------------------------------------------------------------------------- */

static status roi_infer(infer_ctx *c) {
  const fact *x = c->in[0], *rois = c->in[1];
  int64_t count;
  const int64_t *pooled = attr_ints(c->node, "pooled_shape", &count);
  if (!pooled || count != 2 || pooled[0] < 1 || pooled[1] < 1)
    return ERROR(INVALID_ARGUMENT, "attribute 'pooled_shape' must be two positive numbers");
  if (x->rank != RANK_UNKNOWN && x->rank != 4) return ERROR(INVALID_ARGUMENT, "input 'X' has rank %d; it must be [N, C, H, W]", x->rank);
  if (rois->rank != RANK_UNKNOWN && (rois->rank != 2 || (dim_known(rois->dims[1]) && rois->dims[1] != 5)))
    return ERROR(INVALID_ARGUMENT, "input 'rois' must be [boxes, 5]");
  dim dims[4] = {rois->rank == RANK_UNKNOWN ? DIM_UNKNOWN : rois->dims[0], x->rank == RANK_UNKNOWN ? DIM_UNKNOWN : x->dims[1], pooled[0], pooled[1]};
  if (c->out[0]) fact_set_shape(c->out[0], 4, dims);
  return OK;
}

static double element(const tensor *t, int64_t i) {
  switch (t->type) {
    case ORTC_FLOAT16: return f16_to_f32(((const f16 *)t->data)[i]);
    case ORTC_BFLOAT16: return bf16_to_f32(((const bf16 *)t->data)[i]);
    case ORTC_DOUBLE: return ((const double *)t->data)[i];
    default: return ((const float *)t->data)[i];
  }
}

/* [begin, end) of bin i of n over a side of `length` pixels from `start`, clipped to the image. */
static void bin(int64_t start, int64_t length, int64_t i, int64_t n, int64_t limit, int64_t *begin, int64_t *end) {
  double size = (double)length / (double)n;
  *begin = start + (int64_t)floor((double)i * size), *end = start + (int64_t)ceil((double)(i + 1) * size);
  *begin = *begin < 0 ? 0 : *begin > limit ? limit : *begin;
  *end = *end < 0 ? 0 : *end > limit ? limit : *end;
}

static status roi_run(kernel_ctx *k) {
  const tensor *x = k->in[0], *rois = k->in[1];
  int64_t count;
  const int64_t *pooled = attr_ints(k->node, "pooled_shape", &count);
  double scale = attr_float_or(k->node, "spatial_scale", 1);
  int64_t channels = x->dims[1], height = x->dims[2], width = x->dims[3];
  tensor *y;
  TRY(kernel_output(k, 0, 4, (int64_t[]){rois->dims[0], channels, pooled[0], pooled[1]}, &y));
  if (!y || y->count == 0) return OK;
  size_t bytes = (size_t)tensor_width(x);
  for (int64_t i = 0; i < y->count; ++i) {
    int64_t pw = i % pooled[1], ph = i / pooled[1] % pooled[0], c = i / (pooled[0] * pooled[1]) % channels,
        roi = i / (pooled[0] * pooled[1] * channels);
    double box[5];
    for (int j = 0; j < 5; ++j) {
      box[j] = j ? round(element(rois, roi * 5 + j) * scale) : element(rois, roi * 5);
      if (!(fabs(box[j]) < 1e9)) return ERROR(INVALID_ARGUMENT, "box %lld of input 'rois' holds %g", (long long)roi, box[j]);
    }
    int64_t image = (int64_t)box[0], left = (int64_t)box[1], top = (int64_t)box[2], w0, w1, h0, h1;
    if (image < 0 || image >= x->dims[0])
      return ERROR(INVALID_ARGUMENT, "box %lld of input 'rois' names image %lld; there are %lld", (long long)roi, (long long)image,
                   (long long)x->dims[0]);
    int64_t box_width = (int64_t)box[3] - left + 1, box_height = (int64_t)box[4] - top + 1;
    bin(left, box_width < 1 ? 1 : box_width, pw, pooled[1], width, &w0, &w1);
    bin(top, box_height < 1 ? 1 : box_height, ph, pooled[0], height, &h0, &h1);
    int64_t best = -1;
    for (int64_t h = h0; h < h1; ++h)
      for (int64_t w = w0; w < w1; ++w) {
        int64_t at = ((image * channels + c) * height + h) * width + w;
        if (best < 0 || !(element(x, at) <= element(x, best))) best = at;
      }
    /* An empty bin is zero. */
    if (best < 0) memset((char *)y->data + (size_t)i * bytes, 0, bytes);
    else memcpy((char *)y->data + (size_t)i * bytes, (const char *)x->data + (size_t)best * bytes, bytes);
  }
  return OK;
}

OP_FAMILY(unpool) = {
  {.name = "MaxUnpool", .since = 9, .signature = "X:T I:i64 output_shape:i64? -> output:T", .T = TS_FLOAT, .infer = unpool_infer, .run = unpool_run},
  {.name = "MaxRoiPool", .since = 1, .signature = "X:T rois:T -> Y:T", .T = TS_FLOAT, .infer = roi_infer, .run = roi_run},
  {0}};
