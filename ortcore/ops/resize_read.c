#include "resize_read.h"

#include <math.h>
#include <ortcore/base/half.h>

const resize_def resize_upsample7 = {-1, -1, -1, true}, resize_old = {-1, 1, -1, true}, resize_new = {1, 2, 3, false};

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

status resize_read_params(const node *n, const resize_def *def, resize_params *p) {
  int filter, coordinate, rounding, policy;
  bool present;
  p->def = def;
  CHOOSE("mode", "nearest", filters, &filter);
  CHOOSE("coordinate_transformation_mode", def->old ? "asymmetric" : "half_pixel", coordinates, &coordinate);
  CHOOSE("nearest_mode", def->old ? "simple" : "round_prefer_floor", roundings, &rounding);
  CHOOSE("keep_aspect_ratio_policy", "stretch", policies, &policy);
  p->how = (resize_how){.filter = filter > RESIZE_CUBIC ? RESIZE_LINEAR : (resize_filter)filter, .coordinates = (resize_coordinates)coordinate, .rounding = (resize_rounding)rounding,
                        .cubic_a = attr_float_or(n, "cubic_coeff_a", -0.75f), .exclude_outside = attr_int_or(n, "exclude_outside", 0), .antialias = attr_int_or(n, "antialias", 0)};
  p->aspect = (aspect_policy)policy;
  p->extrapolation = attr_float_or(n, "extrapolation_value", 0);
  p->factors = attr_floats(n, "scales", &p->factor_count);
  return integers_from_attr(n, "axes", &p->axes, &present);
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

status resize_read_sizes(const resize_params *p, int rank, const int64_t *dims, const tensor *scales, const tensor *sizes, resize_axis *a, integers *axes) {
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

/* ---- The region of tf_crop_and_resize ---------------------------------------------------------------------------------------------------- */

static float number_at(const tensor *t, int i) {
  switch (t->type) {
    case ORTC_DOUBLE: return (float)((const double *)t->data)[i];
    case ORTC_FLOAT16: return f16_to_f32(((const f16 *)t->data)[i]);
    case ORTC_BFLOAT16: return bf16_to_f32(((const bf16 *)t->data)[i]);
    default: return ((const float *)t->data)[i];
  }
}

status resize_read_region(const tensor *roi, const integers *axes, resize_axis *a) {
  int n = axes->count;
  if (!roi || roi->count != 2 * n) return ERROR(INVALID_ARGUMENT, "tf_crop_and_resize needs an input 'roi' of %d elements, a start and an end for each resized axis", 2 * n);
  for (int i = 0; i < n; ++i) {
    a[axes->at[i]].start = number_at(roi, i);
    a[axes->at[i]].end = number_at(roi, n + i);
  }
  return OK;
}

static const tensor *input_at(const kernel_ctx *k, int i) { return i >= 0 && i < k->in_count ? k->in[i] : NULL; }

status resize_begin(kernel_ctx *k, const resize_params *p, resize_axis *axes, tensor **out) {
  const tensor *x = k->in[0], *scales = input_at(k, p->def->scales);
  int64_t dims[MAX_RANK];
  integers resized;
  TRY(resize_read_sizes(p, x->rank, x->dims, scales && scales->count ? scales : NULL, input_at(k, p->def->sizes), axes, &resized));
  if (p->how.coordinates == RESIZE_TF_CROP) TRY(resize_read_region(input_at(k, p->def->roi), &resized, axes));
  for (int d = 0; d < x->rank; ++d) dims[d] = axes[d].out;
  TRY(kernel_output(k, 0, x->rank, dims, out));
  if (*out && !(*out)->count) *out = NULL;
  if (*out && !x->count) return ERROR(INVALID_ARGUMENT, "the input has no elements, but the output should have some");
  return OK;
}

dtype resize_working_type(dtype t) {
  return t == ORTC_DOUBLE || t == ORTC_INT32 || t == ORTC_UINT32 || t == ORTC_INT64 || t == ORTC_UINT64 ? ORTC_DOUBLE : ORTC_FLOAT;
}

status resize_check_taps(const resize_axis *a, int64_t taps) {
  if (!taps) return ERROR(INVALID_ARGUMENT, "a scale of %g is too small for antialias", (double)a->scale);
  if (taps * a->out > (int64_t)1 << 40)
    return ERROR(INVALID_ARGUMENT, "an axis of %lld elements with %lld taps each is too large", (long long)a->out, (long long)taps);
  return OK;
}
