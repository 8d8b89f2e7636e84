/* A stand-in for the part of cuDNN that convolves: descriptors with the checks of the real ones, convolutions by the provider's kernels. */
#include "stand_ins.h"

#include <ortcore/kernels/cuda/conv.h>
#include <string.h>

#include <initializer_list>
#include <new>

constexpr int most_rank = 5;

/* The library's opaque types, with what was set; rank 0 and axes 0: nothing yet. */
struct cudnnContext { uint32_t magic; void *stream; };
struct cudnnTensorStruct { int type, rank, dims[most_rank], strides[most_rank]; };
struct cudnnFilterStruct { int type, format, rank, dims[most_rank]; };
struct cudnnConvolutionStruct { int axes, pads[3], strides[3], dilations[3], mode, compute, groups, math; };
struct cudnnActivationStruct { int mode, nan; double coefficient; };

namespace {

constexpr cudnn_status ok = CUDNN_OK, bad_param = 2000, not_supported = 3000, internal_error = 4000, execution_failed = 5000;   /* as cuDNN 9 counts them */
constexpr uint32_t alive = 0x444e4e21;
constexpr size_t wanted_workspace = 1 << 16;               /* of the algorithm that needs one: a caller that passes too little is found out */

size_t version(void) { return 90100; }

const char *status_name(cudnn_status status) {
  switch (status) {
    case ok: return "CUDNN_STATUS_SUCCESS";
    case bad_param: return "CUDNN_STATUS_BAD_PARAM";
    case not_supported: return "CUDNN_STATUS_NOT_SUPPORTED";
    case execution_failed: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "CUDNN_STATUS_INTERNAL_ERROR";
  }
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------------------------ */

template <class T> cudnn_status make(T **out) {
  if (!out) return bad_param;
  *out = new (std::nothrow) T{};
  return *out ? ok : internal_error;
}
template <class T> cudnn_status drop(T *object) {
  delete object;
  return ok;
}

cudnn_status create(cudnn_handle *out) {
  cudnn_status s = make(out);
  if (!s) (*out)->magic = alive;
  return s;
}
cudnn_status destroy(cudnn_handle handle) {
  if (!handle || handle->magic != alive) return bad_param;
  handle->magic = 0;
  return drop(handle);
}
cudnn_status set_stream(cudnn_handle handle, void *stream) {
  if (!handle || handle->magic != alive) return bad_param;
  handle->stream = stream;
  return ok;
}

bool is_type(int type) { return type == CUDNN_F32 || type == CUDNN_F64 || type == CUDNN_F16 || type == CUDNN_BF16; }

bool are_positive(int count, const int *values) {
  for (int i = 0; i < count; ++i)
    if (values[i] < 1) return false;
  return true;
}

cudnn_status tensor_create(cudnn_tensor *out) { return make(out); }
cudnn_status tensor_destroy(cudnn_tensor tensor) { return drop(tensor); }
cudnn_status tensor_set(cudnn_tensor t, int type, int rank, const int *dims, const int *strides) {
  if (!t || !is_type(type) || !dims || !strides) return bad_param;
  if (rank < 3 || rank > most_rank) return not_supported;
  if (!are_positive(rank, dims) || !are_positive(rank, strides)) return bad_param;
  t->type = type, t->rank = rank;
  memcpy(t->dims, dims, sizeof *dims * rank);
  memcpy(t->strides, strides, sizeof *strides * rank);
  return ok;
}

cudnn_status filter_create(cudnn_filter *out) { return make(out); }
cudnn_status filter_destroy(cudnn_filter filter) { return drop(filter); }
cudnn_status filter_set(cudnn_filter w, int type, int format, int rank, const int *dims) {
  if (!w || !is_type(type) || !dims || (format != CUDNN_NCHW && format != CUDNN_NHWC)) return bad_param;
  if (rank < 4 || rank > most_rank) return not_supported;
  if (!are_positive(rank, dims)) return bad_param;
  w->type = type, w->format = format, w->rank = rank;
  memcpy(w->dims, dims, sizeof *dims * rank);
  return ok;
}

cudnn_status convolution_create(cudnn_convolution *out) {
  cudnn_status s = make(out);
  if (!s) (*out)->groups = 1;
  return s;
}
cudnn_status convolution_destroy(cudnn_convolution convolution) { return drop(convolution); }
cudnn_status convolution_set(cudnn_convolution c, int axes, const int *pads, const int *strides, const int *dilations, int mode,
                             int compute) {
  if (!c || axes < 2 || axes > 3 || !pads || !strides || !dilations || mode < 0 || mode > CUDNN_CROSS_CORRELATION || !is_type(compute))
    return bad_param;
  for (int i = 0; i < axes; ++i)
    if (pads[i] < 0) return bad_param;
  if (!are_positive(axes, strides) || !are_positive(axes, dilations)) return bad_param;
  c->axes = axes, c->mode = mode, c->compute = compute;
  memcpy(c->pads, pads, sizeof *pads * axes);
  memcpy(c->strides, strides, sizeof *strides * axes);
  memcpy(c->dilations, dilations, sizeof *dilations * axes);
  return ok;
}
cudnn_status convolution_set_groups(cudnn_convolution c, int groups) {
  if (!c || groups < 1) return bad_param;
  c->groups = groups;
  return ok;
}
cudnn_status convolution_set_math(cudnn_convolution c, int math) {
  if (!c || math < CUDNN_MATH_DEFAULT || math > CUDNN_MATH_FMA) return bad_param;
  c->math = math;
  return ok;
}

cudnn_status activation_create(cudnn_activation *out) { return make(out); }
cudnn_status activation_destroy(cudnn_activation activation) { return drop(activation); }
cudnn_status activation_set(cudnn_activation a, int mode, int nan, double coefficient) {
  if (!a || mode < 0 || mode > 7 || nan < 0 || nan > CUDNN_PROPAGATE_NAN) return bad_param;
  *a = {mode, nan, coefficient};
  return ok;
}

/* ---- What fits together --------------------------------------------------------------------------------------------------------- */

bool is_dense(const cudnn_tensor t) {
  int step = 1;
  for (int d = t->rank - 1; d >= 0; step *= t->dims[d--])
    if (t->strides[d] != step) return false;
  return true;
}

/* The output's extent along an axis, as cudnnGetConvolutionNdForwardOutputDim has it. */
int extent_of(const cudnn_convolution c, const cudnn_tensor x, const cudnn_filter w, int axis) {
  int reach = (w->dims[2 + axis] - 1) * c->dilations[axis] + 1;
  return 1 + (x->dims[2 + axis] + 2 * c->pads[axis] - reach) / c->strides[axis];
}

cudnn_status check(cudnn_handle handle, const cudnn_tensor x, const cudnn_filter w, const cudnn_convolution c, const cudnn_tensor y) {
  if (!handle || handle->magic != alive || !x || !w || !c || !y || !x->rank || !w->rank || !c->axes || !y->rank) return bad_param;
  if (x->rank != y->rank || x->rank != w->rank || x->rank != c->axes + 2 || x->type != w->type || x->type != y->type) return bad_param;
  if (x->dims[0] != y->dims[0] || x->dims[1] != w->dims[1] * c->groups || y->dims[1] != w->dims[0] || w->dims[0] % c->groups)
    return bad_param;
  for (int axis = 0; axis < c->axes; ++axis)
    if (extent_of(c, x, w, axis) != y->dims[2 + axis]) return bad_param;
  if ((x->type == CUDNN_F64) != (c->compute == CUDNN_F64) || (x->type != CUDNN_F64 && c->compute != CUDNN_F32)) return not_supported;
  return is_dense(x) && is_dense(y) && w->format == CUDNN_NCHW && c->mode == CUDNN_CROSS_CORRELATION ? ok : not_supported;
}

size_t workspace_of(int algorithm) { return algorithm == CUDNN_IMPLICIT_PRECOMP_GEMM ? wanted_workspace : 0; }

cudnn_status workspace_bytes(cudnn_handle handle, cudnn_tensor x, cudnn_filter w, cudnn_convolution c, cudnn_tensor y, int algorithm,
                             size_t *out_bytes) {
  if (!out_bytes) return bad_param;
  cudnn_status s = check(handle, x, w, c, y);
  if (s) return s;
  if (algorithm != CUDNN_IMPLICIT_GEMM && algorithm != CUDNN_IMPLICIT_PRECOMP_GEMM) return not_supported;
  *out_bytes = workspace_of(algorithm);
  return ok;
}

cudnn_status choose(cudnn_handle handle, cudnn_tensor x, cudnn_filter w, cudnn_convolution c, cudnn_tensor y, int wanted, int *out_count,
                    cudnn_choice *out_choices) {
  if (wanted < 1 || !out_count || !out_choices) return bad_param;
  cudnn_status s = check(handle, x, w, c, y);
  if (s) return s;
  *out_count = 0;
  for (int algorithm : {CUDNN_IMPLICIT_PRECOMP_GEMM, CUDNN_IMPLICIT_GEMM}) {
    if (*out_count == wanted) break;
    cudnn_choice made = {};
    made.algorithm = algorithm, made.milliseconds = -1, made.workspace_bytes = workspace_of(algorithm), made.determinism = 1,
    made.math = c->math;
    out_choices[(*out_count)++] = made;
  }
  return ok;
}

/* ---- Convolutions ----------------------------------------------------------------------------------------------------------------- */

dtype dtype_of(int type) {
  return type == CUDNN_F32 ? ORTC_FLOAT : type == CUDNN_F64 ? ORTC_DOUBLE : type == CUDNN_F16 ? ORTC_FLOAT16 : ORTC_BFLOAT16;
}

cuda_image steps_of(int64_t channels, const int32_t *extents) {
  int64_t row = extents[2], plane = row * extents[1], channel = plane * extents[0];
  return {channels * channel, channel, {plane, row, 1}};
}

cuda_conv conv_of(const cudnn_tensor x, const cudnn_filter w, const cudnn_convolution c, const cudnn_tensor y, activation act) {
  cuda_conv q = {};
  q.type = dtype_of(x->type);
  q.images = x->dims[0], q.groups = c->groups, q.ins = w->dims[1], q.outs = w->dims[0] / c->groups;
  for (int d = 0; d < CUDA_SPATIAL; ++d) {
    int own = d - (CUDA_SPATIAL - c->axes);
    bool is_there = own >= 0;
    q.window.kernel[d] = is_there ? w->dims[2 + own] : 1, q.window.stride[d] = is_there ? c->strides[own] : 1;
    q.window.dilation[d] = is_there ? c->dilations[own] : 1, q.window.begin[d] = q.window.end[d] = is_there ? c->pads[own] : 0;
    q.window.in[d] = is_there ? x->dims[2 + own] : 1, q.window.out[d] = is_there ? y->dims[2 + own] : 1;
  }
  q.x = steps_of(x->dims[1], q.window.in);
  q.y = steps_of(y->dims[1], q.window.out);
  q.act = act;
  cuda_conv_plan(&q, 1);
  q.product.splits = 1;                                     /* no scratch of the kernels' own */
  return q;
}

double scalar(const cudnn_tensor x, const void *value) {
  return x->type == CUDNN_F64 ? *static_cast<const double *>(value) : *static_cast<const float *>(value);
}

struct extras { const void *bias, *z; activation act; };

cudnn_status run(cudnn_handle handle, const void *alpha, cudnn_tensor x_tensor, const void *x, cudnn_filter w_filter, const void *w,
                 cudnn_convolution c, int algorithm, void *workspace, size_t given_bytes, cudnn_tensor y_tensor, void *y,
                 const extras &more) {
  cudnn_status s = check(handle, x_tensor, w_filter, c, y_tensor);
  if (s) return s;
  if (algorithm != CUDNN_IMPLICIT_GEMM && algorithm != CUDNN_IMPLICIT_PRECOMP_GEMM) return not_supported;
  if (!alpha || scalar(x_tensor, alpha) != 1 || given_bytes < workspace_of(algorithm)) return bad_param;
  uintptr_t width = x_tensor->type == CUDNN_F64 ? 8 : x_tensor->type == CUDNN_F32 ? 4 : 2;
  for (const void *data : {x, w, static_cast<const void *>(y), more.bias ? more.bias : y, more.z ? more.z : y})
    if (!emulator::is_device_memory(data, width)) return bad_param;
  /* A workspace is the library's to write to. */
  if (workspace_of(algorithm) &&
      (!workspace || cudaMemsetAsync(workspace, 0xa5, workspace_of(algorithm), static_cast<cudaStream_t>(handle->stream)) != cudaSuccess))
    return bad_param;
  cuda_conv q = conv_of(x_tensor, w_filter, c, y_tensor, more.act);
  cuda_operands operands = {w, x, more.bias, more.z, y, nullptr};
  return cuda_conv_run(&q, &operands, handle->stream) ? execution_failed : ok;
}

cudnn_status convolve(cudnn_handle handle, const void *alpha, cudnn_tensor x_tensor, const void *x, cudnn_filter w_filter, const void *w,
                      cudnn_convolution c, int algorithm, void *workspace, size_t given_bytes, const void *beta, cudnn_tensor y_tensor,
                      void *y) {
  if (!x_tensor || !beta || scalar(x_tensor, beta) != 0) return bad_param;
  return run(handle, alpha, x_tensor, x, w_filter, w, c, algorithm, workspace, given_bytes, y_tensor, y, {nullptr, nullptr, {}});
}

cudnn_status convolve_bias_activate(cudnn_handle handle, const void *alpha, cudnn_tensor x_tensor, const void *x, cudnn_filter w_filter,
                                    const void *w, cudnn_convolution c, int algorithm, void *workspace, size_t given_bytes,
                                    const void *alpha_z, cudnn_tensor z_tensor, const void *z, cudnn_tensor bias_tensor, const void *bias,
                                    cudnn_activation act, cudnn_tensor y_tensor, void *y) {
  if (!x_tensor || !y_tensor || !alpha_z || !z_tensor || !z || !bias_tensor || !bias || !act) return bad_param;
  if (bias_tensor->rank != y_tensor->rank || bias_tensor->dims[0] != 1 || bias_tensor->dims[1] != y_tensor->dims[1] ||
      bias_tensor->type != y_tensor->type)
    return bad_param;
  for (int d = 2; d < bias_tensor->rank; ++d)
    if (bias_tensor->dims[d] != 1) return bad_param;
  if (memcmp(z_tensor->dims, y_tensor->dims, sizeof z_tensor->dims)) return bad_param;
  bool relu = act->mode == CUDNN_ACTIVATION_RELU;
  if (!relu && act->mode != CUDNN_ACTIVATION_IDENTITY) return not_supported;
  if (!relu && algorithm != CUDNN_IMPLICIT_PRECOMP_GEMM) return not_supported;
  double added = scalar(x_tensor, alpha_z);
  if (added != 0 && added != 1) return not_supported;
  activation own = {relu ? ACTIVATION_RELU : ACTIVATION_NONE, 0, 0};
  return run(handle, alpha, x_tensor, x, w_filter, w, c, algorithm, workspace, given_bytes, y_tensor, y,
             {bias, added != 0 ? z : nullptr, own});
}

/* Runs every algorithm once, as the real one does many times, and knows no time: the first is as good as the others. */
cudnn_status measure(cudnn_handle handle, cudnn_tensor x_tensor, const void *x, cudnn_filter w_filter, const void *w, cudnn_convolution c,
                     cudnn_tensor y_tensor, void *y, int wanted, int *out_count, cudnn_choice *out_choices, void *workspace,
                     size_t given_bytes) {
  cudnn_status s = choose(handle, x_tensor, w_filter, c, y_tensor, wanted, out_count, out_choices);
  const float one_f32 = 1;
  const double one_f64 = 1;
  for (int i = 0; !s && i < *out_count; ++i) {
    const void *one = x_tensor->type == CUDNN_F64 ? static_cast<const void *>(&one_f64) : &one_f32;
    out_choices[i].status = run(handle, one, x_tensor, x, w_filter, w, c, out_choices[i].algorithm, workspace, given_bytes, y_tensor, y,
                                {nullptr, nullptr, {}});
    out_choices[i].milliseconds = 1;
  }
  return s;
}

}  // namespace

#define X(result, name, symbol, parameters) {#symbol, reinterpret_cast<void *>(static_cast<result(*) parameters>(name))},
const emulator::stand_in emulator::cudnn_stand_ins[] = {CUDNN_FUNCTIONS(X){nullptr, nullptr}};
#undef X
