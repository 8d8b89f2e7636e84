/* DeformConv: each tap of the window reads where an offset says, between pixels if need be, times a mask. The samples of one image become the
 * columns of a matrix product. Two spatial dims. */
#include "conv.h"

#include <ortcore/base/half.h>
#include <ortcore/base/mem.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/epilogue.h>
#include <math.h>

typedef struct deform {
  const tensor *x, *offset, *mask;
  const conv_shape *s;
  int64_t offset_groups, image;
  char *columns;                                            /* [group, channel of the group, tap, position], f32, or f64 for doubles */
} deform;

static status deform_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  if (x->rank != RANK_UNKNOWN && x->rank != 4)
    return ERROR(NOT_IMPLEMENTED, "input 'X' has rank %d; DeformConv is implemented for [N, C, H, W]", x->rank);
  return conv_infer_shape(c->node, x, c->in[1], false, c->out[0]);
}

static double load(const tensor *t, int64_t i) {
  switch (t->type) {
    case ORTC_FLOAT16: return f16_to_f32(((const f16 *)t->data)[i]);
    case ORTC_BFLOAT16: return bf16_to_f32(((const bf16 *)t->data)[i]);
    case ORTC_DOUBLE: return ((const double *)t->data)[i];
    default: return ((const float *)t->data)[i];
  }
}

static double pixel(const tensor *x, int64_t plane, int64_t h, int64_t w) {
  int64_t height = x->dims[2], width = x->dims[3];
  return h < 0 || h >= height || w < 0 || w >= width ? 0 : load(x, (plane * height + h) * width + w);
}

static double sample(const tensor *x, int64_t plane, double h, double w) {
  if (!(h > -1 && h < (double)x->dims[2] && w > -1 && w < (double)x->dims[3])) return 0;
  int64_t top = (int64_t)floor(h), left = (int64_t)floor(w);
  double fh = h - (double)top, fw = w - (double)left;
  return (1 - fh) * ((1 - fw) * pixel(x, plane, top, left) + fw * pixel(x, plane, top, left + 1)) +
         fh * ((1 - fw) * pixel(x, plane, top + 1, left) + fw * pixel(x, plane, top + 1, left + 1));
}

/* Rows of the columns matrix: one a channel and tap. */
static void fill_rows(void *context, int64_t begin, int64_t end) {
  const deform *d = context;
  const window *w = &d->s->w;
  int64_t channels = d->x->dims[1], taps = window_taps(w), positions = window_out(w);
  for (int64_t row = begin; row < end; ++row) {
    int64_t channel = row / taps, tap = row % taps, kh = tap / w->kernel[2], kw = tap % w->kernel[2];
    int64_t group = channel / (channels / d->offset_groups), at = (d->image * d->offset_groups + group) * taps + tap;
    for (int64_t p = 0; p < positions; ++p) {
      int64_t oh = p / w->out[2], ow = p % w->out[2];
      double h = (double)(oh * w->stride[1] - w->begin[1] + kh * w->dilation[1]) + load(d->offset, (2 * at) * positions + p);
      double x = (double)(ow * w->stride[2] - w->begin[2] + kw * w->dilation[2]) + load(d->offset, (2 * at + 1) * positions + p);
      double value = sample(d->x, d->image * channels + channel, h, x);
      if (d->mask) value *= load(d->mask, at * positions + p);
      if (d->x->type == ORTC_DOUBLE) ((double *)d->columns)[row * positions + p] = value;
      else ((float *)d->columns)[row * positions + p] = (float)value;
    }
  }
}

static status check_inputs(const kernel_ctx *k, const deform *d) {
  const tensor *x = d->x;
  const window *w = &d->s->w;
  int64_t taps = window_taps(w), places = d->offset_groups * taps;
  char given[DIMS_TEXT], expected[DIMS_TEXT];
  int64_t offset_dims[4] = {x->dims[0], 2 * places, w->out[1], w->out[2]}, mask_dims[4] = {x->dims[0], places, w->out[1], w->out[2]};
  if (d->offset_groups < 1 || x->dims[1] % d->offset_groups)
    return ERROR(INVALID_ARGUMENT, "attribute 'offset_group' is %lld; it must divide the %lld channels", (long long)d->offset_groups,
                 (long long)x->dims[1]);
  if (!dims_equal(d->offset->rank, d->offset->dims, 4, offset_dims))
    return ERROR(INVALID_ARGUMENT, "input 'offset' has shape %s; it must be %s", dims_format(given, sizeof given, d->offset->rank,
        d->offset->dims), dims_format(expected, sizeof expected, 4, offset_dims));
  if (d->mask && !dims_equal(d->mask->rank, d->mask->dims, 4, mask_dims))
    return ERROR(INVALID_ARGUMENT, "input 'mask' has shape %s; it must be %s", dims_format(given, sizeof given, d->mask->rank, d->mask->dims),
                 dims_format(expected, sizeof expected, 4, mask_dims));
  return conv_check_bias(k->in_count > 3 ? k->in[3] : NULL, d->s);
}

static void deform_dispose_spec(void *spec) {
  conv_shape_deinit(spec);
  mem_free(spec);
}

static status deform_specialise(specialise_ctx *c, void **out_spec) {
  conv_shape *s = MEM_NEW(conv_shape);
  if (!s) return status_out_of_memory();
  status failure = conv_shape_init(s, c->node, c->in[0], c->in[1], false);
  if (failure) {
    deform_dispose_spec(s);
    return failure;
  }
  *out_spec = s;
  return OK;
}

static status deform_run(kernel_ctx *k) {
  const tensor *x = k->in[0], *weights = k->in[1], *bias = k->in_count > 3 ? k->in[3] : NULL;
  const conv_shape *s = k->spec;
  deform d = {x, k->in[2], k->in_count > 4 ? k->in[4] : NULL, s, attr_int_or(k->node, "offset_group", 1), 0, NULL};
  int64_t depth = s->ins * window_taps(&s->w), positions = window_out(&s->w);
  dtype sums = x->type == ORTC_DOUBLE ? ORTC_DOUBLE : ORTC_FLOAT;
  void *columns, *scratch;
  tensor *y;
  TRY(check_inputs(k, &d));
  TRY(kernel_output(k, 0, 4, s->out_dims, &y));
  if (!y || y->count == 0) return OK;
  TRY(kernel_scratch(k, (size_t)(s->groups * depth * positions) * (size_t)dtype_width(sums) + 64, &columns));
  TRY(kernel_scratch(k, gemm_scratch_bytes(gemm_acc_of(sums), k->threads, s->outs, positions, depth), &scratch));
  d.columns = columns;
  for (d.image = 0; d.image < s->images; ++d.image) {
    parallel_for(k->threads, s->groups * depth, 1 + 2000 / (positions + 1), fill_rows, &d);
    for (int64_t g = 0; g < s->groups; ++g) {
      gemm_matrix a, b;
      epilogue end;
      int64_t first = g * s->outs, width = dtype_width(x->type);
      gemm_matrix_init(&a, weights->type);
      gemm_matrix_init(&b, sums);
      epilogue_init(&end, x->type);
      a.data = (const char *)weights->data + first * depth * width, a.outer_stride = depth, a.inner_stride = 1;
      b.data = d.columns + g * depth * positions * dtype_width(sums), b.outer_stride = 1, b.inner_stride = positions;
      end.out = (char *)y->data + (d.image * s->out_dims[1] + first) * positions * width, end.row_stride = positions;
      end.bias = bias ? (const char *)bias->data + first * width : NULL, end.bias_row_stride = 1;
      gemm_problem problem = {gemm_acc_of(sums), 1, s->outs, positions, depth, &a.side, &b.side, &end.sink};
      gemm_run(&problem, k->threads, scratch);
    }
  }
  return OK;
}

OP_FAMILY(deform_conv) = {
  {.name = "DeformConv", .since = 19, .signature = "X:T W:T offset:T B:T? mask:T? -> Y:T", .T = TS_FLOAT, .infer = deform_infer,
   .specialise = deform_specialise,
   .dispose_spec = deform_dispose_spec, .run = deform_run},
  {0}};
