/* The state of one run: a slot for every value, the activation block, the steps with their operands linked. A frame belongs to one shape
 * plan and one run at a time, and is used again by later runs with the same dims. */
#ifndef ORTCORE_EXEC_FRAME_H
#define ORTCORE_EXEC_FRAME_H

#include <ortcore/exec/profiler.h>
#include <ortcore/plan/shape_plan.h>

typedef struct frame frame;

typedef struct slot {
  tensor view;
  buffer *memory;                                           /* counted memory of a dynamic value; NULL if the view lies elsewhere */
  ortc_value *object;                                       /* sequences, maps, optionals */
} slot;

/* What a graph input or a capture is in this run. The caller's until the run returns. */
typedef struct feed {
  const tensor *view;                                       /* NULL for anything that is no tensor */
  const ortc_memory_info *info;                             /* where the view lies; NULL: in host memory */
  buffer *memory;                                           /* what the view lies in, if counted */
  bool fleeting;                                            /* the memory is somebody else's after the run: no result may stay in it */
  ortc_value *object;
  bool move;                                                /* the run takes the reference to object (which is NULL then) and so may edit in place */
} feed;

typedef enum target_kind { TARGET_NONE, TARGET_ENGINE, TARGET_BUFFER, TARGET_CAPACITY, TARGET_CALLBACK } target_kind;

/* Where a graph output goes, and after the run what it is. */
typedef struct target {
  target_kind kind;                                         /* NONE: nobody asked for it */
  const char *name;
  const ortc_memory_info *info;                             /* where it is wanted; NULL: in host memory */
  tensor view;                                              /* BUFFER: shape and memory. ENGINE: memory to use again if the shape is the same */
  buffer *memory;                                           /* BUFFER, CAPACITY, ENGINE: what it lies in (lent), or NULL */
  size_t capacity;                                          /* CAPACITY, in bytes, at view.data */
  ortc_output_alloc_fn alloc;                               /* CALLBACK */
  void *user;
  bool may_share;                                           /* ENGINE: a result that is an input may stay where it is, for as long as that input does */
  bool placed;                                              /* the run writes straight into it: nothing is left to copy */
  tensor result;
  buffer *result_memory;                                    /* retained for the caller; NULL for CALLBACK */
  ortc_value *object;                                       /* retained for the caller: not a tensor (kind NONE: an empty optional) */
} target;

/* What a run brings along. */
typedef struct run_env {
  ortc_allocator *allocator;
  const device *device;                                     /* NULL: the host alone. Entered by the calling thread */
  ortc_allocator *device_allocator;
  stream *stream;                                           /* of the device */
  buffer_list *kept;                                        /* if set: buffers go there instead of being given back during the run */
  bool host_waits;                                          /* a copy to host memory was enqueued that somebody will read */
  int threads;
  const _Atomic bool *terminate;                            /* may be NULL */
  profiler *trace;                                          /* may be NULL */
  const range_marks *marks;                                 /* NULL: no profiler of the device is attached */
  ortc_run_stats stats;                                     /* of this run; the executor adds to it */
} run_env;

enum exec_flags {
  EXEC_CONTROL = 1,                                         /* If, Loop, Scan */
  EXEC_SPECIALISE = 2,                                      /* spec is made when the dims are known, at run time */
  EXEC_RELEASE = 4,                                         /* may be the last reader of counted memory */
  EXEC_DEVICE = 16,                                         /* enqueued on the device's stream */
  EXEC_TRANSFER = 32,                                       /* a copy between the host and the device */
  EXEC_LINK = 8,                                            /* an operand may be a tensor in one run and none in another */
};

typedef struct exec_step {
  kernel_ctx k;                                             /* first: services get a pointer to it */
  status (*run)(kernel_ctx *k);
  frame *owner;
  const step *source;
  int32_t index;
  uint32_t flags;
  const tensor **operands;                                  /* k.in, then the captures */
  int32_t child_base;                                       /* EXEC_CONTROL: where its subplans' frames begin in frame.children */
  status late_error;                                        /* of a service that has no way to return one */
  tensor *inferred;                                         /* EXEC_SPECIALISE: shapes of the outputs for these dims; rank -1 where they depend on data */
  int64_t *spec_key;                                        /* EXEC_SPECIALISE: dims that k.spec was made for; NULL before */
  size_t spec_scratch, spec_reordered;                      /* EXEC_SPECIALISE: as specialise_ctx has them */
} exec_step;

struct frame {
  plan *owner;
  shape_plan *shapes;
  zone *memory;
  ortc_allocator *allocators[2];                            /* of the blocks: the host's, the device's (NULL without one) */
  slot *slots;
  int32_t step_count;
  exec_step *steps;
  int32_t patch_count;
  int32_t *patches;                                         /* slots whose data is that of their root, an input or output */
  int32_t dirty_count;
  int32_t *dirty;                                           /* slots that got counted memory or an object in this run */
  buffer *blocks[2];                                        /* by side, as shape_plan.block_bytes */
  const stream *last_stream;                                /* where the latest run was enqueued, if nobody has waited for it; else NULL */
  event *finished;                                          /* of that run; made on first need */
  int threads;                                              /* what k.threads says in all steps */
  run_env *env;                                             /* of the run in progress */
  target *targets;
  const feed *feeds;
  int32_t feed_count;
  buffer *scratch[16];                                      /* of the step in progress */
  int32_t scratch_count;
  struct claim *claims;                                     /* of this run's memory, in the order of addresses that the latest run had (exec/overlap.c) */
  frame **children;                                         /* idle frames of subplans, one a subplan */
  int32_t child_count;
  frame *next;                                              /* in a pool */
};

status frame_create(plan *p, shape_plan *shapes, ortc_allocator *const allocators[2], frame **out) MUST_CHECK;   /* retains shapes */
void frame_release(frame *f);
/* Gives slot v counted memory or an object (references are taken over) and remembers to drop them when the run ends. */
void frame_set(frame *f, int32_t v, buffer *memory, ortc_value *object);
void frame_drop(frame *f, int32_t v);
void frame_clear(frame *f);                                 /* drops everything that the run left */
feed frame_feed(const frame *f, int32_t v);                 /* slot v as a feed of a subplan, during a run; nothing for NO_VALUE */

/* Idle frames, most recent first. */
typedef struct frame_pool { pthread_mutex_t lock; frame *idle; int32_t count; } frame_pool;
void frame_pool_init(frame_pool *pool);
void frame_pool_deinit(frame_pool *pool);
/* A frame whose shape plan serves these feeds, from the pool or made. */
status frame_pool_acquire(frame_pool *pool, plan *p, int32_t feed_count, const tensor *const *feeds, ortc_allocator *const allocators[2], frame **out) MUST_CHECK;
void frame_pool_give_back(frame_pool *pool, frame *f);
void frame_pool_trim(frame_pool *pool);

#endif
