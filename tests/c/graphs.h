/* Graphs for tests, built node by node. Values are named; shapes are given as dims. */
#ifndef TESTS_GRAPHS_H
#define TESTS_GRAPHS_H

#include "check.h"

#include <ortcore/ir/graph.h>

typedef struct builder { model *m; graph *g; } builder;

__attribute__((unused)) static builder builder_create(int64_t opset) {
  builder b = {0};
  CHECK_OK(model_create(&b.m));
  b.m->imports = zone_alloc_array(b.m->memory, 1, sizeof *b.m->imports);
  b.m->imports[b.m->import_count].domain = "";
  b.m->imports[b.m->import_count++].version = opset;
  CHECK_OK(graph_create(b.m, NULL, &b.g));
  b.m->main = b.g;
  b.g->inputs = ZONE_ARRAY(b.m->memory, 16, int32_t);
  b.g->outputs = ZONE_ARRAY(b.m->memory, 16, int32_t);
  return b;
}

__attribute__((unused)) static int32_t build_input(builder *b, const char *name, dtype type, int rank, const dim *dims) {
  int32_t id;
  CHECK_OK(graph_add_value(b->g, name, &id));
  value *v = &b->g->values[id];
  v->is_input = true;
  v->fact = (fact){.kind = KIND_TENSOR, .type = type};
  fact_set_shape(&v->fact, rank, dims);
  b->g->inputs[b->g->input_count++] = id;
  return id;
}

__attribute__((unused)) static int32_t build_node(builder *b, const char *op_type, int32_t count, const int32_t *inputs, node **out) {
  int32_t id;
  node *n;
  CHECK_OK(graph_add_value(b->g, NULL, &id));
  CHECK_OK(graph_add_node(b->g, op_type, "", count, inputs, 1, &id, &n));
  if (out) *out = n;
  return id;
}

__attribute__((unused)) static void build_output(builder *b, int32_t id) {
  b->g->values[id].is_output = true;
  b->g->outputs[b->g->output_count++] = id;
}

/* A constant over memory that outlives the model. */
__attribute__((unused)) static int32_t build_constant(builder *b, dtype type, int rank, const int64_t *dims, const void *data) {
  int32_t id;
  tensor t;
  CHECK_OK(graph_add_value(b->g, NULL, &id));
  CHECK_OK(tensor_init(&t, type, rank, dims));
  t.data = (void *)(uintptr_t)data;
  CHECK_OK(graph_set_constant(b->g, id, &t, NULL));
  return id;
}

#endif
