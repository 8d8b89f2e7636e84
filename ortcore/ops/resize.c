/* Resize and Upsample. */
#include <ortcore/base/half.h>
#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/kernels/cpu/resize.h>
#include <ortcore/ops/resize_read.h>

static status resize_prepare(prepare_ctx *c, void **out_params) {
  resize_params *p = *out_params = ZONE_NEW(c->memory, resize_params);
  return p ? resize_read_params(c->node, c->op->data, p) : status_out_of_memory();
}

static const fact *fact_at(const infer_ctx *c, int i) { return i < 0 ? NULL : infer_in(c, i); }

static status resize_infer(infer_ctx *c) {
  resize_params p = {0};
  const fact *x = c->in[0];
  TRY(resize_read_params(c->node, c->op->data, &p));
  if (x->rank < 0) return OK;
  const fact *scales = fact_at(c, p.def->scales), *sizes = fact_at(c, p.def->sizes);
  dim dims[MAX_RANK];
  for (int d = 0; d < x->rank; ++d) dims[d] = DIM_UNKNOWN;
  fact_set_shape(c->out[0], x->rank, dims);
  bool by_sizes = sizes && (!sizes->value || sizes->value->count);
  const fact *source = by_sizes ? sizes : scales;
  if (source && !source->value) return OK;
  /* Dims that are no numbers yet stay unknown: 1 stands for them. */
  resize_axis a[MAX_RANK];
  integers axes;
  for (int d = 0; d < x->rank; ++d) dims[d] = dim_known(x->dims[d]) ? x->dims[d] : 1;
  TRY(resize_read_sizes(&p, x->rank, dims, by_sizes || !scales ? NULL : scales->value, by_sizes ? sizes->value : NULL, a, &axes));
  for (int d = 0; d < x->rank; ++d) {
    bool listed = false;
    for (int i = 0; i < axes.count; ++i) listed |= axes.at[i] == d;
    bool fixed = by_sizes && p.aspect == ASPECT_STRETCH && listed, all_known = fact_is_static(x);
    dims[d] = !listed || (!by_sizes && a[d].scale == 1) ? x->dims[d] : fixed || (dim_known(x->dims[d]) && (!by_sizes || all_known)) ? a[d].out : DIM_UNKNOWN;
  }
  fact_set_shape(c->out[0], x->rank, dims);
  return OK;
}

/* ---- Running ---------------------------------------------------------------------------------------------------------------------------------- */

static status allocate_taps(kernel_ctx *k, const resize_how *how, const resize_axis *a, resize_taps *to) {
  int64_t taps = resize_tap_count(how, a);
  void *index, *weight, *outside;
  TRY(resize_check_taps(a, taps));
  TRY(kernel_scratch(k, (size_t)(taps * a->out) * sizeof(int64_t), &index));
  TRY(kernel_scratch(k, (size_t)(taps * a->out) * sizeof(double), &weight));
  TRY(kernel_scratch(k, (size_t)a->out, &outside));
  *to = (resize_taps){.index = index, .weight = weight, .outside = outside};
  resize_find_taps(how, a, to);
  return OK;
}

static status passes(kernel_ctx *k, int rank, const resize_how *how, const resize_axis *a, const resize_taps *taps, dtype type, const void *x, void *y) {
  int64_t dims[MAX_RANK];
  int order[MAX_RANK], count = 0;
  size_t width = (size_t)dtype_width(type);
  for (int d = 0; d < rank; ++d) dims[d] = a[d].in;
  for (int d = 0; d < rank; ++d)
    if (!resize_is_identity(how, &a[d])) order[count++] = d;
  /* Axes that shrink come first: fewer elements remain. */
  for (int i = 1; i < count; ++i)
    for (int j = i; j > 0 && (double)a[order[j]].out * (double)a[order[j - 1]].in < (double)a[order[j - 1]].out * (double)a[order[j]].in; --j) {
      int swapped = order[j];
      order[j] = order[j - 1];
      order[j - 1] = swapped;
    }
  if (!count) memcpy(y, x, (size_t)dims_product(dims, 0, rank) * width);
  for (int i = 0; i < count; ++i) {
    int d = order[i];
    tensor between;
    void *to = y;
    int64_t outer = dims_product(dims, 0, d), inner = dims_product(dims, d + 1, rank);
    dims[d] = a[d].out;
    if (i + 1 < count) {
      TRY(tensor_init(&between, type, rank, dims));
      TRY(kernel_scratch(k, tensor_bytes(&between), &to));
    }
    if (type == ORTC_DOUBLE) resize_pass_f64(k->threads, &a[d], &taps[d], outer, inner, x, to);
    else resize_pass_f32(k->threads, &a[d], &taps[d], outer, inner, x, to);
    x = to;
  }
  return OK;
}

/* Elements whose place lies outside of the input on any axis. */
static void extrapolate(int rank, const resize_axis *a, const resize_taps *taps, double value, tensor *y) {
  convert_fn convert = y->type == ORTC_DOUBLE ? NULL : convert_find(ORTC_DOUBLE, y->type);
  char element[8];
  size_t width = (size_t)tensor_width(y);
  if (convert) convert(&value, element, 1);
  else memcpy(element, &value, sizeof value);
  for (int64_t i = 0; i < y->count; ++i) {
    bool outside = false;
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      outside |= taps[d].outside[rest % a[d].out];
      rest /= a[d].out;
    }
    if (outside) memcpy((char *)y->data + (size_t)i * width, element, width);
  }
}

static status interpolate(kernel_ctx *k, const resize_params *p, const resize_axis *a, const resize_taps *taps, const tensor *x, tensor *y) {
  dtype type = resize_working_type(x->type);
  size_t width = (size_t)dtype_width(type);
  if (!typeset_has(TS_NUMERIC, x->type)) return ERROR(NOT_IMPLEMENTED, "elements of type %s can be resized with mode 'nearest' only", dtype_name(x->type));
  if (type == x->type) return passes(k, x->rank, &p->how, a, taps, type, x->data, y->data);
  void *from, *to;
  TRY(kernel_scratch(k, (size_t)x->count * width, &from));
  TRY(kernel_scratch(k, (size_t)y->count * width, &to));
  convert_elements(k->threads, &(conversion){.from = x->type, .to = type}, x->data, from, x->count);
  TRY(passes(k, x->rank, &p->how, a, taps, type, from, to));
  /* Integers are cut off, but rounded where a filter has weighed many. Cubic filters overshoot: the ends of the type hold them. */
  if (typeset_has(TS_INTEGER, x->type) && dtype_width(x->type) <= 2) {
    float low = x->type == ORTC_INT8 ? -128.0f : x->type == ORTC_INT16 ? -32768.0f : 0.0f;
    float high = x->type == ORTC_INT8 ? 127.0f : x->type == ORTC_UINT8 ? 255.0f : x->type == ORTC_INT16 ? 32767.0f : 65535.0f;
    for (int64_t i = 0; i < y->count; ++i) {
      float v = p->how.antialias ? rintf(((float *)to)[i]) : ((float *)to)[i];
      ((float *)to)[i] = v < low ? low : v > high ? high : v;
    }
  }
  convert_elements(k->threads, &(conversion){.from = type, .to = x->type}, to, y->data, y->count);
  return OK;
}

static status resize_run(kernel_ctx *k) {
  const resize_params *p = k->params;
  const tensor *x = k->in[0];
  resize_axis a[MAX_RANK];
  resize_taps taps[MAX_RANK] = {{0}};
  tensor *y;
  TRY(resize_begin(k, p, a, &y));
  if (!y) return OK;
  for (int d = 0; d < x->rank; ++d)
    if (!resize_is_identity(&p->how, &a[d])) TRY(allocate_taps(k, &p->how, &a[d], &taps[d]));
  if (x->rank == 0) memcpy(y->data, x->data, (size_t)tensor_width(x));
  else if (p->how.filter == RESIZE_NEAREST) resize_nearest(k->threads, x->rank, a, taps, tensor_width(x), x->data, y->data);
  else TRY(interpolate(k, p, a, taps, x, y));
  if (p->how.coordinates == RESIZE_TF_CROP && typeset_has(TS_NUMERIC, x->type)) extrapolate(x->rank, a, taps, p->extrapolation, y);
  if (y->type == ORTC_STRING) rcstr_retain_n(y->data, y->count);
  return OK;
}

#define TS_RESIZE (TS_NUMERIC | TS(BOOL) | TS_COMPLEX | TS(STRING))
#define RESIZE(op_name, since_version, op_signature, def) \
  {.name = op_name, .since = since_version, .signature = op_signature, .T = TS_RESIZE, .T1 = TS_FLOAT, .infer = resize_infer, .prepare = resize_prepare, .run = resize_run, .data = &def}

OP_FAMILY(resize) = {
  RESIZE("Upsample", 7, "X:T -> Y:T", resize_upsample7),
  RESIZE("Upsample", 9, "X:T scales:f32 -> Y:T", resize_old),
  RESIZE("Resize", 10, "X:T scales:f32 -> Y:T", resize_old),
  RESIZE("Resize", 11, "X:T roi:T1? scales:f32? sizes:i64? -> Y:T", resize_new),
  {0}};
