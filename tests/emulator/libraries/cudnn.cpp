/* The stand-in for cuDNN. */
#include "recorders.h"

static const cudnn_functions f = cudnn_table();

enum { BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };

/* x[2, 4, 7, 9] under 3 x 3 filters for 6 channels, pads 1, strides 2 and 1. */
struct problem {
  cudnn_handle handle;
  cudnn_tensor x, y, bias;
  cudnn_filter w;
  cudnn_convolution convolution;
  cudnn_activation activation;
  float *memory[4];
  void *workspace;
  size_t bytes;
  float one = 1, zero = 0;

  problem() : bytes(0) {
    const int x_dims[] = {2, 4, 7, 9}, y_dims[] = {2, 6, 4, 9}, bias_dims[] = {1, 6, 1, 1}, w_dims[] = {6, 4, 3, 3};
    const int pads[] = {1, 1}, strides[] = {2, 1}, dilations[] = {1, 1};
    CHECK(f.create(&handle) == CUDNN_OK && f.set_stream(handle, nullptr) == CUDNN_OK);
    make(&x, x_dims), make(&y, y_dims), make(&bias, bias_dims);
    CHECK(f.filter_create(&w) == CUDNN_OK && f.filter_set(w, CUDNN_F32, CUDNN_NCHW, 4, w_dims) == CUDNN_OK);
    CHECK(f.convolution_create(&convolution) == CUDNN_OK);
    CHECK(f.convolution_set(convolution, 2, pads, strides, dilations, CUDNN_CROSS_CORRELATION, CUDNN_F32) == CUDNN_OK);
    CHECK(f.activation_create(&activation) == CUDNN_OK);
    CHECK(f.activation_set(activation, CUDNN_ACTIVATION_IDENTITY, CUDNN_PROPAGATE_NAN, 0) == CUDNN_OK);
    for (float *&m : memory) m = device_floats(1024, 0);
    CHECK_OK(cudaMalloc(&workspace, 1 << 20));
  }
  ~problem() {
    f.tensor_destroy(x), f.tensor_destroy(y), f.tensor_destroy(bias);
    f.filter_destroy(w), f.convolution_destroy(convolution), f.activation_destroy(activation);
    f.destroy(handle);
    for (float *m : memory) cudaFree(m);
    cudaFree(workspace);
  }
  static void make(cudnn_tensor *out, const int *dims) {
    const int strides[] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
    CHECK(f.tensor_create(out) == CUDNN_OK && f.tensor_set(*out, CUDNN_F32, 4, dims, strides) == CUDNN_OK);
  }
  cudnn_status ask(int algorithm) { return f.workspace_bytes(handle, x, w, convolution, y, algorithm, &bytes); }
  cudnn_status run(int algorithm, const float *image, size_t given) {
    return f.convolve_bias_activate(handle, &one, x, image, w, memory[1], convolution, algorithm, workspace, given, &zero, y, memory[2], bias, memory[3], activation,
                                    y, memory[2]);
  }
};

static void convolves_in_the_kernels_words() {
  problem p;
  CHECK(p.ask(CUDNN_IMPLICIT_PRECOMP_GEMM) == CUDNN_OK && p.bytes > 0);
  CHECK(p.run(CUDNN_IMPLICIT_PRECOMP_GEMM, p.memory[0], p.bytes) == CUDNN_OK);
  const cuda_conv &c = last.conv;
  CHECK(c.images == 2 && c.groups == 1 && c.ins == 4 && c.outs == 6);
  CHECK(c.window.in[0] == 1 && c.window.in[1] == 7 && c.window.out[1] == 4 && c.window.stride[1] == 2 && c.window.kernel[2] == 3 && c.window.begin[2] == 1);
  CHECK(last.operands.a == p.memory[1] && last.operands.b == p.memory[0] && last.operands.bias == p.memory[3] && !last.operands.residual);
}

static void refuses_what_does_not_fit() {
  problem p;
  const int strides[] = {1, 1}, pads[] = {1, 1}, negative[] = {-1, 0};
  CHECK(f.convolution_set(p.convolution, 2, negative, strides, strides, CUDNN_CROSS_CORRELATION, CUDNN_F32) == BAD_PARAM);
  CHECK(f.convolution_set(p.convolution, 2, pads, strides, strides, CUDNN_CROSS_CORRELATION, CUDNN_F32) == CUDNN_OK);
  CHECK(p.ask(CUDNN_IMPLICIT_GEMM) == BAD_PARAM);           /* y has the extent of another stride */
  CHECK(f.convolution_set_groups(p.convolution, 0) == BAD_PARAM);
  CHECK(p.ask(7) != CUDNN_OK);
  const int none[] = {2, 4, 0, 9};
  CHECK(f.tensor_set(p.x, CUDNN_F32, 4, none, none) == BAD_PARAM);
  CHECK(f.tensor_set(p.x, CUDNN_F32, 9, none, none) == NOT_SUPPORTED);
}

static void identity_is_for_one_algorithm() {
  problem p;
  CHECK(p.run(CUDNN_IMPLICIT_GEMM, p.memory[0], 0) == NOT_SUPPORTED);
  CHECK(f.activation_set(p.activation, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0) == CUDNN_OK);
  CHECK(p.run(CUDNN_IMPLICIT_GEMM, p.memory[0], 0) == CUDNN_OK);
  CHECK(last.conv.act.kind == ACTIVATION_RELU);
}

static void refuses_wrong_memory() {
  problem p;
  static float host[1024];
  CHECK(p.ask(CUDNN_IMPLICIT_PRECOMP_GEMM) == CUDNN_OK);
  int before = last.convolutions;
  CHECK(p.run(CUDNN_IMPLICIT_PRECOMP_GEMM, p.memory[0], p.bytes - 1) == BAD_PARAM);
  CHECK(p.run(CUDNN_IMPLICIT_PRECOMP_GEMM, host, p.bytes) == BAD_PARAM);
  CHECK(p.run(CUDNN_IMPLICIT_PRECOMP_GEMM, nullptr, p.bytes) == BAD_PARAM);
  CHECK(last.convolutions == before);
}

int main() {
  return run_tests({{"convolves in the kernels' words", convolves_in_the_kernels_words},
                    {"refuses what does not fit", refuses_what_does_not_fit},
                    {"identity is for one algorithm", identity_is_for_one_algorithm},
                    {"refuses wrong memory", refuses_wrong_memory}});
}
