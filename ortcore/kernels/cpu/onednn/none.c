/* Built without oneDNN: nothing is ever offered. */
#include "onednn.h"

#include <string.h>

bool dnn_supports(dtype type) { (void)type; return false; }
bool dnn_supports_bytes(void) { return false; }
const char *dnn_version(void) { return "no oneDNN"; }

dnn_tensor dnn_tensor_of(dtype type, int rank, const int64_t *dims, const int64_t *strides) {
  dnn_tensor t = {.type = type, .rank = rank};
  memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  memcpy(t.strides, strides, (size_t)rank * sizeof *strides);
  return t;
}

status dnn_matmul_create(const dnn_matmul *m, int threads, dnn **out) { (void)m, (void)threads, *out = NULL; return OK; }
status dnn_conv_create(const dnn_conv *c, int threads, dnn **out) { (void)c, (void)threads, *out = NULL; return OK; }
void dnn_release(dnn *p) { (void)p; }
size_t dnn_scratch_bytes(const dnn *p) { (void)p; return 0; }
size_t dnn_reordered_bytes(const dnn *p) { (void)p; return 0; }
size_t dnn_weights_bytes(const dnn *p) { (void)p; return 0; }

static status absent(void) { return ERROR(RUNTIME_EXCEPTION, "this build of ortcore has no oneDNN"); }

status dnn_run(dnn *p, int threads, void *scratch, const void *x, const void *weights, const void *bias, const void *residual, void *y) {
  (void)p, (void)threads, (void)scratch, (void)x, (void)weights, (void)bias, (void)residual, (void)y;
  return absent();
}
status dnn_pack(dnn *p, int threads, const void *weights, void *out) { (void)p, (void)threads, (void)weights, (void)out; return absent(); }
status dnn_weights_create(dnn_weights **out) { *out = NULL; return absent(); }
void dnn_weights_release(dnn_weights *w) { (void)w; }
status dnn_weights_get(dnn_weights *w, dnn *p, const void *data, const void **out) { (void)w, (void)p, (void)data, *out = NULL; return absent(); }
status dnn_weights_keep(dnn_weights *w, dnn *p, const void *data, const void **out) { (void)w, (void)p, (void)data, *out = NULL; return absent(); }
