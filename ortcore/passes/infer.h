/* Shape and type inference: of one node from facts, and of whole graphs. */
#ifndef ORTCORE_PASSES_INFER_H
#define ORTCORE_PASSES_INFER_H

#include <ortcore/ops/op.h>

typedef status (*infer_subgraph_fn)(infer_ctx *c, graph *g, int32_t count, const fact *const *inputs, const fact **outputs);

/* Checks the node against its operator's signature and sets what is known of its outputs. in and out as in infer_ctx. `subgraph` infers the
 * graphs of If, Loop and Scan and finds `user` in c->user; with NULL their outputs stay unknown. */
status infer_node(const node *n, int32_t in_count, const fact *const *in, int32_t out_count, fact **out, infer_subgraph_fn subgraph, void *user) MUST_CHECK;
/* Facts of every value, subgraphs included. What the model declares of values fills the gaps; a declared dtype that disagrees is an error,
 * a declared dim that disagrees becomes unknown, with a warning. */
status infer_graph(graph *g) MUST_CHECK;

#endif
