/* A binding: which memory a session's inputs are read from and its outputs written to. Belongs to one thread at a time. */
#ifndef ORTCORE_SESSION_BINDING_H
#define ORTCORE_SESSION_BINDING_H

#include <ortcore/device/device.h>
#include <ortcore/session/graph_cache.h>

/* How one output is bound, and what it was after the latest run. */
typedef struct bound_output {
  target_kind kind;                                         /* NONE: not bound */
  ortc_value *value;                                        /* BUFFER: what was bound; else the latest result, or NULL */
  ortc_memory_info info;                                    /* ENGINE: where it was asked for */
  void *data;                                               /* CAPACITY */
  size_t capacity;
  buffer *memory;
  ortc_output_alloc_fn alloc;                               /* CALLBACK */
  ortc_release_fn release;
  void *user;
} bound_output;

struct ortc_binding {
  ortc_session *session;
  lane *on;                                                 /* of the session's device, fixed when the binding is made; NULL: the host */
  graph_cache graphs;
  stream *work;                                             /* the lane's, or the CPU's */
  ortc_value **inputs;                                      /* by graph input; NULL: not bound */
  bound_output *outputs;                                    /* by graph output */
  int32_t order_count, *order;                              /* graph outputs in the order in which they were first bound */
  _Atomic bool running;
  uint64_t copied;                                          /* bytes of snapshots since the latest run */
  feed *feeds;                                              /* room for a run's arguments */
  target *targets;
};

status binding_create(ortc_session *s, ortc_binding **out) MUST_CHECK;
void binding_release(ortc_binding *b);
status binding_bind_input(ortc_binding *b, const char *name, ortc_value *value) MUST_CHECK;
/* Takes over what `how` holds: value, memory and the release callback. */
status binding_bind_output(ortc_binding *b, const char *name, const bound_output *how) MUST_CHECK;
void binding_clear_inputs(ortc_binding *b);
void binding_clear_outputs(ortc_binding *b);
status binding_run(ortc_binding *b, const ortc_run_options *options) MUST_CHECK;

#endif
