/* What placement (plan/placement.h) knows while it works: a placer for each graph, those of subgraphs below that of the graph around them.
 *
 * First nodes are given kernels or left to the host, then is found who reads each value where, and at last every graph gets its sides and copies,
 * the outer one before its subgraphs, whose ends must agree with it. */
#ifndef ORTCORE_PLAN_PLACER_H
#define ORTCORE_PLAN_PLACER_H

#include <ortcore/provider/provider.h>

typedef enum made { MADE_ANYWHERE, MADE_ON_HOST, MADE_ON_DEVICE } made;

typedef struct place {
  bool from_shapes;                                         /* computed by the host, from dims and what loops count alone */
  bool counted;                                             /* ... and so anew in each iteration, where dims are known ahead of runs */
  bool varies;                                              /* carried by a loop whose body computes it from other things than shapes */
  bool read_by_host, read_by_device;
  bool next_by_host, next_by_device;                        /* input of a body: ... by the next iteration, as far as is known */
  made made;                                                /* by whom; ANYWHERE: constants, and what the caller brings */
  int32_t copy;                                             /* the same value on the other side, or NO_VALUE */
} place;

/* How the ends of a subgraph belong to the operands of its node. Inputs of the body from host_inputs on are the node's from first_input on, and the
 * first `carried` of them come back from the body's outputs. Outputs from host_outputs on are the node's outputs. What is before those is
 * made or read by the host: the number of the iteration, the condition. */
typedef struct wiring { int32_t first_input, host_inputs, host_outputs, carried; } wiring;

typedef struct placer placer;
struct placer {
  graph *g;
  const provider *p;
  zone *scratch;
  place *places;                                            /* by value, of those that were there before */
  int32_t count;
  node **order;                                             /* the nodes with the copies between them */
  int32_t order_count;
  placer **bodies;                                          /* by node: its subgraphs, linked by `next`; NULL without, or if the host runs them */
  /* Of a subgraph: */
  placer *parent, *next;
  node *owner;
  wiring ends;
};

/* ---- What nodes do with their operands ---- */

typedef enum use { USE_NOTHING, USE_DIMS, USE_VIEW, USE_HOST, USE_DEVICE } use;

static inline bool in_mask(uint32_t mask, int32_t i) { return mask >> (i < 31 ? i : 31) & 1; }
static inline bool is_view(const node *n) { return !n->kernel && (n->op->flags & OP_VIEW); }
/* Operand i, counted over inputs and then captures, of a node without placers for its subgraphs. */
use use_of(const node *n, int32_t i);

/* ---- Ends of subgraphs: value ids, or NO_VALUE ---- */

/* False if the subgraph does not fit its node; the host, which runs it then, says so. */
bool find_wiring(const node *n, const graph *body, wiring *out);
static inline int32_t outer_input(const placer *body, int32_t i) {           /* of the node, for input i >= host_inputs of the body */
  return body->owner->inputs[body->ends.first_input + i - body->ends.host_inputs];
}
static inline int32_t outer_output(const placer *body, int32_t o) {          /* of the node, for output o of the body */
  int32_t at = o - body->ends.host_outputs;
  return at >= 0 && at < body->owner->output_count ? body->owner->outputs[at] : NO_VALUE;
}
static inline int32_t body_input(const placer *body, int32_t i) { return body->g->inputs[i]; }
static inline int32_t carried_in(const placer *body, int32_t c) { return body->g->inputs[body->ends.host_inputs + c]; }
static inline int32_t carried_out(const placer *body, int32_t c) { return body->g->outputs[body->ends.host_outputs + c]; }

/* ---- The steps ---- */

/* Only such values can lie on the device. */
static inline bool is_plain_tensor(const fact *f) { return f->kind == KIND_TENSOR && !f->optional; }
/* One that can be had on both sides without a copy at run time. */
static inline bool is_constant(const placer *p, int32_t v) { return p->g->values[v].fact.value && !p->g->values[v].is_capture; }
/* By whom all subgraphs of a node make what is its output i. */
made made_in_bodies(const placer *bodies, int32_t i);

/* Which nodes run where (plan/place_nodes.c), and what is known of values then: from_shapes, read_by and made. */
void place_nodes(placer *top);
/* A node with subgraphs: the sides of its operands and of all in its subgraphs (plan/place_bodies.c). */
status place_bodies(placer *p, int32_t index) MUST_CHECK;

/* All nodes of p, whose inputs and captures have their sides. */
status place_values(placer *p) MUST_CHECK;
/* The order that was found, copies included, becomes the graph's. */
void set_order(placer *p);
typedef enum reading { READ_BY_NODE, READ_IN_BODY, READ_AS_RESULT } reading;
/* The value that stands for v on the side where `reader` wants it; how it reads it is told to users. */
status on_side(placer *p, int32_t v, bool to_device, const node *reader, reading how, int32_t *out) MUST_CHECK;

#endif
