/* What the normalisations of rows say, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_NORM_H
#define ORTCORE_OPS_PARAMS_NORM_H

#include <stdbool.h>
#include <stdint.h>

/* centre false: RMS normalisation, the mean is left alone. */
typedef struct norm_params { double epsilon; int64_t axis, groups; bool centre; } norm_params;
typedef struct batchnorm_params { double epsilon; } batchnorm_params;
typedef struct lrn_params { int64_t size; double alpha, beta, bias; } lrn_params;

#endif
