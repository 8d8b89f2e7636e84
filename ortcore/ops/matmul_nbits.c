/* com.microsoft.MatMulNBits: A times a matrix whose weights are 2, 4 or 8 bits in blocks. */
#include <ortcore/kernels/cpu/epilogue.h>
#include <ortcore/kernels/cpu/nbits.h>
#include <ortcore/base/half.h>
#include <ortcore/ops/op.h>
#include <ortcore/ops/params/nbits.h>
#include <string.h>

static status nbits_infer(infer_ctx *c) {
  nbits_params p;
  const fact *a = c->in[0];
  TRY(nbits_params_read(c->node, &p));
  if (!c->out[0] || a->rank == RANK_UNKNOWN) return OK;
  if (a->rank < 1) return ERROR(INVALID_ARGUMENT, "input 'A' is a scalar");
  dim last = a->dims[a->rank - 1];
  if (dim_known(last) && last != p.k)
    return ERROR(INVALID_ARGUMENT, "the last dim of input 'A' is %lld; attribute 'K' is %lld", (long long)last, (long long)p.k);
  fact_copy_shape(c->out[0], a);
  c->out[0]->dims[a->rank - 1] = p.n;
  return OK;
}

/* A float tensor of any float type as f32: itself, or a copy in the kernel's scratch. */
static status as_f32(kernel_ctx *k, const tensor *t, const float **out) {
  *out = t ? t->data : NULL;
  if (!t || t->type == ORTC_FLOAT) return OK;
  void *memory;
  TRY(kernel_scratch(k, (size_t)t->count * sizeof(float), &memory));
  if (t->type == ORTC_FLOAT16) f16_to_f32_n(t->data, memory, (size_t)t->count);
  else bf16_to_f32_n(t->data, memory, (size_t)t->count);
  *out = memory;
  return OK;
}

static status bind_weights(kernel_ctx *k, const nbits_params *p, nbits *w) {
  const tensor *codes = k->in[1], *zeros = k->in_count > 3 ? k->in[3] : NULL, *groups = k->in_count > 4 ? k->in[4] : NULL;
  *w = (nbits){.bits = p->bits, .n = p->n, .k = p->k, .block = p->block, .blocks = p->blocks, .codes = codes->data,
               .groups = groups ? groups->data : NULL};
  nbits_init(w);
  TRY(as_f32(k, k->in[2], &w->scales));
  if (zeros && zeros->type == ORTC_UINT8) w->zero_codes = zeros->data;
  else if (zeros) TRY(as_f32(k, zeros, &w->zeros));
  return groups ? nbits_check_groups(p, groups) : OK;
}

static status nbits_run(kernel_ctx *k) {
  nbits_params p;
  nbits w;
  const tensor *a = k->in[0], *bias = k->in_count > 5 ? k->in[5] : NULL;
  int64_t dims[MAX_RANK];
  tensor *y;
  TRY(nbits_params_read(k->node, &p));
  TRY(nbits_check(&p, k->in_count, k->in));
  TRY(bind_weights(k, &p, &w));
  memcpy(dims, a->dims, sizeof dims);
  dims[a->rank - 1] = p.n;
  TRY(kernel_output(k, 0, a->rank, dims, &y));
  if (!y || y->count == 0) return OK;
  int64_t m = y->count / p.n;
  epilogue end;
  epilogue_init(&end, a->type);
  end.out = y->data, end.row_stride = p.n, end.bias = bias ? bias->data : NULL, end.bias_column_stride = 1;
  void *scratch;
  if (m <= 4) {
    const float *x;
    TRY(as_f32(k, a, &x));
    TRY(kernel_scratch(k, nbits_scratch_bytes(&w, m, k->threads), &scratch));
    nbits_product(&w, m, x, &end.sink, k->threads, scratch);
    return OK;
  }
  gemm_matrix rows;
  gemm_matrix_init(&rows, a->type);
  rows.data = a->data, rows.outer_stride = p.k, rows.inner_stride = 1;
  TRY(kernel_scratch(k, gemm_scratch_bytes(GEMM_F32, k->threads, m, p.n, p.k), &scratch));
  gemm_problem problem = {GEMM_F32, 1, m, p.n, p.k, &rows.side, &w.side, &end.sink};
  gemm_run(&problem, k->threads, scratch);
  return OK;
}

OP_FAMILY(matmul_nbits) = {
  {.name = "MatMulNBits", .domain = "com.microsoft", .since = 1, .signature = "A:T1 B:u8 scales:T1 zero_points:T3? g_idx:i32? bias:T1? -> Y:T1",
   .T1 = TS(FLOAT) | TS_HALF, .T3 = TS(UINT8) | TS(FLOAT) | TS_HALF, .infer = nbits_infer, .run = nbits_run},
  {0}};
