#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
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

static void channels_f32(void *context, int64_t begin, int64_t end) {
  const channel_affine *a = context;
  affine_f32(a->x, a->y, a->factor, a->offset, a->channels, a->inner, begin, end);
}

static void channels_f64(void *context, int64_t begin, int64_t end) {
  const channel_affine *a = context;
  affine_f64(a->x, a->y, a->factor, a->offset, a->channels, a->inner, begin, end);
}

void affine_channels(const channel_affine *a, dtype type, int threads) {
  parallel_for(threads, a->batch * a->channels, a->inner < 8192 ? 8192 / a->inner : 1, type == ORTC_DOUBLE ? channels_f64 : channels_f32, (void *)a);
}
