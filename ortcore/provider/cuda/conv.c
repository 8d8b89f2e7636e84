/* Convolutions on a GPU: Conv and ConvTranspose, and Conv with what follows it fused. */
#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/conv.h>
#include <ortcore/ops/conv.h>
#include <ortcore/provider/cuda/dnn.h>
#include <ortcore/provider/cuda/images.h>
#include <string.h>

typedef struct conv_kind { bool transposed, fused; } conv_kind;
typedef struct conv_params { const conv_kind *kind; bool channels_last; activation act; } conv_params;
typedef struct conv_spec { cuda_conv conv; dnn_plan *library; } conv_spec;   /* library NULL: our own kernels */

static status conv_prepare(prepare_ctx *c, void **out_params) {
  conv_params *p = ZONE_NEW(c->memory, conv_params);
  if (!p) return status_out_of_memory();
  p->kind = c->data;
  p->channels_last = node_is_channels_last(c->node);
  fact x = image_fact(c->in[0], p->channels_last);
  conv_attrs attrs;
  TRY(conv_attrs_read(c->node, &x, c->in[1], p->kind->transposed, &attrs));
  if (p->kind->fused) {
    int64_t count;
    const float *params = attr_floats(c->node, "activation_params", &count);
    TRY(activation_from_name(attr_string_or(c->node, "activation", "").data, count, params, &p->act));
  }
  *out_params = p;
  return OK;
}

static const tensor *at(const tensor *const *in, int32_t count, int32_t i) { return i < count ? in[i] : NULL; }

/* All counts of one image and of the weights are int32 in the kernels. */
static status check_size(const conv_shape *s) {
  double image = (double)s->ins * (double)s->groups * (double)window_in(&s->w),
         result = (double)s->outs * (double)s->groups * (double)window_out(&s->w);
  double depth = (double)s->ins * (double)window_taps(&s->w), columns = (double)s->images * (double)window_out(&s->w);
  if (image <= INT32_MAX && result <= INT32_MAX && depth * (double)s->outs <= INT32_MAX && columns <= INT32_MAX) return OK;
  return ERROR(NOT_IMPLEMENTED, "an image of %.0f elements gives one of %.0f, %.0f positions in all; on a GPU each is below 2^31", image,
               result, columns);
}

static status conv_specialise(specialise_ctx *c, void **out_spec) {
  const conv_params *p = c->params;
  const tensor x = image_tensor(c->in[0], p->channels_last), *w = c->in[1], *y = c->out[0];
  conv_shape s;
  TRY(conv_shape_read(&s, c->node, &x, w, p->kind->transposed));
  TRY(conv_check_bias(at(c->in, c->in_count, 2), &s));
  TRY(check_size(&s));
  if (y && y->rank >= 0) TRY(conv_check_residual(at(c->in, c->in_count, 3), y->rank, y->dims));
  conv_spec *spec = MEM_NEW(conv_spec);
  if (!spec) return status_out_of_memory();
  spec->conv = (cuda_conv){.type = x.type,
                           .transposed = p->kind->transposed,
                           .images = s.images,
                           .groups = s.groups,
                           .ins = s.ins,
                           .outs = s.outs,
                           .x = images_steps(x.order, x.dims[1], s.w.in),
                           .y = images_steps(x.order, s.out_dims[1], s.w.out),
                           .act = p->act};
  status failure = images_window(&s.w, &spec->conv.window);
  if (!failure) {
    cuda_conv_plan(&spec->conv, cuda_processors());
    failure = dnn_plan_create(&spec->conv, at(c->in, c->in_count, 2) != NULL, at(c->in, c->in_count, 3) != NULL, c->cuda, &spec->library);
  }
  if (failure) {
    mem_free(spec);
    return failure;
  }
  LOG(VERBOSE, "node '%s' (%s): convolution by %s", c->node->name, c->node->op_type, spec->library ? "cuDNN" : cuda_conv_route_name(&spec->conv));
  if (spec->library) c->computed_by = "cuDNN";
  c->scratch_bytes = spec->library ? dnn_scratch_bytes(spec->library) : spec->conv.product.scratch_bytes;
  *out_spec = spec;
  return OK;
}

static void conv_dispose_spec(void *spec) {
  dnn_plan_release(((conv_spec *)spec)->library);
  mem_free(spec);
}

static status conv_launch(kernel_ctx *k, stream *s) {
  const conv_spec *spec = k->spec;
  const tensor *bias = at(k->in, k->in_count, 2), *residual = at(k->in, k->in_count, 3);
  tensor *y;
  TRY(kernel_output_inferred(k, 0, &y));
  if (!y) return OK;
  cuda_operands o = {.a = k->in[1]->data,
                     .b = k->in[0]->data,
                     .bias = bias ? bias->data : NULL,
                     .residual = residual ? residual->data : NULL,
                     .c = y->data, .scratch = k->scratch};
  if (y->count == 0) return OK;
  if (spec->library) return dnn_run(spec->library, &spec->conv, &o, s);
  return cuda_launched(cuda_conv_run(&spec->conv, &o, cuda_raw(s)));
}

static const conv_kind sliding = {false, false}, fused = {false, true}, transposed = {true, false};

#define CONV_FUNCTIONS .types = TS_FLOAT, .prepare = conv_prepare, .specialise = conv_specialise, .dispose_spec = conv_dispose_spec, .launch = conv_launch

KERNEL_FAMILY(conv) = {
  {.op = "Conv", .since = 1, CONV_FUNCTIONS, .data = &sliding},
  {.op = "ConvTranspose", .since = 1, CONV_FUNCTIONS, .data = &transposed},
  {.op = "FusedConv", .domain = "com.microsoft", .since = 1, CONV_FUNCTIONS, .data = &fused},
  {.op = "ConvTranspose", .domain = "ortcore", .since = 1, CONV_FUNCTIONS, .data = &transposed},
  {.op = "FusedConv", .domain = "ortcore", .since = 1, CONV_FUNCTIONS, .data = &fused},
  {0}};
