/* What If, Loop and Scan are made of: steps that run plans of their own. Conditions and trip counts are values on the host. */
#ifndef ORTCORE_EXEC_CONTROL_H
#define ORTCORE_EXEC_CONTROL_H

#include <ortcore/exec/executor.h>
#include <ortcore/exec/stack.h>

/* Runs of one subgraph of a step. */
typedef struct runner {
  exec_step *step;
  plan *sub;
  int32_t child;                                            /* index in frame.children */
  int shape_changes;
  int32_t feed_count;                                       /* inputs of the subgraph, then its captures */
  feed *feeds;
  const tensor **views;                                     /* of the feeds */
  target *targets;                                          /* outputs of the subgraph */
} runner;

status runner_init(runner *r, exec_step *e, const char *attribute) MUST_CHECK;
/* With what feeds say; the results are in the targets, the caller's to take or to drop. */
status runner_run(runner *r) MUST_CHECK;
void target_drop(target *t);

/* A value that goes from iteration to iteration. */
typedef struct carried { tensor view; const ortc_memory_info *info; buffer *memory; ortc_value *object; } carried;

void carried_set(carried *c, const feed *f);                /* over nothing */
void carried_take(carried *c, target *t);                   /* what a run made takes its place */
void carried_release(carried *c);
feed carried_feed(carried *c);
/* Gives it to output i of the step. */
status carried_deliver(exec_step *e, int32_t i, carried *c) MUST_CHECK;

/* Iterations of a body, as Loop and Scan have them. */
typedef struct loop {
  runner r;
  int32_t carried_count, stack_count;
  carried *carried;
  stack *stacks;                                            /* results that are kept of each iteration */
} loop;

status loop_alloc(loop *l) MUST_CHECK;                      /* counts are set */
void loop_deinit(loop *l);
/* For output `output` of the subgraph. */
void stack_init_result(stack *s, const runner *r, int32_t output, int64_t axis, bool reversed);
status deliver_stack(exec_step *e, stack *s, int32_t output) MUST_CHECK;

status scan_run(exec_step *e) MUST_CHECK;

#endif
