/* Bytes between the host and the device, on the stream of a run. */
#ifndef ORTCORE_EXEC_TRANSFER_H
#define ORTCORE_EXEC_TRANSFER_H

#include <ortcore/exec/frame.h>

/* Is that memory (NULL: the host's) where values of the run's device lie? */
bool side_is_device(const run_env *env, const ortc_memory_info *info);
/* In stream order after what was enqueued before. A copy to the host is complete once the stream is (env->host_waits is set). */
status transfer_bytes(run_env *env, const ortc_memory_info *to_info, void *to, const ortc_memory_info *from_info, const void *from, size_t bytes) MUST_CHECK;
/* The elements of one tensor into another, both on the same side, as what an operator computes: no counted copy. Strings are shared. */
status transfer_elements(run_env *env, bool on_device, const tensor *from, tensor *to) MUST_CHECK;
/* A feed that lies on the other side than its slot: into memory of the run's own, which the slot holds from then on. */
status transfer_feed(frame *f, int32_t v, const feed *from) MUST_CHECK;
/* The node that placement put in. */
status transfer_run(exec_step *e) MUST_CHECK;
/* Copies of `bytes` each, from row to row, and zeros: on one side, in stream order, as what an operator computes. */
status transfer_rows(run_env *env, bool on_device, void *to, size_t to_step, const void *from, size_t from_step, size_t bytes, int64_t rows) MUST_CHECK;
status transfer_zeros(run_env *env, bool on_device, void *to, size_t bytes) MUST_CHECK;
/* Memory of the engine on that side. */
const ortc_memory_info *side_info(const run_env *env, bool on_device);
/* The allocator for new memory of that kind (NULL: the host's). */
ortc_allocator *side_allocator(const run_env *env, const ortc_memory_info *info);

#endif
