/* Stacks on which threads of a block run, and the switch from one to another. */
#ifndef EMULATOR_EXECUTOR_FIBER_H
#define EMULATOR_EXECUTOR_FIBER_H

#include <stddef.h>
#include <stdint.h>

/* Where the switch is not written for a processor, the C library's does, which asks the kernel each time. */
#if !defined(EMULATOR_UCONTEXT) && (defined(__x86_64__) || defined(__aarch64__))
#define EMULATOR_OWN_SWITCH 1
#else
#include <ucontext.h>
#endif

namespace emulator {

/* A suspended or running flow of control. */
struct context {
#ifdef EMULATOR_OWN_SWITCH
  void *stack_pointer;
#else
  ucontext_t state;
#endif
};

/* Memory for one flow of control, with inaccessible memory below it. */
struct stack {
  char *low;                                               /* of the usable part */
  context start;                                           /* entered by the first switch to it */
  unsigned slot;                                           /* for its owner's bookkeeping */
};

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 64 << 10;                   /* a page, where pages are largest */

/* NULL: no memory. Stacks are kept for the process's life: what they have touched stays theirs. */
stack *stack_create();
/* Makes the next switch to s->start call `entry`, which must not return. `number` spreads the tops of stacks over cache sets. */
void stack_prepare(stack *s, unsigned number, void (*entry)());

/* Saves the running flow into `from` and goes on with `to`. */
void switch_context(context *from, context *to);

}  // namespace emulator

#endif
