/* The plan for one set of input dims: every value's shape, where it lies, what is already computed, the kernels' per-shape state.
 * Counted; immutable once made; shared by all frames that run with these dims. */
#ifndef ORTCORE_PLAN_SHAPE_PLAN_H
#define ORTCORE_PLAN_SHAPE_PLAN_H

#include <ortcore/plan/plan.h>

typedef enum storage {
  STORAGE_DYNAMIC = 0,         /* shape or kind depends on data: memory is found when the value is made */
  STORAGE_CONSTANT,            /* the graph's constants, and what this plan evaluated */
  STORAGE_INPUT,               /* the caller's memory: graph inputs and captures, and views of them */
  STORAGE_OUTPUT,              /* the memory of a graph output, and values that can be made in it */
  STORAGE_BLOCK,               /* the frame's activation block, at `offset` */
} storage;

typedef struct slot_plan {
  storage where;
  int32_t root;                                             /* INPUT, OUTPUT: the slot whose memory this is */
  size_t offset;                                            /* BLOCK: in the host's, or the device's where the slot lies there */
  bool known;                                               /* view's dims are right */
  tensor view;                                              /* data set for CONSTANT only */
} slot_plan;

typedef struct step_plan {
  bool done;                                                /* evaluated: not run */
  bool specialised;                                         /* spec and scratch are final; else the executor specialises at run time */
  void *spec;
  const char *computed_by;                                  /* the library, if it is not ortcore itself */
  size_t scratch_bytes, scratch_offset;                     /* in the block of the side that runs it */
} step_plan;

struct shape_plan {
  _Atomic int64_t references;
  const plan *owner;
  bool generic;                                             /* serves any dims */
  int32_t key_count;
  int64_t *key;                                             /* shape_key of the feeds */
  slot_plan *slots;
  step_plan *steps;
  size_t block_bytes[2];                                    /* the host's, the device's */
  size_t reordered_bytes;                                   /* by all specialised steps, each time they run */
  int32_t *first_write;                                     /* by OUTPUT root slot: the first step that writes its memory */
  int32_t *last_read;                                       /* by INPUT root slot: the last step that reads its memory */
  int32_t value_count;
  ortc_value **values;                                      /* what CONSTANT slots of `done` steps lie in */
  zone *memory;
};

/* One tensor, or anything else (view NULL), for each graph input and then each capture of the plan's graph. */
status shape_plan_find(plan *p, int32_t feed_count, const tensor *const *feeds, shape_plan **out) MUST_CHECK;   /* cached or made; retained */
status shape_plan_generic(plan *p, shape_plan **out) MUST_CHECK;                                               /* retained */
bool shape_plan_matches(const shape_plan *sp, int32_t feed_count, const tensor *const *feeds);
shape_plan *shape_plan_retain(shape_plan *sp);
void shape_plan_release(shape_plan *sp);

#endif
