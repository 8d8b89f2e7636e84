/* RotaryEmbedding of ai.onnx and com.microsoft. */
#include <ortcore/kernels/cuda/rotary.h>
#include <ortcore/ops/params/rotary.h>
#include <ortcore/provider/cuda/plugin.h>

static status rotary_launch(kernel_ctx *k, stream *on) {
  const rotary_def *def = k->node->op->data;
  const tensor *x = k->in[0], *cos = k->in[def->cos], *sin = k->in[def->sin], *ids = def->ids < k->in_count ? k->in[def->ids] : NULL;
  rotary_sizes of;
  tensor *y;
  TRY(rotary_find_sizes(k->node, def, x, cos, sin, ids, &of));
  TRY(kernel_output_like(k, 0, x, &y));
  if (!y || !x->count) return OK;
  if (of.half && of.rows < 1)
    return ERROR(INVALID_ARGUMENT, "the cosine and sine caches are empty, but there are %lld places", (long long)(of.batch * of.steps));
  cuda_rotary r = {.type = x->type, .x = x->data, .cosine = cos->data, .sine = sin->data, .y = y->data, .ids = ids ? ids->data : NULL,
                   .fault = cuda_fault(k, on), .ids_are_offset = of.ids_are_offset, .interleaved = attr_int_or(k->node, "interleaved", 0),
                   .batch = of.batch, .heads = of.heads, .steps = of.steps, .size = of.size, .half = of.half, .rows = of.rows,
                   .batch_stride = of.batch_stride, .head_stride = of.head_stride, .step_stride = of.step_stride};
  return cuda_launched(cuda_rotary_run(&r, cuda_raw(on)));
}

KERNEL_FAMILY(rotary) = {
  {.op = "RotaryEmbedding", .since = 23, .types = CUDA_FLOATS, .launch = rotary_launch},
  {.op = "RotaryEmbedding", .domain = "com.microsoft", .since = 1, .types = CUDA_FLOATS, .launch = rotary_launch},
  {0}};
