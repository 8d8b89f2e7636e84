/* Finds the operator of every node. */
#ifndef ORTCORE_PASSES_RESOLVE_H
#define ORTCORE_PASSES_RESOLVE_H

#include <ortcore/ops/op.h>

/* Sets node.op in the graph and its subgraphs. A node whose operator does not exist is an error that says what does. */
status resolve_graph(graph *g) MUST_CHECK;

#endif
