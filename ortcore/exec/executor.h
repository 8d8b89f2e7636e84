/* Runs a frame: a `for` over prepared steps. */
#ifndef ORTCORE_EXEC_EXECUTOR_H
#define ORTCORE_EXEC_EXECUTOR_H

#include <ortcore/exec/frame.h>

/* One feed for each graph input and then each capture; one target for each graph output. Nothing is written before everything that
 * can be checked has been. After an error the results are empty and the contents of bound buffers are undefined. */
status executor_run(frame *f, run_env *env, int32_t feed_count, feed *feeds, target *targets) MUST_CHECK;
extern const kernel_services executor_services;
/* Runs If, Loop and Scan (exec/control.c). */
status control_run(exec_step *e) MUST_CHECK;
/* Refuses bound memory that the run would read after writing it, naming both sides; engine memory to be used again that somebody else has by now is
 * forgotten (exec/overlap.c). The first is for an output that got its memory during the run. */
status overlap_check_target(const frame *f, const feed *feeds, target *targets, int32_t output) MUST_CHECK;
status overlap_check(frame *f, const feed *feeds, target *targets) MUST_CHECK;
/* What can be said of a result of this type and shape before anything is written: the caller's buffer fits. */
status target_check(const target *t, const tensor *need) MUST_CHECK;
/* Memory for an output of this shape: the caller's, as its target says, or new. `where` gets data and memory (reference for the caller, or NULL). */
status target_resolve(target *t, run_env *env, tensor *where, buffer **out_memory) MUST_CHECK;
/* Copies a result that is finished, in memory of that kind, to where the target wants it. */
status target_fill(target *t, run_env *env, const tensor *from, const ortc_memory_info *from_info) MUST_CHECK;
/* Is the target's memory on the side where slot v is made, so that it can be written straight away? */
bool target_is_direct(const frame *f, const target *t, int32_t v);
/* The target of slot v, if v is an output of the graph that somebody asked for (the first of several); else NULL. */
target *target_of(const frame *f, target *targets, int32_t v);
/* A target for memory of the engine on that side. */
target target_engine(const run_env *env, bool on_device);

#endif
