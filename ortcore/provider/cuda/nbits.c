/* com.microsoft.MatMulNBits on a GPU. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/nbits.h>
#include <ortcore/ops/params/nbits.h>
#include <ortcore/provider/cuda/product.h>

/* Scales are of A's type by the operator's definition; zero points must be too, or packed. Groups are checked at load, so they are constants. */
static bool nbits_supports(const node *n, const fact *const *in) {
  const fact *zeros = n->input_count > 3 ? in[3] : NULL, *groups = n->input_count > 4 ? in[4] : NULL;
  return (!zeros || zeros->type == ORTC_UINT8 || zeros->type == in[0]->type) && (!groups || groups->value);
}

static status nbits_prepare(prepare_ctx *c, void **out_params) {
  nbits_params *p = ZONE_NEW(c->memory, nbits_params);
  if (!p) return status_out_of_memory();
  TRY(nbits_params_read(c->node, p));
  if (c->in_count > 4 && c->in[4]) TRY(nbits_check_groups(p, c->in[4]->value));
  *out_params = p;
  return OK;
}

static status nbits_specialise(specialise_ctx *c, void **out_spec) {
  const nbits_params *p = c->params;
  const tensor *a = c->in[0];
  TRY(nbits_check(p, c->in_count, c->in));
  matmul_shape shape = {
      .batch = 1, .m = a->count / p->k, .n = p->n, .k = p->k, .a_row = p->k, .a_inner = 1, .b_inner = 1, .b_column = p->k};
  cuda_product *product = mem_alloc(sizeof *product);
  if (!product) return status_out_of_memory();
  status failure = product_from_shape(&shape, a->type, product);
  if (failure) {
    mem_free(product);
    return failure;
  }
  product->end.bias_column = 1;
  cuda_product_plan(product, cuda_processors());
  c->scratch_bytes = product->scratch_bytes;
  *out_spec = product;
  return OK;
}

static status nbits_launch(kernel_ctx *k, stream *s) {
  const nbits_params *p = k->params;
  const tensor *zeros = k->in_count > 3 ? k->in[3] : NULL, *groups = k->in_count > 4 ? k->in[4] : NULL,
               *bias = k->in_count > 5 ? k->in[5] : NULL;
  bool packed = zeros && zeros->type == ORTC_UINT8;
  tensor *y;
  TRY(kernel_output_inferred(k, 0, &y));
  if (!y || y->count == 0) return OK;
  cuda_nbits w = {.bits = p->bits,
                  .block = (int32_t)p->block,
                  .blocks = (int32_t)p->blocks,
                  .codes = k->in[1]->data,
                  .scales = k->in[2]->data,
                  .zero_codes = packed ? zeros->data : NULL,
                  .zeros = zeros && !packed ? zeros->data : NULL,
                  .groups = groups ? groups->data : NULL};
  cuda_operands o = {.a = k->in[0]->data, .bias = bias ? bias->data : NULL, .c = y->data, .scratch = k->scratch};
  return cuda_launched(cuda_nbits_product(k->spec, &w, &o, cuda_raw(s)));
}

KERNEL_FAMILY(nbits) = {
  {.op = "MatMulNBits", .domain = "com.microsoft", .since = 1, .types = CUDA_FLOATS, .supports = nbits_supports, .prepare = nbits_prepare,
   .specialise = nbits_specialise, .dispose_spec = mem_free, .launch = nbits_launch},
  {0}};
