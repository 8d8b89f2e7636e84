/* Elementwise loops in float, which are also those of float16 and bfloat16. */
#include <ortcore/kernels/cpu/mathf.h>

#define T float
#define SUFFIX f32
#define TABLE elementwise_f32
#define FABS fabsf
#define CEIL ceilf
#define FLOOR floorf
#define RINT rintf
#define SQRT sqrtf
#define EXP mathf_exp
#define EXPM1 mathf_expm1
#define LOG mathf_log
#define TANH mathf_tanh
#define ERF mathf_erf
#define SIGMOID mathf_sigmoid
#define SOFTPLUS mathf_softplus
#define MISH mathf_mish
#define GELU mathf_gelu
#define SIN mathf_sin
#define COS mathf_cos
#define PERIODIC_LIMIT MATHF_SIN_LIMIT
#define FAR_Sin sinf
#define FAR_Cos cosf
#define TAN tanf
#define ASIN asinf
#define ACOS acosf
#define ATAN atanf
#define SINH sinhf
#define COSH coshf
#define ASINH asinhf
#define ACOSH acoshf
#define ATANH atanhf
#define FMOD fmodf
#define POW powf
#define COPYSIGN copysignf
#include <ortcore/kernels/cpu/elementwise_float.h>
