/* A lane: a stream of the session's device, and memory that is used again in the stream's order. One run at a time has it, except where all
 * runs share the caller's stream. Sessions on the CPU have none. */
#ifndef ORTCORE_SESSION_LANE_H
#define ORTCORE_SESSION_LANE_H

#include <ortcore/provider/provider.h>
#include <ortcore/session/cuda_options.h>
#include <pthread.h>

typedef struct lane lane;
struct lane {
  stream *work;
  ortc_allocator *memory;                                   /* an arena of its own over the session's */
  lane *next;                                               /* idle */
};

/* The device of a session, its memory, and its idle lanes. */
typedef struct lane_pool {
  cuda_options options;
  const provider *provider;                                 /* NULL: no device, and nothing of the following */
  const device *device;
  ortc_allocator *memory;                                   /* the session's arena: weights, and what lanes take */
  lane *callers;                                            /* over user_compute_stream; NULL: lanes have streams of their own */
  pthread_mutex_t lock;
  lane *idle;
} lane_pool;

/* The device that the options ask for before the CPU. Without a usable one: a warning, and no device. */
status lane_pool_init(lane_pool *pool, const ortc_session_options *options) MUST_CHECK;
void lane_pool_deinit(lane_pool *pool);                     /* all lanes are back */
status lane_acquire(lane_pool *pool, lane **out) MUST_CHECK;
void lane_give_back(lane_pool *pool, lane *l);              /* NULL is fine */
uint64_t lane_pool_trim(lane_pool *pool);                   /* gives memory of idle lanes back to the device; bytes */

#endif
