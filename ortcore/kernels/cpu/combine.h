/* to[i] = f(to[i], from[i]) for the reductions of ScatterElements and ScatterND and the sums of Col2Im. */
#ifndef ORTCORE_KERNELS_CPU_COMBINE_H
#define ORTCORE_KERNELS_CPU_COMBINE_H

#include <ortcore/base/dtype.h>

typedef enum combine { COMBINE_NONE, COMBINE_ADD, COMBINE_MUL, COMBINE_MAX, COMBINE_MIN } combine;

/* Element i belongs at byte i · step + index[first + i] · stride; indices are int64 (wide) or int32, negative ones count from n. */
typedef struct combine_places {
  const void *indices;
  bool wide;
  int64_t first, n, step, stride;
} combine_places;

static inline int64_t combine_place(const combine_places *p, int64_t i) {
  int64_t index = p->wide ? ((const int64_t *)p->indices)[p->first + i] : ((const int32_t *)p->indices)[p->first + i];
  return i * p->step + (index < 0 ? index + p->n : index) * p->stride;
}

typedef struct combine_fns {
  void (*adjacent)(void *to, const void *from, int64_t n);
  void (*at)(void *to, const void *from, int64_t count, const combine_places *places);   /* in order: places may repeat */
} combine_fns;

/* NULL for COMBINE_NONE and for types without such arithmetic (strings, complex and narrow floats). Integers wrap; NaN wins in max and
 * min; bool takes add and max as "or", mul and min as "and". */
const combine_fns *combine_for(combine how, dtype type);

#endif
