/* Graphs, facts and models: what graph.h and fact.h promise. */
#include "graphs.h"

#include <ortcore/passes/resolve.h>

static const dim square[] = {2, 2};

static void test_sorting(void) {
  builder b = builder_create(17);
  int32_t x = build_input(&b, "x", ORTC_FLOAT, 2, square), ids[3];
  node *n;
  for (int i = 0; i < 3; ++i) CHECK_OK(graph_add_value(b.g, NULL, &ids[i]));
  /* The last node of the chain comes first. */
  CHECK_OK(graph_add_node(b.g, "Identity", "", 1, &ids[1], 1, &ids[2], &n));
  CHECK_OK(graph_add_node(b.g, "Identity", "", 1, &ids[0], 1, &ids[1], &n));
  CHECK_OK(graph_add_node(b.g, "Identity", "", 1, &x, 1, &ids[0], &n));
  build_output(&b, ids[2]);
  CHECK_OK(resolve_graph(b.g));
  CHECK_ERROR(graph_verify(b.g), INVALID_GRAPH, "before it is computed");
  CHECK_OK(graph_sort(b.g));
  CHECK_OK(graph_verify(b.g));
  CHECK_INT(b.g->nodes[0]->inputs[0], x);
  CHECK_INT(b.g->values[ids[2]].producer, 2);
  model_release(b.m);
}

static void test_a_cycle_is_found(void) {
  builder b = builder_create(17);
  int32_t ids[2];
  node *n;
  for (int i = 0; i < 2; ++i) CHECK_OK(graph_add_value(b.g, NULL, &ids[i]));
  CHECK_OK(graph_add_node(b.g, "Identity", "", 1, &ids[1], 1, &ids[0], &n));
  CHECK_OK(graph_add_node(b.g, "Identity", "", 1, &ids[0], 1, &ids[1], &n));
  CHECK_ERROR(graph_sort(b.g), INVALID_GRAPH, "cycle");
  model_release(b.m);
}

static void test_a_long_chain_needs_no_stack(void) {
  enum { LENGTH = 200000 };
  builder b = builder_create(17);
  int32_t *ids = malloc((LENGTH + 1) * sizeof *ids);
  node *n;
  ids[0] = build_input(&b, "x", ORTC_FLOAT, 2, square);
  for (int i = 1; i <= LENGTH; ++i) CHECK_OK(graph_add_value(b.g, NULL, &ids[i]));
  for (int i = LENGTH; i > 0; --i) CHECK_OK(graph_add_node(b.g, "Identity", "", 1, &ids[i - 1], 1, &ids[i], &n));
  CHECK_OK(graph_sort(b.g));
  CHECK_INT(b.g->nodes[LENGTH - 1]->outputs[0], ids[LENGTH]);
  free(ids);
  model_release(b.m);
}

static void test_uses_and_compaction(void) {
  builder b = builder_create(17);
  int32_t x = build_input(&b, "x", ORTC_FLOAT, 2, square);
  int32_t y = build_node(&b, "MatMul", 2, (int32_t[]){x, x}, NULL);
  int32_t dead = build_node(&b, "Identity", 1, &x, NULL), z = build_node(&b, "MatMul", 2, (int32_t[]){x, y}, NULL);
  build_output(&b, z);
  int32_t *uses = graph_count_uses(b.g);
  CHECK_INT(uses[x], 4);
  CHECK_INT(uses[y], 1);
  CHECK_INT(uses[dead], 0);
  CHECK_INT(uses[z], 1);
  free(uses);
  b.g->nodes[1] = NULL;
  graph_compact(b.g);
  CHECK_INT(b.g->node_count, 2);
  CHECK_INT(b.g->values[z].producer, 1);
  CHECK_INT(b.g->values[dead].producer, -1);
  CHECK_OK(resolve_graph(b.g));
  CHECK_OK(graph_verify(b.g));
  model_release(b.m);
}

static void test_unknown_operators_are_explained(void) {
  builder b = builder_create(17);
  int32_t x = build_input(&b, "x", ORTC_FLOAT, 2, square);
  node *n;
  build_node(&b, "Matmul", 2, (int32_t[]){x, x}, &n);
  CHECK_ERROR(resolve_graph(b.g), INVALID_GRAPH, "did you mean MatMul");
  n->op_type = "Identity";
  n->domain = "my.own";
  CHECK_ERROR(resolve_graph(b.g), FAIL, "'my.own'");
  n->domain = "";
  n->op_type = "CenterCropPad";
  n->opset = 1;
  CHECK_ERROR(resolve_graph(b.g), INVALID_GRAPH, "since opset 18");
  model_release(b.m);
}

static void test_symbols(void) {
  builder b = builder_create(17);
  dim batch = model_symbol(b.m, "batch"), length = model_symbol(b.m, "length");
  CHECK(batch <= -2 && length <= -2 && batch != length && batch == model_symbol(b.m, "batch"));
  CHECK_TEXT(model_symbol_name(b.m, length), "length");
  CHECK(!model_symbol_name(b.m, 3) && !model_symbol_name(b.m, DIM_UNKNOWN) && !model_symbol_name(b.m, -99));
  int32_t x = build_input(&b, "x", ORTC_FLOAT, 2, (dim[]){batch, length});
  model_override_dim(b.m, "batch", 8);
  model_override_dim(b.m, "nobody", 9);
  CHECK_INT(b.g->values[x].fact.dims[0], 8);
  CHECK_INT(b.g->values[x].fact.dims[1], length);
  model_release(b.m);
}

static void test_attributes(void) {
  builder b = builder_create(17);
  int32_t x = build_input(&b, "x", ORTC_FLOAT, 2, square);
  int64_t count;
  node *n;
  build_node(&b, "Identity", 1, &x, &n);
  CHECK_OK(node_set_attr_int(b.g, n, "axis", 3));
  CHECK_OK(node_set_attr_int(b.g, n, "axis", -1));
  CHECK_OK(node_set_attr_ints(b.g, n, "perm", 2, (int64_t[]){1, 0}));
  CHECK_OK(node_set_attr_ints(b.g, n, "empty", 0, NULL));
  CHECK_OK(node_set_attr_float(b.g, n, "alpha", 0.5f));
  CHECK_OK(node_set_attr_string(b.g, n, "mode", "linear"));
  CHECK_INT(n->attr_count, 5);
  CHECK_INT(attr_int_or(n, "axis", 7), -1);
  CHECK_INT(attr_int_or(n, "alpha", 7), 7);                  /* of another kind: as if absent */
  CHECK(attr_float_or(n, "alpha", 1) == 0.5f && attr_float_or(n, "beta", 1) == 1);
  CHECK_TEXT(attr_string_or(n, "mode", "").data, "linear");
  CHECK(attr_ints(n, "perm", &count)[1] == 0 && count == 2);
  CHECK(attr_ints(n, "empty", &count) && count == 0);
  CHECK(!attr_ints(n, "absent", &count) && count == 0);
  model_release(b.m);
}

static fact shaped(int rank, const dim *dims) {
  fact f = {.kind = KIND_TENSOR, .type = ORTC_FLOAT};
  fact_set_shape(&f, rank, dims);
  return f;
}

static void test_broadcasting(void) {
  fact a = shaped(3, (dim[]){2, 1, DIM_UNKNOWN}), b = shaped(2, (dim[]){-5, 4}), out = {0};
  CHECK_OK(fact_broadcast(&a, &b, &out));
  CHECK(out.rank == 3 && out.dims[0] == 2 && out.dims[1] == -5 && out.dims[2] == 4);
  a = shaped(1, (dim[]){0}), b = shaped(1, (dim[]){1});
  CHECK_OK(fact_broadcast(&a, &b, &out));
  CHECK_INT(out.dims[0], 0);
  a = shaped(1, (dim[]){-5}), b = shaped(1, (dim[]){-6});
  CHECK_OK(fact_broadcast(&a, &b, &out));
  CHECK_INT(out.dims[0], DIM_UNKNOWN);
  a = shaped(1, (dim[]){2}), b = shaped(1, (dim[]){3});
  CHECK_ERROR(fact_broadcast(&a, &b, &out), INVALID_ARGUMENT, "do not broadcast");
  a.rank = RANK_UNKNOWN;
  CHECK_OK(fact_broadcast(&a, &b, &out));
  CHECK_INT(out.rank, RANK_UNKNOWN);
}

static void test_constants_as_numbers(void) {
  int32_t narrow[2] = {-1, 7};
  int64_t out[2];
  double scalar;
  tensor t;
  CHECK_OK(tensor_init(&t, ORTC_INT32, 1, (int64_t[]){2}));
  t.data = narrow;
  fact f = {.kind = KIND_TENSOR, .type = ORTC_INT32, .rank = 1, .dims = {2}, .value = &t};
  CHECK_INT(fact_integers(&f, out, 2), 2);
  CHECK(out[0] == -1 && out[1] == 7);
  CHECK_INT(fact_integers(&f, out, 1), -1);
  CHECK(!fact_scalar_f64(&f, &scalar));
  uint16_t one_and_a_half = 0x3e00;
  CHECK_OK(tensor_init(&t, ORTC_FLOAT16, 0, NULL));
  t.data = &one_and_a_half;
  CHECK(fact_scalar_f64(&f, &scalar) && scalar == 1.5);
  f.value = NULL;
  CHECK(!fact_scalar_f64(&f, &scalar) && fact_integers(&f, out, 2) == -1);
  CHECK_INT(fact_count(&f), 2);
  f.dims[0] = -4;
  CHECK_INT(fact_count(&f), -1);
}

static void test_axes(void) {
  int axis;
  CHECK_OK(axis_normalise(-1, 3, "axis", &axis));
  CHECK_INT(axis, 2);
  CHECK_ERROR(axis_normalise(3, 3, "attribute 'axis'", &axis), INVALID_ARGUMENT, "attribute 'axis' is 3");
  CHECK_ERROR(axis_normalise(INT64_MIN, 3, "axis", &axis), INVALID_ARGUMENT, "[-3, 2]");
}

static void test_dump_shows_everything(void) {
  builder b = builder_create(17);
  int32_t x = build_input(&b, "x", ORTC_FLOAT, 2, (dim[]){model_symbol(b.m, "n"), 3});
  node *n;
  int32_t y = build_node(&b, "Transpose", 1, &x, &n);
  CHECK_OK(node_set_attr_ints(b.g, n, "perm", 2, (int64_t[]){1, 0}));
  build_output(&b, y);
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  graph_dump(b.g, file);
  fclose(file);
  CHECK(strstr(text, "x:float[n,3]") && strstr(text, "Transpose(x") && strstr(text, "perm=[1,0]"));
  free(text);
  model_release(b.m);
}

int main(void) {
  RUN(test_sorting);
  RUN(test_a_cycle_is_found);
  RUN(test_a_long_chain_needs_no_stack);
  RUN(test_uses_and_compaction);
  RUN(test_unknown_operators_are_explained);
  RUN(test_symbols);
  RUN(test_attributes);
  RUN(test_broadcasting);
  RUN(test_constants_as_numbers);
  RUN(test_axes);
  RUN(test_dump_shows_everything);
  return check_result();
}
