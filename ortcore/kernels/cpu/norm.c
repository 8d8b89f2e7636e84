#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/kernels/cpu/norm.h>

#define T float
#define NAME(f) f##_f32
#define SQRT sqrtf
#include <ortcore/kernels/cpu/norm_type.h>
#define T double
#define NAME(f) f##_f64
#define SQRT sqrt
#include <ortcore/kernels/cpu/norm_type.h>

norm_fn norm_for(dtype type) { return type == ORTC_FLOAT ? norm_f32 : type == ORTC_DOUBLE ? norm_f64 : NULL; }
affine_fn affine_for(dtype type) { return type == ORTC_FLOAT ? affine_f32 : type == ORTC_DOUBLE ? affine_f64 : NULL; }
