#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/kernels/cpu/mathf.h>
#include <ortcore/kernels/cpu/softmax.h>

#define T float
#define NAME(f) f##_f32
#define EXP mathf_exp
#define LOG logf
#include <ortcore/kernels/cpu/softmax_type.h>
#define T double
#define NAME(f) f##_f64
#define EXP exp
#define LOG log
#include <ortcore/kernels/cpu/softmax_type.h>

softmax_fn softmax_for(dtype type) { return type == ORTC_FLOAT ? softmax_f32 : type == ORTC_DOUBLE ? softmax_f64 : NULL; }
