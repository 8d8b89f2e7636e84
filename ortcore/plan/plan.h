/* The plan: a graph turned into steps over numbered slots. Made once at load; immutable but for its cache of shape plans.
 *
 * A slot is a value of the graph (slot number = value id). A step is a node whose operator has been prepared. Subgraphs become plans of
 * their own, held by the step that runs them. */
#ifndef ORTCORE_PLAN_PLAN_H
#define ORTCORE_PLAN_PLAN_H

#include <ortcore/ops/op.h>
#include <pthread.h>

typedef struct plan plan;
typedef struct shape_plan shape_plan;

typedef struct step {
  const node *node;
  const op_def *op;
  void *params;
  int32_t in_count;                                         /* inputs of the node; its captures follow them in `in` */
  int32_t capture_count;
  int32_t out_count;
  const int32_t *in, *out;                                  /* slots, or NO_VALUE */
  int32_t release_count;
  const int32_t *releases;                                  /* slots that nobody reads after this step */
  int32_t subplan_count;
  plan **subplans;                                          /* one a graph attribute, in the order of the node's attributes */
} step;

struct plan {
  const graph *graph;
  zone *memory;                                             /* the session's; params live there */
  int threads;                                              /* most that a run will have */
  int32_t slot_count, step_count;
  step *steps;
  int32_t *last_use;                                        /* by slot: step that reads it last; PLAN_END for graph outputs; -1 if unread */
  pthread_mutex_t lock;                                     /* of the cache below */
  shape_plan *cache[8];                                     /* most recently used first */
  shape_plan *generic;                                      /* nothing known of any dim; made on demand */
};

#define PLAN_END INT32_MAX

status plan_create(const graph *g, zone *memory, int threads, plan **out) MUST_CHECK;
void plan_release(plan *p);
/* The subplan of a step for its graph attribute `name`. */
plan *step_subplan(const step *s, const char *name);
/* Drops cached shape plans that no frame uses. */
void plan_trim(plan *p);

#endif
