/* A stand-in for cuBLASLt: descriptors with the checks of the real ones, products by the provider's kernels. */
#include "stand_ins.h"

#include <ortcore/kernels/cuda/product.h>
#include <string.h>

#include <initializer_list>
#include <new>

/* The library's opaque types, with what was set. */
struct cublasLtContext { uint32_t magic; };
struct cublas_product_data {
  int compute;
  cudaDataType scale;
  int32_t transposed_a, transposed_b, bias_type;            /* bias_type -1: that of D */
  uint32_t epilogue;
  const void *bias;
  int64_t bias_batch_stride;
};
struct cublas_layout_data {
  cudaDataType type;
  int64_t rows, columns, step;
  int32_t order, batches;
  int64_t batch_stride;
};
struct cublas_preference_data { uint64_t workspace; uint32_t alignment[4]; };

namespace {

constexpr uint32_t alive = 0x4c426375, chosen = 0x43686f73;
constexpr size_t wanted_workspace = 1 << 16;               /* something, so that a caller that passes too little is found out */

struct algorithm { uint32_t magic; uint32_t alignment; uint64_t fingerprint; };   /* in the words of a cublas_algorithm */

const char *status_name(cublas_status status) {
  switch (status) {
    case CUBLAS_OK: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}

size_t version(void) { return 130000; }

/* ---- Descriptors ------------------------------------------------------------------------------------------------------------------ */

cublas_status create(cublas_handle *out) {
  if (!out) return CUBLAS_INVALID_VALUE;
  *out = new (std::nothrow) cublasLtContext{alive};
  return *out ? CUBLAS_OK : CUBLAS_ALLOC_FAILED;
}
cublas_status destroy(cublas_handle handle) {
  if (!handle || handle->magic != alive) return CUBLAS_NOT_INITIALIZED;
  handle->magic = 0;
  delete handle;
  return CUBLAS_OK;
}

bool is_compute(int compute) {
  return compute == CUBLAS_COMPUTE_F32 || compute == CUBLAS_COMPUTE_F32_PEDANTIC || compute == CUBLAS_COMPUTE_F32_TF32 ||
         compute == CUBLAS_COMPUTE_F64;
}
bool is_type(cudaDataType type) { return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_R_16F || type == CUDA_R_16BF; }

cublas_status product_create(cublas_product *out, int compute, cudaDataType scale) {
  if (!out || !is_compute(compute) || (scale != CUDA_R_32F && scale != CUDA_R_64F)) return CUBLAS_INVALID_VALUE;
  *out = new (std::nothrow) cublas_product_data{compute, scale, CUBLAS_PLAIN, CUBLAS_PLAIN, -1, CUBLAS_EPILOGUE_NONE, nullptr, 0};
  return *out ? CUBLAS_OK : CUBLAS_ALLOC_FAILED;
}
cublas_status product_destroy(cublas_product product) {
  delete product;
  return CUBLAS_OK;
}

/* Copies the value if it has the attribute's size, as the library insists. */
template <class T> cublas_status set(T &field, const void *value, size_t bytes) {
  if (!value || bytes != sizeof field) return CUBLAS_INVALID_VALUE;
  memcpy(&field, value, sizeof field);
  return CUBLAS_OK;
}

cublas_status product_set(cublas_product p, int attribute, const void *value, size_t bytes) {
  if (!p) return CUBLAS_INVALID_VALUE;
  switch (attribute) {
    case CUBLAS_PRODUCT_TRANS_A: return set(p->transposed_a, value, bytes);
    case CUBLAS_PRODUCT_TRANS_B: return set(p->transposed_b, value, bytes);
    case CUBLAS_PRODUCT_EPILOGUE: return set(p->epilogue, value, bytes);
    case CUBLAS_PRODUCT_BIAS_POINTER: return set(p->bias, value, bytes);
    case CUBLAS_PRODUCT_BIAS_BATCH_STRIDE: return set(p->bias_batch_stride, value, bytes);
    case CUBLAS_PRODUCT_BIAS_TYPE: return set(p->bias_type, value, bytes);
    default: return CUBLAS_INVALID_VALUE;
  }
}

cublas_status layout_create(cublas_layout *out, cudaDataType type, uint64_t rows, uint64_t columns, int64_t step) {
  if (!out || !is_type(type)) return CUBLAS_INVALID_VALUE;
  *out = new (std::nothrow)
      cublas_layout_data{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), step, CUBLAS_COLUMN_MAJOR, 1, 0};
  return *out ? CUBLAS_OK : CUBLAS_ALLOC_FAILED;
}
cublas_status layout_destroy(cublas_layout layout) {
  delete layout;
  return CUBLAS_OK;
}
cublas_status layout_set(cublas_layout l, int attribute, const void *value, size_t bytes) {
  if (!l) return CUBLAS_INVALID_VALUE;
  switch (attribute) {
    case CUBLAS_LAYOUT_ORDER: return set(l->order, value, bytes);
    case CUBLAS_LAYOUT_BATCH_COUNT: return set(l->batches, value, bytes);
    case CUBLAS_LAYOUT_BATCH_STRIDE: return set(l->batch_stride, value, bytes);
    default: return CUBLAS_INVALID_VALUE;
  }
}

cublas_status preference_create(cublas_preference *out) {
  if (!out) return CUBLAS_INVALID_VALUE;
  *out = new (std::nothrow) cublas_preference_data{0, {256, 256, 256, 256}};
  return *out ? CUBLAS_OK : CUBLAS_ALLOC_FAILED;
}
cublas_status preference_destroy(cublas_preference preference) {
  delete preference;
  return CUBLAS_OK;
}
cublas_status preference_set(cublas_preference p, int attribute, const void *value, size_t bytes) {
  if (!p) return CUBLAS_INVALID_VALUE;
  if (attribute == CUBLAS_PREFER_WORKSPACE_BYTES) return set(p->workspace, value, bytes);
  if (attribute < CUBLAS_PREFER_ALIGNMENT_A || attribute > CUBLAS_PREFER_ALIGNMENT_D) return CUBLAS_INVALID_VALUE;
  return set(p->alignment[attribute - CUBLAS_PREFER_ALIGNMENT_A], value, bytes);
}

/* ---- What fits together --------------------------------------------------------------------------------------------------------- */

bool is_layout(const cublas_layout_data *l) {
  return l && l->order == CUBLAS_COLUMN_MAJOR && l->rows > 0 && l->columns > 0 && l->step >= l->rows && l->batches > 0 &&
         l->batch_stride >= 0;
}

cublas_status check(const cublas_product_data *p, const cublas_layout_data *a, const cublas_layout_data *b, const cublas_layout_data *c,
                    const cublas_layout_data *d) {
  if (!p || !is_layout(a) || !is_layout(b) || !is_layout(c) || !is_layout(d)) return CUBLAS_INVALID_VALUE;
  int64_t m = p->transposed_a ? a->columns : a->rows, k = p->transposed_a ? a->rows : a->columns;
  int64_t other_k = p->transposed_b ? b->columns : b->rows, n = p->transposed_b ? b->rows : b->columns;
  if (k != other_k || d->rows != m || d->columns != n || c->rows != m || c->columns != n) return CUBLAS_INVALID_VALUE;
  if (a->batches != d->batches || b->batches != d->batches || c->batches != d->batches) return CUBLAS_INVALID_VALUE;
  if (d->batches > 1 && d->batch_stride < d->step * (d->columns - 1) + d->rows) return CUBLAS_INVALID_VALUE;
  bool is_double = p->compute == CUBLAS_COMPUTE_F64;
  if (a->type != b->type || c->type != a->type || d->type != a->type) return CUBLAS_NOT_SUPPORTED;
  if (is_double != (a->type == CUDA_R_64F) || (p->scale == CUDA_R_64F) != is_double) return CUBLAS_NOT_SUPPORTED;
  if (p->compute == CUBLAS_COMPUTE_F32_TF32 && a->type != CUDA_R_32F) return CUBLAS_NOT_SUPPORTED;
  bool known = p->epilogue == CUBLAS_EPILOGUE_NONE || p->epilogue == CUBLAS_EPILOGUE_RELU || p->epilogue == CUBLAS_EPILOGUE_BIAS ||
               p->epilogue == CUBLAS_EPILOGUE_RELU_BIAS;
  bool bias_fits = p->bias_type < 0 || p->bias_type == static_cast<int32_t>(d->type);
  return known && bias_fits ? CUBLAS_OK : CUBLAS_NOT_SUPPORTED;
}

/* A choice is for one product: everything but addresses goes into its fingerprint. */
uint64_t fingerprint_of(const cublas_product_data *p, const cublas_layout_data *a, const cublas_layout_data *b, const cublas_layout_data *c,
                        const cublas_layout_data *d) {
  uint64_t hash = 0xcbf29ce484222325u;
  auto mix = [&](int64_t value) { hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001b3u; };
  for (int64_t value : {int64_t{p->compute}, int64_t{p->transposed_a}, int64_t{p->transposed_b}, int64_t{p->epilogue}}) mix(value);
  for (const cublas_layout_data *l : {a, b, c, d})
    for (int64_t value : {int64_t{l->type}, l->rows, l->columns, l->step, int64_t{l->batches}, l->batch_stride}) mix(value);
  return hash;
}

cublas_status choose(cublas_handle handle, cublas_product p, cublas_layout a, cublas_layout b, cublas_layout c, cublas_layout d,
                     cublas_preference preference, int wanted, cublas_choice *out_choices, int *out_count) {
  if (!handle || handle->magic != alive) return CUBLAS_NOT_INITIALIZED;
  if (!preference || wanted < 1 || !out_choices || !out_count) return CUBLAS_INVALID_VALUE;
  *out_count = 0;
  cublas_status s = check(p, a, b, c, d);
  if (s) return s;
  uint32_t alignment = 256;
  for (uint32_t given : preference->alignment) alignment = given < alignment ? given : alignment;
  algorithm made = {chosen, alignment, fingerprint_of(p, a, b, c, d)};
  out_choices[0] = {};
  memcpy(&out_choices[0].algorithm, &made, sizeof made);
  out_choices[0].workspace_bytes = preference->workspace < wanted_workspace ? 0 : wanted_workspace;
  *out_count = 1;
  return CUBLAS_OK;
}

/* ---- The product ------------------------------------------------------------------------------------------------------------------ */

dtype dtype_of(cudaDataType type) {
  return type == CUDA_R_32F ? ORTC_FLOAT : type == CUDA_R_16F ? ORTC_FLOAT16 : type == CUDA_R_16BF ? ORTC_BFLOAT16 : ORTC_DOUBLE;
}

/* D' = B' A' in the kernels' row-major words: the library's B comes first, its columns are their rows. */
cuda_product product_of(const cublas_product_data *p, const cublas_layout_data *a, const cublas_layout_data *b, const cublas_layout_data *d,
                        float alpha) {
  cuda_product q = {};
  q.type = dtype_of(d->type);
  q.m = d->columns, q.n = d->rows, q.k = p->transposed_a ? a->rows : a->columns;
  q.a_inner = p->transposed_b ? b->step : 1, q.a_row = p->transposed_b ? 1 : b->step;
  q.b_column = p->transposed_a ? a->step : 1, q.b_inner = p->transposed_a ? 1 : a->step;
  q.c_row = d->step, q.c_column = 1;
  cuda_batch_add(&q.batch, d->batches, b->batch_stride, a->batch_stride, d->batch_stride, p->bias_batch_stride);
  bool relu = p->epilogue == CUBLAS_EPILOGUE_RELU || p->epilogue == CUBLAS_EPILOGUE_RELU_BIAS;
  q.end = {alpha, 1, 0, 1, {relu ? ACTIVATION_RELU : ACTIVATION_NONE, 0, 0}};
  q.route = CUDA_PRODUCT_TILES_64;
  q.splits = 1;
  return q;
}

cublas_status multiply(cublas_handle handle, cublas_product p, const void *alpha, const void *a, cublas_layout a_layout, const void *b,
                       cublas_layout b_layout, const void *beta, const void *c, cublas_layout c_layout, void *d, cublas_layout d_layout,
                       const cublas_algorithm *how, void *workspace, size_t workspace_bytes, void *stream) {
  if (!handle || handle->magic != alive) return CUBLAS_NOT_INITIALIZED;
  if (!alpha || !beta || !how) return CUBLAS_INVALID_VALUE;
  cublas_status s = check(p, a_layout, b_layout, c_layout, d_layout);
  if (s) return s;
  algorithm made;
  memcpy(&made, how, sizeof made);
  if (made.magic != chosen || made.fingerprint != fingerprint_of(p, a_layout, b_layout, c_layout, d_layout)) return CUBLAS_INVALID_VALUE;
  bool has_bias = p->epilogue == CUBLAS_EPILOGUE_BIAS || p->epilogue == CUBLAS_EPILOGUE_RELU_BIAS;
  double scale = p->scale == CUDA_R_64F ? *static_cast<const double *>(alpha) : *static_cast<const float *>(alpha);
  double added = p->scale == CUDA_R_64F ? *static_cast<const double *>(beta) : *static_cast<const float *>(beta);
  for (const void *data : {a, b, static_cast<const void *>(d), added != 0 ? c : d, has_bias ? p->bias : d})
    if (!emulator::is_device_memory(data, made.alignment)) return CUBLAS_INVALID_VALUE;
  if (c == d && memcmp(c_layout, d_layout, sizeof *c_layout)) return CUBLAS_INVALID_VALUE;
  if ((added != 0 && added != 1) || c_layout->step != d_layout->step || c_layout->batch_stride != d_layout->batch_stride)
    return CUBLAS_NOT_SUPPORTED;
  /* A workspace is the library's to write to. */
  if (workspace_bytes &&
      (!workspace || cudaMemsetAsync(workspace, 0xa5, workspace_bytes, static_cast<cudaStream_t>(stream)) != cudaSuccess))
    return CUBLAS_INVALID_VALUE;
  cuda_product product = product_of(p, a_layout, b_layout, d_layout, static_cast<float>(scale));
  cuda_operands operands = {b, a, has_bias ? p->bias : nullptr, added != 0 ? c : nullptr, d, nullptr};
  return cuda_product_run(&product, &operands, stream) ? CUBLAS_EXECUTION_FAILED : CUBLAS_OK;
}

}  // namespace

#define X(result, name, symbol, parameters) {#symbol, reinterpret_cast<void *>(static_cast<result(*) parameters>(name))},
const emulator::stand_in emulator::cublas_stand_ins[] = {CUBLAS_FUNCTIONS(X){nullptr, nullptr}};
#undef X
