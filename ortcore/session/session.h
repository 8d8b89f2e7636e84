/* A session: a model made ready to run. Immutable after creation but for its pools and counters, which lock by themselves. */
#ifndef ORTCORE_SESSION_SESSION_H
#define ORTCORE_SESSION_SESSION_H

#include <ortcore/exec/executor.h>
#include <ortcore/session/lane.h>

typedef struct graph_cache graph_cache;                     /* session/graph_cache.h */

/* A named input or output, and where it stands in the main graph's inputs or outputs. */
typedef struct session_io {
  ortc_io_info info;
  fact declared;                                            /* what is checked */
  uint32_t assumed;                                         /* outputs: dims that are declared but not proved, as in value.assumed; they are not checked */
  int32_t index;
  const tensor *default_value;                              /* overridable initializers */
} session_io;

typedef struct io_list { size_t count; session_io *items; strmap by_name; } io_list;

/* A dim of an input that the model calls by a name, which must be one number in all inputs of a run. */
typedef struct symbol_dim { dim symbol; int32_t input; int at; } symbol_dim;

struct ortc_session {
  _Atomic int64_t references;
  ortc_session_options *options;
  model *model;
  plan *plan;
  int32_t mapped_count;
  buffer **mapped;                                          /* files of the model's that its weights lie in; lent by the model */
  ortc_allocator *allocator;                                /* of host memory */
  lane_pool lanes;                                          /* of the device, where there is one */
  int threads;
  io_list io[3];                                            /* by ortc_io */
  int32_t feed_count, target_count;                         /* inputs and outputs of the main graph */
  const session_io **feed_io;                               /* the io of each graph input */
  int32_t symbol_count;
  symbol_dim *symbols;                                      /* of names that occur twice or more, those of one name in a row */
  const char **output_names;                                /* as the model file says: passes may have replaced the values */
  ortc_model_metadata metadata;
  frame_pool frames;
  profiler *trace;                                          /* NULL: off */
  pthread_mutex_t stats_lock;
  ortc_run_stats total, latest;
};

status session_create(const char *path, buffer *bytes, const ortc_session_options *options, ortc_session **out) MUST_CHECK;
ortc_session *session_retain(ortc_session *s);
void session_release(ortc_session *s);

/* session/io.c */
status session_io_init(ortc_session *s) MUST_CHECK;
void session_io_deinit(ortc_session *s);
/* An input or overridable initializer by name, an output by name; the error lists what there is. */
status session_find_input(const ortc_session *s, const char *name, const session_io **out) MUST_CHECK;
status session_find_output(const ortc_session *s, const char *name, const session_io **out) MUST_CHECK;
/* Kind, dtype, rank and fixed dims of a value for an input. */
status session_check_input(const session_io *io, const ortc_value *value) MUST_CHECK;
status session_check_output(const session_io *io, const tensor *buffer) MUST_CHECK;      /* its rank and dims, as far as the model fixes them */
/* session/reach.c: memory of that kind, memory there that the caller vouches for, everything in a value: can this session use it? info NULL: the
 * host's. `role` and `name` say in the error whose memory it is: "input", "x". */
status session_check_place(const ortc_session *s, const ortc_memory_info *info, const char *role, const char *name) MUST_CHECK;
status session_check_pointer(const ortc_session *s, const ortc_memory_info *info, const void *data, size_t bytes, size_t alignment, const char *role,
                             const char *name) MUST_CHECK;
status session_check_reach(const ortc_session *s, const ortc_value *value, const char *role, const char *name) MUST_CHECK;
/* The same of what is bound, by a caller who may have called memory of a device the host's. */
status session_check_bound(const ortc_session *s, const ortc_value *value, const char *role, const char *name) MUST_CHECK;
/* Symbols mean one number in all inputs of a run. */
status session_check_symbols(const ortc_session *s, const feed *feeds) MUST_CHECK;

/* The frame for these shapes, from the pool or made; on: NULL on the CPU. */
status session_acquire_frame(ortc_session *s, const feed *feeds, const lane *on, frame **out) MUST_CHECK;
/* session/run.c: feeds by graph input (all set but those of overridable initializers), targets by graph output. on and graphs: the binding's;
 * NULL: any lane, or the host, and no graphs. Everything is complete when it returns, unless the caller's stream or options say that the caller waits. */
status session_run(ortc_session *s, const ortc_run_options *options, feed *feeds, target *targets, uint64_t copied, lane *on, graph_cache *graphs) MUST_CHECK;
feed feed_of_value(const ortc_value *value);
target target_of_value(const char *name, const ortc_value *value);   /* to be written into that tensor's memory */
/* The value that a target became; retains. */
status target_value(target *t, ortc_value **out) MUST_CHECK;

#endif
