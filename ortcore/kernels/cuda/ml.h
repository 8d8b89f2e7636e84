/* What kernels of ai.onnx.ml's operators share, for C. */
#ifndef ORTCORE_KERNELS_CUDA_ML_H
#define ORTCORE_KERNELS_CUDA_ML_H

#include <ortcore/base/dtype.h>
#include <ortcore/ops/params/ml.h>
#include <stddef.h>

/* A matrix of f32, f64, i32 or i64. Kernels see floats, and doubles where they say so. */
typedef struct cuda_features { const void *data; dtype type; int64_t rows, columns; } cuda_features;

#endif
