#include <cuda_runtime_api.h>
#include <ortcore/base/mem.h>
#include <ortcore/provider/cuda/blas.h>
#include <ortcore/provider/cuda/device.h>
#include <ortcore/provider/cuda/libraries.h>
#include <pthread.h>

/* The library counts columns first, so it is asked for C' = B' A': its first operand is our B, its rows are our columns. */
struct blas_plan {
  const cublas_functions *f;
  cublas_handle handle;
  cublas_product product;
  cublas_layout a, b, c;                                    /* of our A, B and C */
  cublas_algorithm algorithm;
  size_t workspace_bytes;
  bool adds_bias, adds_residual;                            /* in the library's launch; */
  bool finishes;                                            /* what is left then: an activation, another bias, in one of ours */
  pthread_mutex_t lock;                                     /* the bias's address is part of the product, which all runs share */
};

enum { BLAS_ALIGNMENT = 16, BLAS_WORKSPACE = 32 << 20 };

void blas_plan_release(blas_plan *p) {
  if (!p) return;
  if (p->product) p->f->product_destroy(p->product);
  if (p->a) p->f->layout_destroy(p->a);
  if (p->b) p->f->layout_destroy(p->b);
  if (p->c) p->f->layout_destroy(p->c);
  pthread_mutex_destroy(&p->lock);
  mem_free(p);
}

size_t blas_scratch_bytes(const blas_plan *p) { return p->workspace_bytes; }

static bool type_of(dtype type, cudaDataType *out) {
  static const struct { dtype type; cudaDataType cuda; } types[] = {
    {ORTC_FLOAT, CUDA_R_32F}, {ORTC_FLOAT16, CUDA_R_16F}, {ORTC_BFLOAT16, CUDA_R_16BF}, {ORTC_DOUBLE, CUDA_R_64F}};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (types[i].type != type) continue;
    *out = types[i].cuda;
    return true;
  }
  return false;
}

/* A matrix of rows x columns in the library's order. Its elements are `down` and `across` apart, of which one must be 1; if it is `across`, the
 * matrix lies transposed. */
static cublas_status make_layout(const cublas_functions *f, cudaDataType type, int64_t rows, int64_t columns, int64_t down, int64_t across,
                                 const cuda_batch *batch, int64_t batch_step, bool *out_transposed, cublas_layout *out) {
  *out_transposed = down != 1 && across == 1;
  int64_t step = *out_transposed ? down : across, height = *out_transposed ? columns : rows;
  cublas_status s =
      f->layout_create(out, type, (uint64_t)height, (uint64_t)(*out_transposed ? rows : columns), step > height ? step : height);
  if (s || batch->rank == 0) return s;
  int32_t count = (int32_t)batch->count;
  s = f->layout_set(*out, CUBLAS_LAYOUT_BATCH_COUNT, &count, sizeof count);
  return s ? s : f->layout_set(*out, CUBLAS_LAYOUT_BATCH_STRIDE, &batch_step, sizeof batch_step);
}

static cublas_status describe(blas_plan *b, const cuda_product *p, cudaDataType type, bool tf32) {
  const cublas_functions *f = b->f;
  bool trans_a = false, trans_b = false, trans_c = false;
  int compute = p->type == ORTC_DOUBLE ? CUBLAS_COMPUTE_F64 : p->type == ORTC_FLOAT && tf32 ? CUBLAS_COMPUTE_F32_TF32 : CUBLAS_COMPUTE_F32;
  cublas_status s = f->product_create(&b->product, compute, p->type == ORTC_DOUBLE ? CUDA_R_64F : CUDA_R_32F);
  if (!s) s = make_layout(f, type, p->n, p->k, p->b_column, p->b_inner, &p->batch, p->batch.b[0], &trans_b, &b->b);
  if (!s) s = make_layout(f, type, p->k, p->m, p->a_inner, p->a_row, &p->batch, p->batch.a[0], &trans_a, &b->a);
  if (!s) s = make_layout(f, type, p->n, p->m, p->c_column, p->c_row, &p->batch, p->batch.c[0], &trans_c, &b->c);
  int32_t operations[2] = {trans_b ? CUBLAS_TRANSPOSED : CUBLAS_PLAIN, trans_a ? CUBLAS_TRANSPOSED : CUBLAS_PLAIN};
  if (!s) s = f->product_set(b->product, CUBLAS_PRODUCT_TRANS_A, &operations[0], sizeof operations[0]);
  if (!s) s = f->product_set(b->product, CUBLAS_PRODUCT_TRANS_B, &operations[1], sizeof operations[1]);
  bool relu = p->end.act.kind == ACTIVATION_RELU && !b->finishes;
  uint32_t epilogue = b->adds_bias ? (relu ? CUBLAS_EPILOGUE_RELU_BIAS : CUBLAS_EPILOGUE_BIAS)
                      : relu       ? CUBLAS_EPILOGUE_RELU
                                   : CUBLAS_EPILOGUE_NONE;
  if (!s) s = f->product_set(b->product, CUBLAS_PRODUCT_EPILOGUE, &epilogue, sizeof epilogue);
  int32_t bias_type = (int32_t)type;
  if (!s && b->adds_bias) s = f->product_set(b->product, CUBLAS_PRODUCT_BIAS_TYPE, &bias_type, sizeof bias_type);
  return s;
}

/* The library's first choice; false if it has none. */
static bool choose(blas_plan *b) {
  static const int alignments[] = {CUBLAS_PREFER_ALIGNMENT_A, CUBLAS_PREFER_ALIGNMENT_B, CUBLAS_PREFER_ALIGNMENT_C,
                                   CUBLAS_PREFER_ALIGNMENT_D};
  const cublas_functions *f = b->f;
  cublas_preference preference;
  cublas_choice choice = {0};
  uint64_t most = BLAS_WORKSPACE;
  uint32_t alignment = BLAS_ALIGNMENT;
  int count = 0;
  if (f->preference_create(&preference)) return false;
  cublas_status s = f->preference_set(preference, CUBLAS_PREFER_WORKSPACE_BYTES, &most, sizeof most);
  for (size_t i = 0; i < 4 && !s; ++i) s = f->preference_set(preference, alignments[i], &alignment, sizeof alignment);
  if (!s) s = f->choose(b->handle, b->product, b->b, b->a, b->c, b->c, preference, 1, &choice, &count);
  f->preference_destroy(preference);
  if (s || count < 1 || choice.status) return false;
  b->algorithm = choice.algorithm;
  b->workspace_bytes = choice.workspace_bytes;
  return true;
}

/* One axis of batches, each operand with a stride of its own; matrices that run along rows or columns. */
static bool is_regular(const cuda_product *p) {
  return p->batch.rank <= 1 && p->batch.count <= INT32_MAX && (p->a_row == 1 || p->a_inner == 1) && (p->b_inner == 1 || p->b_column == 1) &&
         p->c_column == 1 && p->image_columns == 0 && p->m > 0 && p->n > 0 && p->k > 0 && p->batch.count > 0;
}

status blas_plan_create(const cuda_product *p, bool bias, bool residual, const cuda_options *options, blas_plan **out) {
  *out = NULL;
  cudaDataType type;
  int index = 0;
  const cublas_functions *f = cuda_cublas(NULL);
  if (!f || !type_of(p->type, &type) || p->route == CUDA_PRODUCT_VECTOR || !is_regular(p)) return OK;
  if (cudaGetDevice(&index) != cudaSuccess || !cuda_device_at(index)) return OK;
  blas_plan *b = MEM_NEW(blas_plan);
  if (!b) return status_out_of_memory();
  pthread_mutex_init(&b->lock, NULL);
  b->f = f;
  b->adds_bias = bias && p->end.beta == 1 && p->end.bias_column == 1 && p->end.bias_row == 0;
  b->adds_residual = residual;
  bool bias_is_left = bias && p->end.beta != 0 && !b->adds_bias;
  b->finishes = bias_is_left || (p->end.act.kind != ACTIVATION_NONE && p->end.act.kind != ACTIVATION_RELU);
  status failure = cuda_cublas_handle(cuda_device_at(index), &b->handle);
  if (!failure && !describe(b, p, type, !options || options->tf32) && choose(b)) *out = b;
  else blas_plan_release(b);
  return failure;
}

bool blas_takes(const cuda_operands *o) {
  uintptr_t all = (uintptr_t)o->a | (uintptr_t)o->b | (uintptr_t)o->c | (uintptr_t)o->bias | (uintptr_t)o->residual;
  return all % BLAS_ALIGNMENT == 0;
}

status blas_run(blas_plan *b, const cuda_product *p, const cuda_operands *o, void *stream) {
  double alpha_f64 = p->end.alpha, beta_f64 = b->adds_residual ? 1 : 0;
  float alpha_f32 = p->end.alpha, beta_f32 = b->adds_residual ? 1 : 0;
  bool is_double = p->type == ORTC_DOUBLE;
  const void *alpha = is_double ? (const void *)&alpha_f64 : &alpha_f32, *beta = is_double ? (const void *)&beta_f64 : &beta_f32;
  const void *added = b->adds_residual ? o->residual : o->c;
  cublas_status s = CUBLAS_OK;
  pthread_mutex_lock(&b->lock);
  if (b->adds_bias) s = b->f->product_set(b->product, CUBLAS_PRODUCT_BIAS_POINTER, &o->bias, sizeof o->bias);
  if (!s)
    s = b->f->multiply(b->handle, b->product, alpha, o->b, b->b, o->a, b->a, beta, added, b->c, o->c, b->c, &b->algorithm, o->scratch,
                       b->workspace_bytes, stream);
  pthread_mutex_unlock(&b->lock);
  TRY(cublas_check(s, "cuBLASLt cannot multiply the matrices"));
  if (!b->finishes) return OK;
  cuda_operands rest = {.bias = b->adds_bias ? NULL : o->bias, .c = o->c};
  return cuda_launched(cuda_product_finish(p, &rest, stream));
}
