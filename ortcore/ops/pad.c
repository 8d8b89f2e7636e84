/* Pad and CenterCropPad: an axis grows at its ends, or shrinks where the pad is negative. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/checked.h>
#include <ortcore/base/half.h>
#include <ortcore/base/threads.h>

/* Pads below zero crop first, and what is left is padded. */
static status pad_axis_make(pad_mode mode, int axis, int64_t n, int64_t before, int64_t after, pad_axis *a) {
  bool fits = before >= -n && after >= -n;
  int64_t first = fits && before < 0 ? -before : 0, crop = fits && after < 0 ? -after : 0;
  if (!fits || crop > n - first)
    return ERROR(INVALID_ARGUMENT, "the pads %" PRId64 " and %" PRId64 " remove more than the %" PRId64 " elements of axis %d", before,
                 after, n, axis);
  *a = (pad_axis){before < 0 ? 0 : before, first, n - first - crop, 0};
  if (checked_add(a->n, a->before, &a->out) || checked_add(a->out, after < 0 ? 0 : after, &a->out))
    return ERROR(INVALID_ARGUMENT, "the pads %" PRId64 " and %" PRId64 " make axis %d too large", before, after, axis);
  if (mode != PAD_CONSTANT && a->n == 0 && a->out > 0)
    return ERROR(INVALID_ARGUMENT, "axis %d is empty, so there is nothing to pad it with except a constant (mode 'constant')", axis);
  return OK;
}

/* ---- The loops ---- */

typedef struct pad_job {
  pad_mode mode;
  int outer;                                               /* axes before the last one that changes, which is the one at `outer` */
  const pad_axis *axes;
  int64_t strides[MAX_RANK];                               /* of the input, in elements */
  int64_t block;                                           /* elements behind it, which move together */
  int64_t width;
  int bits;
  char *to;
  const char *from;
  const uint8_t *value;
} pad_job;

static void pad_fill(char *to, const pad_job *j, int64_t elements) {
  static const uint8_t zero[16];
  if (memcmp(j->value, zero, (size_t)j->width) == 0) {
    memset(to, 0, (size_t)(elements * j->width));
    return;
  }
  int64_t bytes = elements * j->width, done = j->width;
  if (bytes == 0) return;
  memcpy(to, j->value, (size_t)j->width);
  for (; done < bytes; done *= 2) memcpy(to + done, to, (size_t)(done < bytes - done ? done : bytes - done));
}

/* Where row `row` of the result comes from in the input, or -1 if all of it is the constant. */
static int64_t pad_row_source(const pad_job *j, int64_t row) {
  int64_t source = 0;
  for (int d = j->outer - 1; d >= 0; --d) {
    const pad_axis *a = &j->axes[d];
    int64_t i = pad_source(j->mode, row % a->out - a->before, a->n);
    if (i < 0) return -1;
    source += (a->first + i) * j->strides[d];
    row /= a->out;
  }
  return source;
}

static void pad_range(void *context, int64_t begin, int64_t end) {
  const pad_job *j = context;
  const pad_axis a = j->axes[j->outer];
  int64_t block = j->block * j->width;
  for (int64_t row = begin; row < end; ++row) {
    char *to = j->to + row * a.out * block;
    int64_t source = pad_row_source(j, row);
    if (source < 0) {
      pad_fill(to, j, a.out * j->block);
      continue;
    }
    const char *from = j->from + source * j->width + a.first * block;
    if (a.n) memcpy(to + a.before * block, from, (size_t)(a.n * block));
    if (j->mode == PAD_CONSTANT) {
      pad_fill(to, j, a.before * j->block);
      pad_fill(to + (a.before + a.n) * block, j, (a.out - a.before - a.n) * j->block);
    } else {
      for (int64_t i = 0; i < a.before; ++i) move_block(to + i * block, from + pad_source(j->mode, i - a.before, a.n) * block, block);
      for (int64_t i = a.before + a.n; i < a.out; ++i)
        move_block(to + i * block, from + pad_source(j->mode, i - a.before, a.n) * block, block);
    }
  }
}

/* Packed types: element by element, on one thread. */
static void pad_packed(const pad_job *j, int64_t rows) {
  const pad_axis a = j->axes[j->outer];
  for (int64_t row = 0, at = 0; row < rows; ++row) {
    int64_t source = pad_row_source(j, row);
    for (int64_t i = 0; i < a.out; ++i) {
      int64_t p = source < 0 ? -1 : pad_source(j->mode, i - a.before, a.n);
      for (int64_t b = 0; b < j->block; ++b, ++at)
        packed_put((uint8_t *)j->to, at, j->bits,
                   p < 0 ? packed_get(j->value, 0, j->bits) : packed_get((const uint8_t *)j->from, source + (a.first + p) * j->block + b, j->bits));
    }
  }
}

static status pad_run(kernel_ctx *k) {
  const pad_op *op = k->data;
  const tensor *data = k->in[0];
  pad_view v = {0};
  int64_t dims[MAX_RANK];
  tensor *out;
  TRY(op->view(k, &v));
  for (int d = 0; d < data->rank; ++d) dims[d] = v.axes[d].out;
  TRY(kernel_output(k, 0, data->rank, dims, &out));
  if (!out || out->count == 0) return OK;
  if (data->rank == 0) v.axes[0] = (pad_axis){0, 0, 1, 1};
  pad_job j = {.mode = v.mode, .outer = data->rank ? data->rank - 1 : 0, .axes = v.axes, .width = tensor_width(data), .bits = dtype_bits(data->type),
               .to = out->data, .from = data->data, .value = v.value};
  dense_strides(data->rank, data->dims, j.strides);
  while (j.outer > 0 && j.axes[j.outer].out == data->dims[j.outer] && j.axes[j.outer].n == data->dims[j.outer]) --j.outer;
  j.block = dims_product(dims, j.outer + 1, data->rank);
  int64_t rows = dims_product(dims, 0, j.outer);
  if (j.bits < 8) pad_packed(&j, rows);
  else parallel_for(k->threads, rows, move_grain(j.axes[j.outer].out * j.block * j.width), pad_range, &j);
  tensor_moved(out);
  return OK;
}

/* ---- Pad ---- */

typedef struct pad_params {
  pad_mode mode;
  bool has_pads;                                           /* before opset 11: an attribute */
  integers pads;
  float value;
} pad_params;

static status pad_read(const node *n, pad_params *p) {
  static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
  text mode = attr_string_or(n, "mode", "constant");
  p->mode = 0;
  while (p->mode <= PAD_WRAP && strcmp(names[p->mode], mode.data) != 0) ++p->mode;
  if (p->mode > PAD_WRAP) return ERROR(INVALID_GRAPH, "attribute 'mode' is '%s', but must be constant, reflect, edge or wrap", mode.data);
  p->value = attr_float_or(n, "value", 0);
  return integers_from_attr(n, "pads", &p->pads, &p->has_pads);
}

static status pad_prepare(prepare_ctx *c, void **out_params) {
  pad_params *p = ZONE_NEW(c->memory, pad_params);
  if (!p) return status_out_of_memory();
  *out_params = p;
  return pad_read(c->node, p);
}

/* Spreads the lists over all axes: begins at out[0..rank), ends at out[rank..2 rank). */
static status pad_spread(const integers *pads, integers *axes, int rank, int64_t *out) {
  if (!axes) {
    if (pads->count != 2 * rank)
      return ERROR(INVALID_ARGUMENT, "'pads' has %d entries, but an input of rank %d needs %d: all begins, then all ends", pads->count,
                   rank, 2 * rank);
    memcpy(out, pads->at, sizeof(int64_t) * 2 * (size_t)rank);
    return OK;
  }
  if (pads->count != 2 * axes->count)
    return ERROR(INVALID_ARGUMENT, "'pads' has %d entries, but %d axes need %d: all begins, then all ends", pads->count, axes->count,
                 2 * axes->count);
  TRY(axes_normalise(axes, rank, "axes"));
  memset(out, 0, sizeof(int64_t) * 2 * (size_t)rank);
  for (int i = 0; i < axes->count; ++i) {
    out[axes->at[i]] = pads->at[i];
    out[rank + axes->at[i]] = pads->at[axes->count + i];
  }
  return OK;
}

static status pad_infer(infer_ctx *c) {
  const fact *data = c->in[0], *axes_fact = infer_in(c, 3);
  pad_params p;
  integers axes;
  TRY(pad_read(c->node, &p));
  if (data->rank == RANK_UNKNOWN) return OK;
  if ((!p.has_pads && !integers_from_fact(infer_in(c, 1), &p.pads)) || (axes_fact && !integers_from_fact(axes_fact, &axes))) {
    fact_set_rank(c->out[0], data->rank);
    return OK;
  }
  int64_t pads[2 * MAX_RANK];
  dim dims[MAX_RANK];
  TRY(pad_spread(&p.pads, axes_fact ? &axes : NULL, data->rank, pads));
  for (int d = 0; d < data->rank; ++d) {
    pad_axis a;
    int64_t before = pads[d], after = pads[data->rank + d];
    if (dim_known(data->dims[d])) TRY(pad_axis_make(p.mode, d, data->dims[d], before, after, &a));
    dims[d] = dim_known(data->dims[d]) ? a.out : before == 0 && after == 0 ? data->dims[d] : DIM_UNKNOWN;
  }
  fact_set_shape(c->out[0], data->rank, dims);
  return OK;
}

/* The attribute 'value' of old versions as an element; they know floats only. */
static void pad_value(dtype type, float value, uint8_t *out) {
  f16 half = f32_to_f16(value);
  bf16 brain = f32_to_bf16(value);
  double wide = value;
  if (type == ORTC_FLOAT) memcpy(out, &value, sizeof value);
  else if (type == ORTC_DOUBLE) memcpy(out, &wide, sizeof wide);
  else if (type == ORTC_FLOAT16) memcpy(out, &half, sizeof half);
  else if (type == ORTC_BFLOAT16) memcpy(out, &brain, sizeof brain);
}

static status pad_view_make(const kernel_ctx *k, pad_view *v) {
  const pad_params *p = k->params;
  const tensor *data = k->in[0], *value = kernel_in(k, 2), *axes_input = kernel_in(k, 3);
  integers given = p->pads, axes;
  int64_t pads[2 * MAX_RANK];
  v->mode = p->mode;
  if (!p->has_pads) TRY(integers_from_tensor(kernel_in(k, 1), "pads", &given));
  if (axes_input) TRY(integers_from_tensor(axes_input, "axes", &axes));
  TRY(pad_spread(&given, axes_input ? &axes : NULL, data->rank, pads));
  for (int d = 0; d < data->rank; ++d) TRY(pad_axis_make(p->mode, d, data->dims[d], pads[d], pads[data->rank + d], &v->axes[d]));
  if (value && value->count != 1) return ERROR(INVALID_ARGUMENT, "'constant_value' must be one element, but has %" PRId64, value->count);
  if (value) memcpy(v->value, value->data, tensor_bytes(value));
  else if (p->value != 0) pad_value(data->type, p->value, v->value);
  return OK;
}

/* ---- CenterCropPad ---- */

typedef struct center_params { bool has_axes; integers axes; } center_params;

static status center_prepare(prepare_ctx *c, void **out_params) {
  center_params *p = ZONE_NEW(c->memory, center_params);
  if (!p) return status_out_of_memory();
  *out_params = p;
  return integers_from_attr(c->node, "axes", &p->axes, &p->has_axes);
}

/* The wanted size of every axis, -1 where it stays. */
static status center_sizes(const integers *shape, integers *axes, bool has_axes, int rank, int64_t *out) {
  int count = has_axes ? axes->count : rank;
  if (shape->count != count) return ERROR(INVALID_ARGUMENT, "'shape' has %d entries for %d axes", shape->count, count);
  if (has_axes) TRY(axes_normalise(axes, rank, "axes"));
  for (int d = 0; d < rank; ++d) out[d] = -1;
  for (int i = 0; i < count; ++i) {
    if (shape->at[i] < 0) return ERROR(INVALID_ARGUMENT, "entry %d of 'shape' is negative: %" PRId64, i, shape->at[i]);
    out[has_axes ? axes->at[i] : i] = shape->at[i];
  }
  return OK;
}

static status center_infer(infer_ctx *c) {
  const fact *data = c->in[0];
  integers shape, axes;
  bool has_axes;
  TRY(integers_from_attr(c->node, "axes", &axes, &has_axes));
  if (data->rank == RANK_UNKNOWN) return OK;
  if (!integers_from_fact(c->in[1], &shape)) {
    fact_set_rank(c->out[0], data->rank);
    return OK;
  }
  int64_t sizes[MAX_RANK];
  TRY(center_sizes(&shape, &axes, has_axes, data->rank, sizes));
  dim dims[MAX_RANK];
  for (int d = 0; d < data->rank; ++d) dims[d] = sizes[d] < 0 ? data->dims[d] : sizes[d];
  fact_set_shape(c->out[0], data->rank, dims);
  return OK;
}

static status center_view_make(const kernel_ctx *k, pad_view *v) {
  const center_params *p = k->params;
  const tensor *data = k->in[0];
  integers shape, axes = p->axes;
  int64_t sizes[MAX_RANK];
  TRY(integers_from_tensor(k->in[1], "shape", &shape));
  TRY(center_sizes(&shape, &axes, p->has_axes, data->rank, sizes));
  for (int d = 0; d < data->rank; ++d) {
    /* An odd element more or less goes to the end: half of the difference, rounded towards zero, is at the front. */
    int64_t more = sizes[d] < 0 ? 0 : sizes[d] - data->dims[d];
    TRY(pad_axis_make(PAD_CONSTANT, d, data->dims[d], more / 2, more - more / 2, &v->axes[d]));
  }
  return OK;
}

static const pad_op pad_row = {pad_view_make}, center_row = {center_view_make};

#define PAD .T = TS_ALL, .T1 = TS_INDEX, .infer = pad_infer, .prepare = pad_prepare, .run = pad_run, .data = &pad_row

OP_FAMILY(pad) = {
  {.name = "Pad", .since = 2, .signature = "data:T -> output:T", .T = TS_FLOAT, .infer = pad_infer, .prepare = pad_prepare, .run = pad_run,
   .data = &pad_row},
  {.name = "Pad", .since = 11, .signature = "data:T pads:i64 constant_value:T? -> output:T", PAD},
  {.name = "Pad", .since = 18, .signature = "data:T pads:i64 constant_value:T? axes:T1? -> output:T", PAD},
  {.name = "Pad", .domain = "com.microsoft", .since = 1, .signature = "data:T pads:i64 value:T? -> output:T", PAD},
  {.name = "CenterCropPad", .since = 18, .signature = "input_data:T shape:T1 -> output_data:T", .T = TS_WHOLE, .T1 = TS_INDEX,
   .infer = center_infer, .prepare = center_prepare, .run = pad_run, .data = &center_row},
  {0}};
