/* com.microsoft.MatMulNBits: A times a matrix whose weights are 2, 4 or 8 bits in blocks. */
#include <ortcore/kernels/cpu/epilogue.h>
#include <ortcore/kernels/cpu/nbits.h>
#include <ortcore/base/half.h>
#include <ortcore/ops/op.h>
#include <string.h>

typedef struct nbits_params { int bits; int64_t n, k, block, blocks; } nbits_params;

static status read_params(const node *n, nbits_params *p) {
  *p = (nbits_params){(int)attr_int_or(n, "bits", 4), attr_int_or(n, "N", 0), attr_int_or(n, "K", 0), attr_int_or(n, "block_size", 0), 0};
  if (p->bits != 2 && p->bits != 4 && p->bits != 8) return ERROR(NOT_IMPLEMENTED, "attribute 'bits' is %d; 2, 4 and 8 are supported", p->bits);
  if (p->n < 1 || p->k < 1 || p->n > INT32_MAX || p->k > INT32_MAX)
    return ERROR(INVALID_ARGUMENT, "attributes 'N' and 'K' are %lld and %lld; they must be positive", (long long)p->n, (long long)p->k);
  if (p->block < 16 || p->block > 1 << 20 || (p->block & (p->block - 1)))
    return ERROR(INVALID_ARGUMENT, "attribute 'block_size' is %lld; it must be a power of two, at least 16", (long long)p->block);
  if (attr_int_or(n, "weight_prepacked", 0))
    return ERROR(NOT_IMPLEMENTED, "attribute 'weight_prepacked' is set; weights in the layout of one GPU cannot be read here");
  p->blocks = (p->k + p->block - 1) / p->block;
  return OK;
}

static status nbits_infer(infer_ctx *c) {
  nbits_params p;
  const fact *a = c->in[0];
  TRY(read_params(c->node, &p));
  if (!c->out[0] || a->rank == RANK_UNKNOWN) return OK;
  if (a->rank < 1) return ERROR(INVALID_ARGUMENT, "input 'A' is a scalar");
  dim last = a->dims[a->rank - 1];
  if (dim_known(last) && last != p.k)
    return ERROR(INVALID_ARGUMENT, "the last dim of input 'A' is %lld; attribute 'K' is %lld", (long long)last, (long long)p.k);
  fact_copy_shape(c->out[0], a);
  c->out[0]->dims[a->rank - 1] = p.n;
  return OK;
}

static status expect_count(const tensor *t, const char *what, int64_t count) {
  if (!t || t->count == count) return OK;
  return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements; 'N', 'K', 'bits' and 'block_size' make it %lld", what, (long long)t->count,
               (long long)count);
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
  TRY(expect_count(codes, "B", p->n * p->blocks * (p->block * p->bits / 8)));
  TRY(expect_count(k->in[2], "scales", p->n * p->blocks));
  TRY(as_f32(k, k->in[2], &w->scales));
  if (zeros && zeros->type == ORTC_UINT8) {
    TRY(expect_count(zeros, "zero_points", p->n * ((p->blocks * p->bits + 7) / 8)));
    w->zero_codes = zeros->data;
  } else if (zeros) {
    TRY(expect_count(zeros, "zero_points", p->n * p->blocks));
    TRY(as_f32(k, zeros, &w->zeros));
  }
  if (!groups) return OK;
  if (groups->count < p->k) return ERROR(INVALID_ARGUMENT, "input 'g_idx' has %lld elements; 'K' is %lld", (long long)groups->count, (long long)p->k);
  for (int64_t i = 0; i < p->k; ++i)
    if (w->groups[i] < 0 || w->groups[i] >= p->blocks)
      return ERROR(INVALID_ARGUMENT, "input 'g_idx' holds %d; there are %lld blocks", (int)w->groups[i], (long long)p->blocks);
  return OK;
}

static status nbits_run(kernel_ctx *k) {
  nbits_params p;
  nbits w;
  const tensor *a = k->in[0], *bias = k->in_count > 5 ? k->in[5] : NULL;
  int64_t dims[MAX_RANK];
  tensor *y;
  TRY(read_params(k->node, &p));
  TRY(bind_weights(k, &p, &w));
  TRY(expect_count(bias, "bias", p.n));
  if (a->dims[a->rank - 1] != p.k)
    return ERROR(INVALID_ARGUMENT, "the last dim of input 'A' is %lld; attribute 'K' is %lld", (long long)a->dims[a->rank - 1], (long long)p.k);
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
