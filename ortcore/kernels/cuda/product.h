/* Matrix products on a GPU, for C. For each matrix of a batch
 *
 *   C = activation(alpha * A B + beta * bias + residual)
 *
 * over strides, so that transposed operands, broadcast batches and outputs in another order cost nothing extra. A product is planned once for
 * its dims (which kernel, how the summed dimension is divided) and then run with pointers. */
#ifndef ORTCORE_KERNELS_CUDA_PRODUCT_H
#define ORTCORE_KERNELS_CUDA_PRODUCT_H

#include <ortcore/base/dtype.h>
#include <ortcore/kernels/activation.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_BATCH_RANK = 6 };

/* Where the matrices of a batch lie: steps in elements along its axes, 0 where an operand repeats. Rank 0 is a single product. */
typedef struct cuda_batch {
  int32_t rank;
  int64_t count;
  int64_t dims[CUDA_BATCH_RANK], a[CUDA_BATCH_RANK], b[CUDA_BATCH_RANK], c[CUDA_BATCH_RANK], bias[CUDA_BATCH_RANK];
} cuda_batch;

/* What becomes of a sum. The residual lies as C does; strides of the bias are 0 where it repeats. */
typedef struct cuda_end {
  float alpha, beta;
  int64_t bias_row, bias_column;
  activation act;                                           /* floats only */
} cuda_end;

typedef enum cuda_product_route {
  CUDA_PRODUCT_VECTOR,                                      /* a few rows or columns: B is read once, by all threads at once */
  CUDA_PRODUCT_TILES_64, CUDA_PRODUCT_TILES_128             /* blocks of that many rows and columns, through shared memory */
} cuda_product_route;

typedef struct cuda_product {
  dtype type;                                               /* f32 f16 bf16 f64, and integers of 32 and 64 bits, which wrap */
  int64_t m, n, k;                                          /* each below 2^31, as are all strides */
  int64_t a_row, a_inner, b_inner, b_column, c_row, c_column;
  int64_t image_columns, c_image;                           /* if not 0: columns of C are images of so many columns, c_image apart */
  cuda_batch batch;
  cuda_end end;
  cuda_product_route route;                                 /* by cuda_product_plan, as are the next two */
  int32_t splits;                                           /* parts of k that are summed apart, then together */
  size_t scratch_bytes;                                     /* of device memory, 16-byte aligned */
} cuda_product;

/* Adds an axis to the batch, outermost first; joined with the one before where the steps allow it. Axes of one element vanish. False beyond
 * CUDA_BATCH_RANK. Begin with zeros. */
bool cuda_batch_add(cuda_batch *b, int64_t dim, int64_t a, int64_t b_step, int64_t c, int64_t bias);

typedef struct cuda_operands { const void *a, *b, *bias, *residual; void *c, *scratch; } cuda_operands;   /* bias, residual may be NULL */

int cuda_processors(void);                                 /* multiprocessors of the current device */
/* Chooses how; everything else is set. `processors`: the device's multiprocessors. */
void cuda_product_plan(cuda_product *p, int processors);
/* Enqueues it; returns a cudaError_t. Pointers may have any alignment that the type allows. Nothing may overlap C but the residual, which
 * may be C itself. */
int cuda_product_run(const cuda_product *p, const cuda_operands *o, void *stream);
/* Only the end, over sums that lie in C already, scaled: bias, residual and activation. */
int cuda_product_finish(const cuda_product *p, const cuda_operands *o, void *stream);
const char *cuda_product_route_name(const cuda_product *p);

#ifdef __cplusplus
}
#endif
#endif
