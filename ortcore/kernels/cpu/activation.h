/* The activations of products, on the CPU: rows of finished sums. NaN stays NaN. */
#ifndef ORTCORE_KERNELS_CPU_ACTIVATION_H
#define ORTCORE_KERNELS_CPU_ACTIVATION_H

#include <ortcore/base/dtype.h>
#include <ortcore/kernels/activation.h>

void activation_apply_f32(const activation *f, float *x, int64_t n);
void activation_apply_f64(const activation *f, double *x, int64_t n);
/* To all elements of a dense tensor of float32 or bfloat16. */
void activation_apply_all(const activation *f, dtype type, void *x, int64_t n, int threads);

#endif
