/* Where transient values lie in a run's activation block: a pure function of sizes and lifetimes. */
#ifndef ORTCORE_PLAN_MEMORY_PLAN_H
#define ORTCORE_PLAN_MEMORY_PLAN_H

#include <ortcore/base/status.h>

typedef struct lifetime {
  size_t bytes;
  int32_t first, last;                                      /* steps, both included */
  size_t offset;                                            /* the answer: a multiple of MEMORY_ALIGNMENT */
} lifetime;

/* Fills the offsets so that no two lifetimes that share a step overlap; *out_bytes is the block's size. Largest first, each
 * at the lowest place where it fits: O(n log n) for the sort, O(n * neighbours) for the rest. */
status memory_plan(int32_t count, lifetime *items, size_t *out_bytes) MUST_CHECK;

#endif
