/* Attributes of MatMulNBits, as every device's kernels read them. */
#ifndef ORTCORE_OPS_PARAMS_NBITS_H
#define ORTCORE_OPS_PARAMS_NBITS_H

#include <ortcore/ir/graph.h>

typedef struct nbits_params { int bits; int64_t n, k, block, blocks; } nbits_params;   /* blocks: of a column */

status nbits_params_read(const node *n, nbits_params *p) MUST_CHECK;
/* in: A, B, scales, zero_points, g_idx, bias; those that are absent are NULL. Are there as many elements as the attributes say? */
status nbits_check(const nbits_params *p, int32_t in_count, const tensor *const *in) MUST_CHECK;
status nbits_check_groups(const nbits_params *p, const tensor *groups) MUST_CHECK;   /* g_idx, its data: is there such a block? */

#endif
