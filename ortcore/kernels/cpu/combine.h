/* to[i] = f(to[i], from[i]) for the reductions of ScatterElements and ScatterND and the sums of Col2Im. */
#ifndef ORTCORE_KERNELS_CPU_COMBINE_H
#define ORTCORE_KERNELS_CPU_COMBINE_H

#include <ortcore/base/dtype.h>

typedef enum combine { COMBINE_NONE, COMBINE_ADD, COMBINE_MUL, COMBINE_MAX, COMBINE_MIN } combine;
typedef void (*combine_fn)(void *to, const void *from, int64_t n);

/* NULL for COMBINE_NONE and for types without such arithmetic (strings, complex and narrow floats). Integers wrap; NaN wins in max and
 * min; bool takes add and max as "or", mul and min as "and". */
combine_fn combine_for(combine how, dtype type);

#endif
