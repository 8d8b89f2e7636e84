/* The seam to oneDNN: matrix products and convolutions as primitives that are made once for each shape. Nothing outside this directory knows
 * oneDNN's names. Built without it, every `create` answers with no primitive, and the callers' own kernels do the work.
 *
 * A primitive may run on several threads at once: its scratch comes with each run, and its argument sets are pooled. */
#ifndef ORTCORE_KERNELS_CPU_ONEDNN_H
#define ORTCORE_KERNELS_CPU_ONEDNN_H

#include <ortcore/kernels/cpu/activation.h>
#include <ortcore/kernels/cpu/window.h>

typedef struct dnn dnn;
typedef struct dnn_weights dnn_weights;

/* Whether it is worth asking for primitives on this element type here. */
bool dnn_supports(dtype type);
bool dnn_supports_bytes(void);                              /* quantised convolutions */
const char *dnn_version(void);                              /* "oneDNN 3.2.0", or "no oneDNN" */

enum { DNN_RANK = 12 };                                    /* oneDNN reads arrays of that many */
typedef struct dnn_tensor { dtype type; int rank; int64_t dims[DNN_RANK], strides[DNN_RANK]; } dnn_tensor;
dnn_tensor dnn_tensor_of(dtype type, int rank, const int64_t *dims, const int64_t *strides);

/* out = activation(alpha * (a x b) + bias + residual), all [batch, rows, columns]; the bias is one number a column, without alpha. */
typedef struct dnn_matmul {
  dnn_tensor a, b, out;
  bool bias, residual;
  float alpha;
  activation act;
  bool pack;                                                /* B is constant: the primitive chooses its layout */
} dnn_matmul;
status dnn_matmul_create(const dnn_matmul *m, int threads, dnn **out) MUST_CHECK;

/* y = activation(conv(x, w) + bias + residual). The primitive chooses the layout of the weights, which lie as ONNX has them: [groups * outs, ins,
 * taps], or [groups * ins, outs, taps] if transposed. */
typedef struct dnn_conv {
  dtype type, w_type, y_type;                               /* of x, the weights, y; bias and residual are of x's, or f32 for bytes */
  bool transposed;
  int64_t images, groups, ins, outs;                        /* channels of one group */
  const window *w;
  layout x_order, y_order;
  bool bias, residual;                                      /* the residual lies as y does */
  activation act;
  /* Bytes: y = round(scale * sum of (x - x_zero_point) * w, + bias, / y_scale) + y_zero_point, with a scale for each output channel (copied). */
  const float *scales;                                      /* NULL: floats */
  float y_scale;
  int32_t x_zero_point, y_zero_point;
} dnn_conv;
status dnn_conv_create(const dnn_conv *c, int threads, dnn **out) MUST_CHECK;

void dnn_release(dnn *p);
size_t dnn_scratch_bytes(const dnn *p);
size_t dnn_reordered_bytes(const dnn *p);                   /* of operands that each run copies to or from another layout; weights are packed before */
/* bias and residual are NULL exactly if the primitive was made without. weights are packed if it chose their layout. */
status dnn_run(dnn *p, int threads, void *scratch, const void *x, const void *weights, const void *bias, const void *residual, void *y) MUST_CHECK;

/* Weights known only at run time: re-orders them into `out` of dnn_weights_bytes (a multiple of 64). */
size_t dnn_weights_bytes(const dnn *p);
status dnn_pack(dnn *p, int threads, const void *weights, void *out) MUST_CHECK;

/* Constant weights, packed once for each layout that primitives ask for; safe to use from many threads. */
status dnn_weights_create(dnn_weights **out) MUST_CHECK;
void dnn_weights_release(dnn_weights *w);
/* The weights `data` packed for p; the result lives as long as `w`. */
status dnn_weights_get(dnn_weights *w, dnn *p, const void *data, const void **out) MUST_CHECK;
/* The same for weights that the caller frees: they are copied even if the primitive takes them as they lie. */
status dnn_weights_keep(dnn_weights *w, dnn *p, const void *data, const void **out) MUST_CHECK;

#endif
