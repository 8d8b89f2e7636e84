/* Resize and Upsample. Scales, sizes and regions are read on the host: the dims of the output follow from them. */
#include <ortcore/base/half.h>
#include <ortcore/kernels/cuda/resize.h>
#include <ortcore/ops/resize_read.h>
#include <ortcore/provider/cuda/plugin.h>

/* Ranks up to CUDA_RESIZE_AXES can have no more resized axes than the kernels take. */
static bool resize_supports(const node *n, const fact *const *in) {
  text mode = attr_string_or(n, "mode", "nearest"), coordinates = attr_string_or(n, "coordinate_transformation_mode", "");
  bool moved = !strcmp(mode.data, "nearest"), filled = !strcmp(coordinates.data, "tf_crop_and_resize");
  return in[0]->rank > 0 && in[0]->rank <= CUDA_RESIZE_AXES && (moved || cuda_resize_interpolates(in[0]->type)) &&
         (!filled || typeset_has(TS_NUMERIC, in[0]->type));
}

static status resize_prepare(prepare_ctx *c, void **out_params) {
  resize_params *p = *out_params = ZONE_NEW(c->memory, resize_params);
  return p ? resize_read_params(c->node, c->data, p) : status_out_of_memory();
}

/* The extrapolation value as an element. */
static void put_fill(dtype type, double value, char *to) {
  float single = (float)value;
  f16 half = f64_to_f16(value);
  bf16 brain = f64_to_bf16(value);
  int64_t whole = value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
  if (type == ORTC_FLOAT) memcpy(to, &single, sizeof single);
  else if (type == ORTC_DOUBLE) memcpy(to, &value, sizeof value);
  else if (type == ORTC_FLOAT16) memcpy(to, &half, sizeof half);
  else if (type == ORTC_BFLOAT16) memcpy(to, &brain, sizeof brain);
  else memcpy(to, &whole, sizeof whole);                    /* the low bytes of narrower integers */
}

/* Axes that stay as they are go into what lies between the others. */
static void merge_axes(const resize_params *p, int rank, const resize_axis *a, cuda_resize *out) {
  out->inner[0] = 1;
  for (int d = 0; d < rank; ++d) {
    if (resize_is_identity(&p->how, &a[d])) {
      out->inner[out->axes] *= a[d].in;
    } else {
      out->axis[out->axes++] = a[d];
      out->inner[out->axes] = 1;
    }
  }
}

static status resize_launch(kernel_ctx *k, stream *s) {
  const resize_params *p = k->params;
  const tensor *x = k->in[0];
  cuda_resize r = {.how = p->how, .type = x->type, .width = tensor_width(x)};
  resize_axis a[MAX_RANK];
  tensor *y;
  TRY(resize_begin(k, p, a, &y));
  if (!y) return OK;
  for (int d = 0; d < x->rank; ++d)
    if (!resize_is_identity(&p->how, &a[d])) TRY(resize_check_taps(&a[d], resize_tap_count(&p->how, &a[d])));
  merge_axes(p, x->rank, a, &r);
  put_fill(x->type, p->extrapolation, r.fill);
  size_t bytes;
  void *scratch;
  if (!cuda_resize_scratch_bytes(&r, &bytes)) return ERROR(NOT_IMPLEMENTED, "an axis has more than %d elements, or as many taps", INT32_MAX);
  TRY(kernel_scratch(k, bytes, &scratch));
  return cuda_launched(cuda_resize_run(&r, x->data, y->data, scratch, cuda_raw(s)));
}

/* Bits of inputs that lie on the host: the region, scales and sizes. */
#define RESIZE(name, first, host, def) \
  {.op = name, .since = first, .types = TS_WHOLE & ~TS(STRING), .host_inputs = host, .supports = resize_supports, .prepare = resize_prepare, \
   .launch = resize_launch, .data = &def}

KERNEL_FAMILY(resize) = {
  RESIZE("Upsample", 7, 0, resize_upsample7),
  RESIZE("Upsample", 9, 1u << 1, resize_old),
  RESIZE("Resize", 10, 1u << 1, resize_old),
  RESIZE("Resize", 11, 1u << 1 | 1u << 2 | 1u << 3, resize_new),
  {0}};
