/* Slices of a tensor along one axis, one an iteration, and their opposite: results of iterations stacked along an axis. */
#ifndef ORTCORE_EXEC_STACK_H
#define ORTCORE_EXEC_STACK_H

#include <ortcore/ops/op.h>

typedef struct slicer {
  const tensor *whole;
  tensor slice;
  int64_t length;                                           /* number of slices */
  int64_t outer, inner_bytes;
  bool reversed;
  void *copy;                                               /* where a slice is gathered when it is not contiguous */
} slicer;

status slicer_init(slicer *s, const tensor *whole, int64_t axis, bool reversed) MUST_CHECK;
const tensor *slicer_at(slicer *s, int64_t index);          /* valid until the next call */
void slicer_deinit(slicer *s);

typedef struct stack {
  const fact *element;                                      /* what the body says of one result: tells the shape when there are none */
  int64_t axis;                                             /* of the stacked tensor; may be negative */
  bool reversed;
  tensor first;                                             /* shape of the results; rank -1 before the first */
  int64_t count;
  char *data;
  size_t bytes_each, capacity;
} stack;

void stack_init(stack *s, const fact *element, int64_t axis, bool reversed);
/* Copies it. `expected` results are made room for, if that is known (>= 0). */
status stack_push(stack *s, const tensor *t, int64_t expected) MUST_CHECK;
/* Without results the stacked tensor has the shape that the plan inferred for it. */
void stack_assume(stack *s, const tensor *planned);
status stack_deliver(stack *s, kernel_ctx *k, int32_t output) MUST_CHECK;
void stack_deinit(stack *s);

#endif
