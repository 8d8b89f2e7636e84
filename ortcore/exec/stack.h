/* Slices of a tensor along one axis, one an iteration, and their opposite: results of iterations stacked along an axis. Both on the side where the
 * whole lies, in stream order. */
#ifndef ORTCORE_EXEC_STACK_H
#define ORTCORE_EXEC_STACK_H

#include <ortcore/exec/frame.h>

typedef struct slicer {
  run_env *env;
  bool on_device;
  const char *data;                                         /* of the whole */
  tensor slice;
  int64_t length;                                           /* number of slices */
  int64_t outer, inner_bytes, outer_bytes;                  /* parts of a slice; bytes of one part, and from part to part */
  bool reversed;
  buffer *copy;                                             /* where a slice is gathered when it is not contiguous */
} slicer;

status slicer_init(slicer *s, run_env *env, bool on_device, const tensor *whole, int64_t axis, bool reversed) MUST_CHECK;
/* The first `length` slices along the first axis. */
status slicer_init_part(slicer *s, run_env *env, bool on_device, const tensor *whole, int64_t length, bool reversed) MUST_CHECK;
status slicer_at(slicer *s, int64_t index, feed *out) MUST_CHECK;            /* valid until the next call */
void slicer_deinit(slicer *s);

typedef struct stack {
  run_env *env;
  bool on_device;
  const fact *element;                                      /* what the body says of one result: tells the shape when there are none */
  int64_t axis;                                             /* of the stacked tensor; may be negative */
  bool reversed;
  tensor first;                                             /* shape of the results; rank -1 before the first */
  int64_t count;
  char *data;                                               /* on the host the stack's own, on the device in `memory` */
  buffer *memory;
  size_t bytes_each, capacity;
} stack;

void stack_init(stack *s, run_env *env, bool on_device, const fact *element, int64_t axis, bool reversed);
/* Copies it. `expected` results are made room for, if that is known (>= 0). */
status stack_push(stack *s, const tensor *t, int64_t expected) MUST_CHECK;
/* Leaves room for n results that are zeros, whatever their shape will turn out to be. */
status stack_skip(stack *s, int64_t n) MUST_CHECK;
/* Without results the stacked tensor has the shape that the plan inferred for it. */
void stack_assume(stack *s, const tensor *planned);
status stack_deliver(stack *s, kernel_ctx *k, int32_t output) MUST_CHECK;
/* With two axes before those of a result: `items` times `length` results were pushed or skipped. */
status stack_deliver_batch(stack *s, kernel_ctx *k, int32_t output, int64_t items, int64_t length) MUST_CHECK;
void stack_deinit(stack *s);

#endif
