/* The recorders, and the tables as the provider fills them. */
#include "recorders.h"

recorded last;

int cuda_product_run(const cuda_product *p, const cuda_operands *o, void *) {
  ++last.products;
  last.product = *p, last.operands = *o;
  return cudaSuccess;
}

int cuda_conv_run(const cuda_conv *c, const cuda_operands *o, void *) {
  ++last.convolutions;
  last.conv = *c, last.operands = *o;
  return cudaSuccess;
}

void cuda_conv_plan(cuda_conv *, int) {}

bool cuda_batch_add(cuda_batch *b, int64_t dim, int64_t a_step, int64_t b_step, int64_t c_step, int64_t) {
  b->rank = dim > 1, b->count = dim;
  b->dims[0] = dim, b->a[0] = a_step, b->b[0] = b_step, b->c[0] = c_step;
  return true;
}

/* A function of the table by its name in the library. */
template <class F> static void find(F &function, const char *symbol) { function = reinterpret_cast<F>(emulated_library_function(symbol)); }

cublas_functions cublas_table() {
  cublas_functions f = {};
#define X(result, name, symbol, parameters) find(f.name, #symbol);
  CUBLAS_FUNCTIONS(X)
#undef X
  return f;
}

cudnn_functions cudnn_table() {
  cudnn_functions f = {};
#define X(result, name, symbol, parameters) find(f.name, #symbol);
  CUDNN_FUNCTIONS(X)
#undef X
  return f;
}
