/* Matrix products of one element type on a GPU: MatMul, Gemm, and their fused forms. */
#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/ops/matmul_shape.h>
#include <ortcore/ops/params/matmul.h>
#include <ortcore/provider/cuda/blas.h>
#include <ortcore/provider/cuda/product.h>
#include <string.h>

typedef struct matmul_params { const matmul_kind *kind; matmul_attrs attrs; } matmul_params;
typedef struct matmul_spec { cuda_product product; blas_plan *library; } matmul_spec;   /* library NULL: our own kernels */

static status matmul_prepare(prepare_ctx *c, void **out_params) {
  matmul_params *p = ZONE_NEW(c->memory, matmul_params);
  if (!p) return status_out_of_memory();
  p->kind = c->data;
  TRY(matmul_attrs_read(c->node, p->kind, &p->attrs));
  TRY(matmul_attrs_check(&p->attrs, c->in[1]->type));
  *out_params = p;
  return OK;
}

static const tensor *at(const tensor *const *in, int32_t count, int32_t i) { return i < count ? in[i] : NULL; }

status product_from_shape(const matmul_shape *s, dtype type, cuda_product *out) {
  *out = (cuda_product){.type = type, .m = s->m, .n = s->n, .k = s->k, .a_row = s->a_row, .a_inner = s->a_inner, .b_inner = s->b_inner,
                        .b_column = s->b_column, .c_row = s->n, .c_column = 1, .end = {.alpha = 1, .beta = 1}};
  if (s->m > INT32_MAX || s->n > INT32_MAX || s->k > INT32_MAX)
    return ERROR(NOT_IMPLEMENTED, "a product of %lld x %lld by %lld x %lld is too large for a GPU: dims of the matrices are below 2^31",
                 (long long)s->m, (long long)s->k, (long long)s->k, (long long)s->n);
  int64_t steps[MAX_RANK], step = s->m * s->n;
  for (int d = s->batch_rank - 1; d >= 0; --d) {
    steps[d] = step;
    step *= s->out_dims[d];
  }
  for (int d = 0; d < s->batch_rank; ++d)
    if (!cuda_batch_add(&out->batch, s->out_dims[d], s->a_steps[d], s->b_steps[d], steps[d], 0))
      return ERROR(NOT_IMPLEMENTED, "the batch dims of A and B are broadcast in more than %d different ways", CUDA_BATCH_RANK);
  return OK;
}

static status matmul_specialise(specialise_ctx *c, void **out_spec) {
  const matmul_params *p = c->params;
  const tensor *bias = at(c->in, c->in_count, 2);
  matmul_shape shape;
  TRY(matmul_shape_read(&shape, c->in[0], c->in[1], p->attrs.trans_a, p->attrs.trans_b));
  cuda_product product;
  TRY(product_from_shape(&shape, c->in[0]->type, &product));
  product.end.alpha = p->attrs.alpha, product.end.beta = p->attrs.beta, product.end.act = p->attrs.act;
  if (bias) TRY(matmul_bias_strides(bias, &shape, &product.end.bias_row, &product.end.bias_column));
  if (p->kind->residual) TRY(matmul_check_residual(at(c->in, c->in_count, 3), &shape));
  cuda_product_plan(&product, cuda_processors());
  blas_plan *library;
  TRY(blas_plan_create(&product, bias != NULL, at(c->in, c->in_count, 3) != NULL, c->cuda, &library));
  matmul_spec *spec = mem_alloc(sizeof *spec);
  if (!spec) {
    blas_plan_release(library);
    return status_out_of_memory();
  }
  *spec = (matmul_spec){product, library};
  LOG(VERBOSE, "node '%s' (%s): product by %s", c->node->name, c->node->op_type, library ? "cuBLASLt" : cuda_product_route_name(&product));
  if (library) c->computed_by = "cuBLASLt";
  c->scratch_bytes = product.scratch_bytes;
  if (library && blas_scratch_bytes(library) > c->scratch_bytes) c->scratch_bytes = blas_scratch_bytes(library);
  *out_spec = spec;
  return OK;
}

static void matmul_dispose_spec(void *spec) {
  blas_plan_release(((matmul_spec *)spec)->library);
  mem_free(spec);
}

static status matmul_launch(kernel_ctx *k, stream *s) {
  const tensor *bias = at(k->in, k->in_count, 2), *residual = at(k->in, k->in_count, 3);
  tensor *y;
  TRY(kernel_output_inferred(k, 0, &y));
  if (!y) return OK;
  cuda_operands o = {.a = k->in[0]->data,
                     .b = k->in[1]->data,
                     .bias = bias ? bias->data : NULL,
                     .residual = residual ? residual->data : NULL,
                     .c = y->data,
                     .scratch = k->scratch};
  const matmul_spec *spec = k->spec;
  if (spec->library && blas_takes(&o)) return blas_run(spec->library, &spec->product, &o, cuda_raw(s));
  return cuda_launched(cuda_product_run(&spec->product, &o, cuda_raw(s)));
}

#define CUDA_PRODUCTS (TS_FLOAT | TS(INT32) | TS(INT64) | TS(UINT32) | TS(UINT64))
#define MATMUL_FUNCTIONS .prepare = matmul_prepare, .specialise = matmul_specialise, .dispose_spec = matmul_dispose_spec, .launch = matmul_launch

KERNEL_FAMILY(matmul) = {
  {.op = "MatMul", .since = 1, .types = CUDA_PRODUCTS, MATMUL_FUNCTIONS, .data = &matmul_plain},
  {.op = "Gemm", .since = 1, .types = TS_FLOAT, MATMUL_FUNCTIONS, .data = &matmul_gemm},
  {.op = "Gemm", .since = 7, .types = CUDA_PRODUCTS, MATMUL_FUNCTIONS, .data = &matmul_gemm},
  {.op = "FusedMatMul", .domain = "com.microsoft", .since = 1, .types = TS_FLOAT, MATMUL_FUNCTIONS, .data = &matmul_scaled},
  {.op = "TransposeMatMul", .domain = "com.microsoft", .since = 1, .types = TS_FLOAT, MATMUL_FUNCTIONS, .data = &matmul_scaled},
  {.op = "FusedGemm", .domain = "com.microsoft", .since = 1, .types = CUDA_PRODUCTS, MATMUL_FUNCTIONS, .data = &matmul_fused_gemm},
  {.op = "FusedMatMul", .domain = "ortcore", .since = 1, .types = TS_FLOAT, MATMUL_FUNCTIONS, .data = &matmul_fused},
  {0}};
