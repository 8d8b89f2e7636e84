/* The plan: a graph turned into steps over numbered slots. Made once at load; immutable but for its cache of shape plans.
 *
 * A slot is a value of the graph (slot number = value id). A step is a node whose operator has been prepared. Subgraphs become plans of
 * their own, held by the step that runs them. */
#ifndef ORTCORE_PLAN_PLAN_H
#define ORTCORE_PLAN_PLAN_H

#include <ortcore/provider/provider.h>
#include <pthread.h>

typedef struct plan plan;
typedef struct shape_plan shape_plan;

typedef struct step {
  const node *node;
  const op_def *op;
  const kernel_row *kernel;                                 /* of the device that runs it; NULL: op->run on the host */
  void *params;
  const void *tables;                                       /* kernel->tables, in the plan's weights; NULL: none */
  int32_t in_count;                                         /* inputs of the node; its captures follow them in `in` */
  int32_t capture_count;
  int32_t out_count;
  const int32_t *in, *out;                                  /* slots, or NO_VALUE */
  int32_t release_count;
  const int32_t *releases;                                  /* slots that nobody reads after this step */
  int32_t number;                                           /* of the steps before it, those of their subplans included */
  int32_t subplan_count;
  plan **subplans;                                          /* one a graph attribute, in the order of the node's attributes */
} step;

/* What plans need of their session. */
typedef struct plan_env {
  zone *memory;                                             /* the session's; params live there */
  int threads;                                              /* most that a run will have */
  const device *device;                                     /* NULL: everything is on the host */
  ortc_allocator *device_memory;                            /* for constants and what is computed ahead of runs */
  const struct cuda_options *cuda;                          /* outlives the plan */
  const char *subgraph;                                     /* "node/attribute" of the graph around it; NULL: it is the main graph */
  bool separate;                                            /* values never share memory, not even one after the other */
} plan_env;

struct plan {
  const graph *graph;
  zone *memory;
  const char *subgraph;                                     /* as plan_env has it */
  const device *device;
  ortc_allocator *device_memory;                            /* retained */
  const struct cuda_options *cuda;
  buffer *weights;                                          /* the device's copies of constants and defaults; NULL: none */
  void **on_device;                                         /* by slot: where in `weights` that of a constant or default is, or NULL */
  int threads;
  bool separate;                                            /* as plan_env has it */
  int32_t slot_count, step_count;
  int32_t total_steps;                                      /* with those of subplans */
  step *steps;
  int32_t *last_use;                                        /* by slot: step that reads it last; PLAN_END for graph outputs; -1 if unread */
  int32_t *first_output;                                    /* by slot: the first graph output that it is, or -1 */
  int32_t *next_output;                                     /* by graph output: the next one that is the same slot, or -1 */
  pthread_mutex_t lock;                                     /* of the cache below */
  shape_plan *cache[8];                                     /* most recently used first */
  shape_plan *generic;                                      /* nothing known of any dim; made on demand */
};

#define PLAN_END INT32_MAX

status plan_create(const graph *g, const plan_env *env, plan **out) MUST_CHECK;
void plan_release(plan *p);
/* Does slot v lie in device memory? */
static inline bool plan_on_device(const plan *p, int32_t v) { return p->graph->values[v].on_device; }
static inline bool step_has_specialise(const step *s) { return s->kernel ? s->kernel->specialise != NULL : s->op->specialise != NULL; }
static inline status step_specialise(const step *s, specialise_ctx *c, void **out_spec) {
  *out_spec = NULL;
  return !step_has_specialise(s) ? OK : s->kernel ? s->kernel->specialise(c, out_spec) : s->op->specialise(c, out_spec);
}
static inline const void *step_data(const step *s) { return s->kernel ? s->kernel->data : s->op->data; }
void step_dispose_spec(const step *s, void *spec);
/* The subplan of a step for its graph attribute `name`. */
plan *step_subplan(const step *s, const char *name);
/* Drops cached shape plans that no frame uses. */
void plan_trim(plan *p);

#endif
