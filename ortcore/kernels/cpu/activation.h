/* The activations of products, on the CPU: rows of finished sums. */
#ifndef ORTCORE_KERNELS_CPU_ACTIVATION_H
#define ORTCORE_KERNELS_CPU_ACTIVATION_H

#include <ortcore/kernels/activation.h>

void activation_apply_f32(const activation *f, float *x, int64_t n);
void activation_apply_f64(const activation *f, double *x, int64_t n);

#endif
