/* The stand-in for cuBLASLt. */
#include "recorders.h"

#include <cstring>

static const cublas_functions f = cublas_table();

/* C[8, 6] = A[8, 5] B[5, 6] of floats, column by column, in memory of its own. */
struct problem {
  cublas_handle handle;
  cublas_product product;
  cublas_layout a, b, c;
  cublas_preference preference;
  cublas_choice choice;
  float *memory[3];
  void *workspace;
  float one = 1, zero = 0;

  problem() : handle(), product(), a(), b(), c(), preference(), choice() {
    CHECK(f.create(&handle) == CUBLAS_OK);
    CHECK(f.product_create(&product, CUBLAS_COMPUTE_F32, CUDA_R_32F) == CUBLAS_OK);
    CHECK(f.layout_create(&a, CUDA_R_32F, 8, 5, 8) == CUBLAS_OK);
    CHECK(f.layout_create(&b, CUDA_R_32F, 5, 6, 5) == CUBLAS_OK);
    CHECK(f.layout_create(&c, CUDA_R_32F, 8, 6, 8) == CUBLAS_OK);
    CHECK(f.preference_create(&preference) == CUBLAS_OK);
    uint64_t most = 1 << 20;
    CHECK(f.preference_set(preference, CUBLAS_PREFER_WORKSPACE_BYTES, &most, sizeof most) == CUBLAS_OK);
    for (float *&m : memory) m = device_floats(64, 0);
    CHECK_OK(cudaMalloc(&workspace, most));
  }
  ~problem() {
    f.layout_destroy(a), f.layout_destroy(b), f.layout_destroy(c);
    f.product_destroy(product), f.preference_destroy(preference);
    f.destroy(handle);
    for (float *m : memory) cudaFree(m);
    cudaFree(workspace);
  }
  cublas_status choose() {
    int count = 0;
    cublas_status s = f.choose(handle, product, a, b, c, c, preference, 1, &choice, &count);
    CHECK(s || count == 1);
    return s;
  }
  cublas_status multiply(const float *left, size_t workspace_bytes) {
    return f.multiply(handle, product, &one, left, a, memory[1], b, &zero, memory[2], c, memory[2], c, &choice.algorithm, workspace, workspace_bytes, nullptr);
  }
};

static void multiplies_in_the_kernels_words() {
  problem p;
  CHECK(p.choose() == CUBLAS_OK);
  CHECK(p.multiply(p.memory[0], p.choice.workspace_bytes) == CUBLAS_OK);
  CHECK(last.product.m == 6 && last.product.n == 8 && last.product.k == 5);
  CHECK(last.product.b_column == 1 && last.product.b_inner == 8 && last.product.a_inner == 1 && last.product.a_row == 5 && last.product.c_row == 8);
  CHECK(last.operands.a == p.memory[1] && last.operands.b == p.memory[0] && last.operands.c == p.memory[2] && !last.operands.residual);
}

static void takes_an_epilogue() {
  problem p;
  uint32_t epilogue = CUBLAS_EPILOGUE_RELU_BIAS;
  const void *bias = p.memory[1];
  CHECK(f.product_set(p.product, CUBLAS_PRODUCT_EPILOGUE, &epilogue, sizeof epilogue) == CUBLAS_OK);
  CHECK(p.choose() == CUBLAS_OK);
  CHECK(p.multiply(p.memory[0], p.choice.workspace_bytes) == CUBLAS_INVALID_VALUE);   /* no bias yet */
  CHECK(f.product_set(p.product, CUBLAS_PRODUCT_BIAS_POINTER, &bias, sizeof bias) == CUBLAS_OK);
  CHECK(p.multiply(p.memory[0], p.choice.workspace_bytes) == CUBLAS_OK);
  CHECK(last.operands.bias == bias && last.product.end.act.kind == ACTIVATION_RELU);
  epilogue = CUBLAS_EPILOGUE_GELU;
  CHECK(f.product_set(p.product, CUBLAS_PRODUCT_EPILOGUE, &epilogue, sizeof epilogue) == CUBLAS_OK);
  CHECK(p.choose() == CUBLAS_NOT_SUPPORTED);
}

static void refuses_what_does_not_fit() {
  problem p;
  cublas_layout wrong;
  int count;
  CHECK(f.layout_create(&wrong, CUDA_R_32F, 4, 6, 4) == CUBLAS_OK);
  CHECK(f.choose(p.handle, p.product, p.a, wrong, p.c, p.c, p.preference, 1, &p.choice, &count) == CUBLAS_INVALID_VALUE);
  f.layout_destroy(wrong);
  CHECK(f.layout_create(&wrong, CUDA_R_32F, 5, 6, 4) == CUBLAS_OK);          /* columns that overlap */
  CHECK(f.choose(p.handle, p.product, p.a, wrong, p.c, p.c, p.preference, 1, &p.choice, &count) == CUBLAS_INVALID_VALUE);
  f.layout_destroy(wrong);
  CHECK(f.layout_create(&wrong, CUDA_R_16F, 5, 6, 5) == CUBLAS_OK);
  CHECK(f.choose(p.handle, p.product, p.a, wrong, p.c, p.c, p.preference, 1, &p.choice, &count) == CUBLAS_NOT_SUPPORTED);
  f.layout_destroy(wrong);
  int64_t wide = 1;
  CHECK(f.product_set(p.product, CUBLAS_PRODUCT_TRANS_A, &wide, sizeof wide) == CUBLAS_INVALID_VALUE);   /* it is an int32 */
  CHECK(f.product_set(p.product, 999, &wide, sizeof wide) == CUBLAS_INVALID_VALUE);
  CHECK(f.product_create(&p.product, 12345, CUDA_R_32F) == CUBLAS_INVALID_VALUE);
}

static void refuses_wrong_memory() {
  problem p;
  float host[64] = {};
  CHECK(p.choose() == CUBLAS_OK);
  int before = last.products;
  CHECK(p.multiply(host, p.choice.workspace_bytes) == CUBLAS_INVALID_VALUE);
  CHECK(p.multiply(p.memory[0] + 1, p.choice.workspace_bytes) == CUBLAS_INVALID_VALUE);   /* the choice was for 256 bytes */
  CHECK(p.multiply(nullptr, p.choice.workspace_bytes) == CUBLAS_INVALID_VALUE);
  p.choice.algorithm.data[1] ^= 1;
  CHECK(p.multiply(p.memory[0], p.choice.workspace_bytes) == CUBLAS_INVALID_VALUE);       /* a choice for another product */
  CHECK(last.products == before);
}

int main() {
  return run_tests({{"multiplies in the kernels' words", multiplies_in_the_kernels_words},
                    {"takes an epilogue", takes_an_epilogue},
                    {"refuses what does not fit", refuses_what_does_not_fit},
                    {"refuses wrong memory", refuses_wrong_memory}});
}
