/* CUDA graphs of a binding: the work of a run, recorded once for each set of shapes and launched again as a whole for as long as every address
 * holds still. Addresses that changed make it be recorded again, into the same executable graph where that is possible; nothing stale is ever
 * launched. A recorded run owns its frame and all memory that its kernels use. */
#ifndef ORTCORE_SESSION_GRAPH_CACHE_H
#define ORTCORE_SESSION_GRAPH_CACHE_H

#include <ortcore/session/session.h>

typedef struct recorded_run recorded_run;
struct graph_cache {
  bool enabled;                                             /* enable_cuda_graph */
  recorded_run *runs;                                       /* most recently used first */
  int32_t count;
  recorded_run *captured;                                   /* runs that are part of graphs that the caller records */
};

void graph_cache_clear(graph_cache *c);
/* The entry for these shapes, made if need be; the least recently used one goes when there are too many. */
status graph_cache_find(graph_cache *c, ortc_session *s, const feed *feeds, const lane *on, recorded_run **out) MUST_CHECK;
/* An entry for a run inside a capture of the caller's, which lives as long as the cache. */
status graph_cache_add_captured(graph_cache *c, ortc_session *s, const feed *feeds, const lane *on, recorded_run **out) MUST_CHECK;
frame *recorded_run_frame(const recorded_run *r);
/* Runs plainly at first, then records, then launches. */
status recorded_run_run(recorded_run *r, run_env *env, int32_t feed_count, feed *feeds, int32_t target_count, target *targets) MUST_CHECK;
/* Enqueues into the caller's capture; an error that says why where that cannot be. */
status recorded_run_join(recorded_run *r, run_env *env, int32_t feed_count, feed *feeds, int32_t target_count, target *targets) MUST_CHECK;

#endif
