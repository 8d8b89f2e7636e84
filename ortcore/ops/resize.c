/* Resize and Upsample. */
#include <math.h>
#include <ortcore/base/half.h>
#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/kernels/cpu/resize.h>
#include <ortcore/ops/movement.h>

typedef enum aspect_policy { ASPECT_STRETCH, ASPECT_NOT_LARGER, ASPECT_NOT_SMALLER } aspect_policy;

/* Where a version has its inputs (-1: nowhere); its attributes tell the rest. */
typedef struct resize_def { int8_t roi, scales, sizes; bool old; } resize_def;

static const resize_def upsample7 = {-1, -1, -1, true}, old_inputs = {-1, 1, -1, true}, new_inputs = {1, 2, 3, false};

typedef struct resize_params {
  resize_how how;
  const resize_def *def;
  aspect_policy aspect;
  double extrapolation;
  integers axes;                                            /* none: all */
  int64_t factor_count;                                     /* Upsample 7 */
  const float *factors;
} resize_params;

/* ---- Attributes ---------------------------------------------------------------------------------------------------------------------------- */

/* The position of an attribute's value in a list of names. */
static status choose(const node *n, const char *name, const char *fallback, int count, const char *const *names, int *out) {
  text value = attr_string_or(n, name, fallback);
  for (*out = 0; *out < count; ++*out)
    if (names[*out] && !strcmp(value.data, names[*out])) return OK;
  return ERROR(INVALID_ARGUMENT, "attribute '%s' is '%s', which %s does not know", name, value.data, n->op_type);
}

static const char *const filters[] = {[RESIZE_NEAREST] = "nearest", [RESIZE_LINEAR] = "linear", [RESIZE_CUBIC] = "cubic", "bilinear"};
static const char *const coordinates[] = {
  [RESIZE_HALF_PIXEL] = "half_pixel", [RESIZE_HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric", [RESIZE_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
  [RESIZE_ALIGN_CORNERS] = "align_corners", [RESIZE_ASYMMETRIC] = "asymmetric", [RESIZE_TF_HALF_PIXEL] = "tf_half_pixel_for_nn", [RESIZE_TF_CROP] = "tf_crop_and_resize"};
static const char *const roundings[] = {
  [RESIZE_PREFER_FLOOR] = "round_prefer_floor", [RESIZE_PREFER_CEIL] = "round_prefer_ceil", [RESIZE_FLOOR] = "floor", [RESIZE_CEIL] = "ceil", [RESIZE_SIMPLE] = "simple"};
static const char *const policies[] = {[ASPECT_STRETCH] = "stretch", [ASPECT_NOT_LARGER] = "not_larger", [ASPECT_NOT_SMALLER] = "not_smaller"};

#define CHOOSE(name, fallback, names, to) TRY(choose(n, name, fallback, (int)(sizeof names / sizeof *names), names, to))

static status read_params(const node *n, const op_def *op, resize_params *p) {
  int filter, coordinate, rounding, policy;
  bool present;
  p->def = op->data;
  CHOOSE("mode", "nearest", filters, &filter);
  CHOOSE("coordinate_transformation_mode", p->def->old ? "asymmetric" : "half_pixel", coordinates, &coordinate);
  CHOOSE("nearest_mode", p->def->old ? "simple" : "round_prefer_floor", roundings, &rounding);
  CHOOSE("keep_aspect_ratio_policy", "stretch", policies, &policy);
  p->how = (resize_how){.filter = filter > RESIZE_CUBIC ? RESIZE_LINEAR : (resize_filter)filter, .coordinates = (resize_coordinates)coordinate, .rounding = (resize_rounding)rounding,
                        .cubic_a = attr_float_or(n, "cubic_coeff_a", -0.75f), .exclude_outside = attr_int_or(n, "exclude_outside", 0), .antialias = attr_int_or(n, "antialias", 0)};
  p->aspect = (aspect_policy)policy;
  p->extrapolation = attr_float_or(n, "extrapolation_value", 0);
  p->factors = attr_floats(n, "scales", &p->factor_count);
  return integers_from_attr(n, "axes", &p->axes, &present);
}

static status resize_prepare(prepare_ctx *c, void **out_params) {
  resize_params *p = *out_params = ZONE_NEW(c->memory, resize_params);
  return p ? read_params(c->node, c->op, p) : status_out_of_memory();
}

/* ---- Sizes: in, out and scale of every axis ------------------------------------------------------------------------------------------------- */

/* `values` (scales or sizes) has an element for each of `axes`. */
static status check_count(const char *name, int64_t given, int expected) {
  if (given == expected) return OK;
  return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements, expected %d, one for each resized axis", name, (long long)given, expected);
}

static status apply_scales(const float *scales, const integers *axes, resize_axis *a) {
  for (int i = 0; i < axes->count; ++i) {
    resize_axis *axis = &a[axes->at[i]];
    if (!(scales[i] > 0 && scales[i] <= 0x1p40f)) return ERROR(INVALID_ARGUMENT, "'scales' has %g at %d, expected a positive number", (double)scales[i], i);
    double out = floor((double)((float)axis->in * scales[i]));
    if (out > 0x1p40) return ERROR(INVALID_ARGUMENT, "'scales' has %g at %d, which makes axis %lld too large", (double)scales[i], i, (long long)axes->at[i]);
    axis->scale = scales[i];
    axis->out = (int64_t)out;
  }
  return OK;
}

static status apply_sizes(const int64_t *sizes, const integers *axes, aspect_policy aspect, resize_axis *a) {
  float common = 0;
  for (int i = 0; i < axes->count; ++i) {
    resize_axis *axis = &a[axes->at[i]];
    if (sizes[i] < 0 || sizes[i] > (int64_t)1 << 40) return ERROR(INVALID_ARGUMENT, "'sizes' has %lld at %d, expected a size that is possible", (long long)sizes[i], i);
    axis->out = sizes[i];
    axis->scale = axis->in ? (float)sizes[i] / (float)axis->in : 1;
    common = i == 0 || (aspect == ASPECT_NOT_LARGER ? axis->scale < common : axis->scale > common) ? axis->scale : common;
  }
  for (int i = 0; i < axes->count && aspect != ASPECT_STRETCH; ++i) {
    resize_axis *axis = &a[axes->at[i]];
    axis->scale = common;
    axis->out = (int64_t)floorf(common * (float)axis->in + 0.5f);
  }
  return OK;
}

/* dims, and what scales and sizes say of them; either may be NULL. */
static status find_sizes(const resize_params *p, int rank, const int64_t *dims, const tensor *scales, const tensor *sizes, resize_axis *a, integers *axes) {
  *axes = p->axes;
  TRY(axes_normalise(axes, rank, "axes"));
  if (!axes->count)
    for (; axes->count < rank; ++axes->count) axes->at[axes->count] = axes->count;
  for (int d = 0; d < rank; ++d) a[d] = (resize_axis){.in = dims[d], .out = dims[d], .scale = 1, .end = 1};
  if (sizes && sizes->count) {
    TRY(check_count("sizes", sizes->count, axes->count));
    return apply_sizes(sizes->data, axes, p->aspect, a);
  }
  int64_t count = scales ? scales->count : p->factor_count;
  if (!count) return ERROR(INVALID_ARGUMENT, "neither 'scales' nor 'sizes' is given");
  TRY(check_count("scales", count, axes->count));
  return apply_scales(scales ? scales->data : p->factors, axes, a);
}

static const fact *fact_at(const infer_ctx *c, int i) { return i < 0 ? NULL : infer_in(c, i); }

static status resize_infer(infer_ctx *c) {
  resize_params p = {0};
  const fact *x = c->in[0];
  TRY(read_params(c->node, c->op, &p));
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
  TRY(find_sizes(&p, x->rank, dims, by_sizes || !scales ? NULL : scales->value, by_sizes ? sizes->value : NULL, a, &axes));
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

static status read_region(const tensor *roi, const integers *axes, resize_axis *a) {
  int n = axes->count;
  if (!roi || roi->count != 2 * n) return ERROR(INVALID_ARGUMENT, "tf_crop_and_resize needs an input 'roi' of %d elements, a start and an end for each resized axis", 2 * n);
  convert_fn convert = convert_find(roi->type, ORTC_FLOAT);
  float values[2 * MAX_RANK];
  if (roi->type == ORTC_FLOAT) memcpy(values, roi->data, sizeof *values * (size_t)(2 * n));
  else convert(roi->data, values, 2 * n);
  for (int i = 0; i < n; ++i) {
    a[axes->at[i]].start = values[i];
    a[axes->at[i]].end = values[n + i];
  }
  return OK;
}

static status allocate_taps(kernel_ctx *k, const resize_how *how, resize_axis *a) {
  int64_t taps = resize_tap_count(how, a);
  void *index, *weight, *outside;
  if (!taps) return ERROR(INVALID_ARGUMENT, "a scale of %g is too small for antialias", (double)a->scale);
  if (taps * a->out > (int64_t)1 << 40) return ERROR(INVALID_ARGUMENT, "an axis of %lld elements with %lld taps each is too large", (long long)a->out, (long long)taps);
  TRY(kernel_scratch(k, (size_t)(taps * a->out) * sizeof(int64_t), &index));
  TRY(kernel_scratch(k, (size_t)(taps * a->out) * sizeof(double), &weight));
  TRY(kernel_scratch(k, (size_t)a->out, &outside));
  a->index = index;
  a->weight = weight;
  a->outside = outside;
  resize_find_taps(how, a);
  return OK;
}

/* The type to compute in. */
static dtype working_type(dtype t) {
  return t == ORTC_DOUBLE || t == ORTC_INT32 || t == ORTC_UINT32 || t == ORTC_INT64 || t == ORTC_UINT64 ? ORTC_DOUBLE : ORTC_FLOAT;
}

static status passes(kernel_ctx *k, int rank, const resize_how *how, const resize_axis *a, dtype type, const void *x, void *y) {
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
    if (type == ORTC_DOUBLE) resize_pass_f64(k->threads, &a[d], outer, inner, x, to);
    else resize_pass_f32(k->threads, &a[d], outer, inner, x, to);
    x = to;
  }
  return OK;
}

/* Elements whose place lies outside of the input on any axis. */
static void extrapolate(int rank, const resize_axis *a, double value, tensor *y) {
  convert_fn convert = y->type == ORTC_DOUBLE ? NULL : convert_find(ORTC_DOUBLE, y->type);
  char element[8];
  size_t width = (size_t)tensor_width(y);
  if (convert) convert(&value, element, 1);
  else memcpy(element, &value, sizeof value);
  for (int64_t i = 0; i < y->count; ++i) {
    bool outside = false;
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      outside |= a[d].outside[rest % a[d].out];
      rest /= a[d].out;
    }
    if (outside) memcpy((char *)y->data + (size_t)i * width, element, width);
  }
}

static status interpolate(kernel_ctx *k, const resize_params *p, const resize_axis *a, const tensor *x, tensor *y) {
  dtype type = working_type(x->type);
  size_t width = (size_t)dtype_width(type);
  if (!typeset_has(TS_NUMERIC, x->type)) return ERROR(NOT_IMPLEMENTED, "elements of type %s can be resized with mode 'nearest' only", dtype_name(x->type));
  if (type == x->type) return passes(k, x->rank, &p->how, a, type, x->data, y->data);
  void *from, *to;
  TRY(kernel_scratch(k, (size_t)x->count * width, &from));
  TRY(kernel_scratch(k, (size_t)y->count * width, &to));
  convert_elements(k->threads, &(conversion){.from = x->type, .to = type}, x->data, from, x->count);
  TRY(passes(k, x->rank, &p->how, a, type, from, to));
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

static const tensor *input_at(const kernel_ctx *k, int i) { return i < 0 ? NULL : kernel_in(k, i); }

static status resize_run(kernel_ctx *k) {
  const resize_params *p = k->params;
  const tensor *x = k->in[0], *scales = input_at(k, p->def->scales);
  resize_axis a[MAX_RANK];
  integers axes;
  int64_t dims[MAX_RANK];
  tensor *y;
  TRY(find_sizes(p, x->rank, x->dims, scales && scales->count ? scales : NULL, input_at(k, p->def->sizes), a, &axes));
  if (p->how.coordinates == RESIZE_TF_CROP) TRY(read_region(input_at(k, p->def->roi), &axes, a));
  for (int d = 0; d < x->rank; ++d) dims[d] = a[d].out;
  TRY(kernel_output(k, 0, x->rank, dims, &y));
  if (!y || !y->count) return OK;
  if (!x->count) return ERROR(INVALID_ARGUMENT, "the input has no elements, but the output should have some");
  for (int d = 0; d < x->rank; ++d)
    if (!resize_is_identity(&p->how, &a[d])) TRY(allocate_taps(k, &p->how, &a[d]));
  if (x->rank == 0) memcpy(y->data, x->data, (size_t)tensor_width(x));
  else if (p->how.filter == RESIZE_NEAREST) resize_nearest(k->threads, x->rank, a, tensor_width(x), x->data, y->data);
  else TRY(interpolate(k, p, a, x, y));
  if (p->how.coordinates == RESIZE_TF_CROP && typeset_has(TS_NUMERIC, x->type)) extrapolate(x->rank, a, p->extrapolation, y);
  if (y->type == ORTC_STRING) rcstr_retain_n(y->data, y->count);
  return OK;
}

#define TS_RESIZE (TS_NUMERIC | TS(BOOL) | TS_COMPLEX | TS(STRING))
#define RESIZE(op_name, since_version, op_signature, def) \
  {.name = op_name, .since = since_version, .signature = op_signature, .T = TS_RESIZE, .T1 = TS_FLOAT, .infer = resize_infer, .prepare = resize_prepare, .run = resize_run, .data = &def}

OP_FAMILY(resize) = {
  RESIZE("Upsample", 7, "X:T -> Y:T", upsample7),
  RESIZE("Upsample", 9, "X:T scales:f32 -> Y:T", old_inputs),
  RESIZE("Resize", 10, "X:T scales:f32 -> Y:T", old_inputs),
  RESIZE("Resize", 11, "X:T roi:T1? scales:f32? sizes:i64? -> Y:T", new_inputs),
  {0}};
