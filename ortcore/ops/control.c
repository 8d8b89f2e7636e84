/* If, Loop and Scan: what is known of their outputs. exec/control.c runs them. */
#include <ortcore/ops/op.h>
#include <string.h>

/* What both facts agree on. */
static void fact_meet(fact *into, const fact *other) {
  if (into->kind != KIND_TENSOR || other->kind != KIND_TENSOR) {
    into->rank = RANK_UNKNOWN;
  } else if (into->rank != other->rank) {
    into->rank = RANK_UNKNOWN;
  } else {
    for (int d = 0; d < into->rank; ++d)
      if (into->dims[d] != other->dims[d]) into->dims[d] = DIM_UNKNOWN;
  }
  if (into->order != other->order) into->order = LAYOUT_PLAIN;
  into->optional |= other->optional;
  into->value = NULL;
}

static status subgraph(infer_ctx *c, const char *name, int32_t outputs, graph **out) {
  *out = attr_graph(c->node, name);
  if (!*out) return ERROR(INVALID_GRAPH, "attribute '%s' with a graph is missing", name);
  if ((*out)->output_count != outputs)
    return ERROR(INVALID_GRAPH, "the graph in attribute '%s' has %d outputs, but %d are expected", name, (*out)->output_count, outputs);
  return OK;
}

static status if_infer(infer_ctx *c) {
  static const char *const names[2] = {"then_branch", "else_branch"};
  if (!c->infer_subgraph) return OK;
  const fact **branch[2] = {0};
  zone *scratch = zone_create();
  status s = scratch ? OK : status_out_of_memory();
  for (int b = 0; b < 2 && !s; ++b) {
    graph *g;
    s = subgraph(c, names[b], c->out_count, &g);
    branch[b] = ZONE_ARRAY(scratch, c->out_count + 1, const fact *);
    if (!s && !branch[b]) s = status_out_of_memory();
    if (!s) s = status_context(c->infer_subgraph(c, g, 0, NULL, branch[b]), "%s", names[b]);
  }
  for (int32_t i = 0; i < c->out_count && !s; ++i) {
    if (!c->out[i]) continue;
    const fact *a = branch[0][i], *b = branch[1][i];
    if (a->kind == KIND_TENSOR && b->kind == KIND_TENSOR && a->type && b->type && a->type != b->type) {
      s = ERROR(INVALID_GRAPH, "output %d is %s in then_branch but %s in else_branch; both must have one type", i, dtype_name(a->type), dtype_name(b->type));
      break;
    }
    *c->out[i] = *a;
    fact_meet(c->out[i], b);
  }
  zone_release(scratch);
  return s;
}

/* Facts of the carried values that hold in every iteration: start from the initial ones and forget what an iteration changes, until
 * nothing changes. Each round forgets at least a dim or a rank, so it ends. results are the body's outputs of the last round. */
static status carried_fixpoint(infer_ctx *c, graph *body, int32_t first, int32_t count, fact *facts, const fact **in, int32_t in_count, int32_t result_base,
                               const fact **results) {
  for (int round = 0; round < MAX_RANK + 2; ++round) {
    TRY(status_context(c->infer_subgraph(c, body, in_count, in, results), "body"));
    bool changed = false;
    for (int32_t i = 0; i < count; ++i) {
      fact before = facts[first + i], *now = &facts[first + i];
      fact_meet(now, results[result_base + i]);
      if (now->rank != before.rank || (now->rank > 0 && memcmp(now->dims, before.dims, (size_t)now->rank * sizeof(dim)))) changed = true;
    }
    if (!changed) return OK;
  }
  return OK;
}

/* The body's inputs: a scalar int64 and a bool, then the carried values. */
static status loop_inputs(infer_ctx *c, const graph *body, fact *facts, const fact **in) {
  for (int32_t i = 0; i < body->input_count; ++i) in[i] = &facts[i];
  facts[0] = (fact){.kind = KIND_TENSOR, .type = ORTC_INT64};
  facts[1] = (fact){.kind = KIND_TENSOR, .type = ORTC_BOOL};
  for (int32_t i = 2; i < body->input_count; ++i) {
    if (c->in[i]) facts[i] = *c->in[i];
    else facts[i] = body->values[body->inputs[i]].fact;
    facts[i].value = NULL;
  }
  return OK;
}

/* A scan output: one more dim than the body's result, at `axis`. */
static status stacked_fact(const fact *element, int64_t axis, dim length, fact *out) {
  out->kind = KIND_TENSOR;
  out->type = element->type;
  out->rank = RANK_UNKNOWN;
  if (element->rank < 0 || element->rank >= MAX_RANK) return OK;
  dim dims[MAX_RANK];
  int at;
  TRY(axis_normalise(axis, element->rank + 1, "scan_output_axes", &at));
  for (int d = 0, from = 0; d <= element->rank; ++d) dims[d] = d == at ? length : element->dims[from++];
  fact_set_shape(out, element->rank + 1, dims);
  return OK;
}

static status loop_infer_in(infer_ctx *c, zone *scratch) {
  graph *body = attr_graph(c->node, "body");
  if (!body) return ERROR(INVALID_GRAPH, "attribute 'body' with a graph is missing");
  int32_t carried = body->input_count - 2, stacks = body->output_count - 1 - carried;
  if (carried < 0 || stacks < 0 || c->in_count != carried + 2 || c->out_count > carried + stacks)
    return ERROR(INVALID_GRAPH, "the body has %d inputs and %d outputs, which does not fit a Loop with %d inputs and %d outputs", body->input_count,
                 body->output_count, c->in_count, c->out_count);
  fact *facts = ZONE_ARRAY(scratch, body->input_count + 1, fact);
  const fact **in = ZONE_ARRAY(scratch, body->input_count + 1, const fact *), **results = ZONE_ARRAY(scratch, body->output_count + 1, const fact *);
  if (!facts || !in || !results) return status_out_of_memory();
  TRY(loop_inputs(c, body, facts, in));
  TRY(carried_fixpoint(c, body, 2, carried, facts, in, body->input_count, 1, results));
  for (int32_t i = 0; i < c->out_count; ++i) {
    if (!c->out[i]) continue;
    if (i < carried) *c->out[i] = facts[2 + i];
    else TRY(stacked_fact(results[1 + i], 0, DIM_UNKNOWN, c->out[i]));
  }
  return OK;
}

static dim scan_length(const infer_ctx *c, int32_t carried, int32_t scans, const int64_t *axes, int64_t axis_count, fact *slices) {
  dim length = DIM_UNKNOWN;
  for (int32_t i = 0; i < scans; ++i) {
    const fact *whole = c->in[carried + i];
    slices[i] = (fact){.kind = KIND_TENSOR, .type = whole ? whole->type : ORTC_UNDEFINED, .rank = RANK_UNKNOWN};
    if (!whole || whole->rank < 1) continue;
    int64_t axis = i < axis_count ? axes[i] : 0;
    if (axis < 0) axis += whole->rank;
    if (axis < 0 || axis >= whole->rank) continue;
    dim dims[MAX_RANK];
    for (int d = 0, to = 0; d < whole->rank; ++d)
      if (d != axis) dims[to++] = whole->dims[d];
    fact_set_shape(&slices[i], whole->rank - 1, dims);
    if (!dim_known(length)) length = whole->dims[axis];
  }
  return length;
}

/* Each input of the body is an input of the node, the last `scans` of them a slice at a time; state variables come before them, and out again. */
static bool scan_fits(const graph *body, int64_t scans, int32_t in_count, int32_t out_count) {
  return scans >= 1 && scans <= body->input_count && body->output_count >= body->input_count - scans && in_count == body->input_count &&
         out_count <= body->output_count;
}

static status scan_infer_in(infer_ctx *c, zone *scratch) {
  graph *body = attr_graph(c->node, "body");
  if (!body) return ERROR(INVALID_GRAPH, "attribute 'body' with a graph is missing");
  int64_t scans = attr_int_or(c->node, "num_scan_inputs", 0), axis_count = 0, out_axis_count = 0;
  const int64_t *axes = attr_ints(c->node, "scan_input_axes", &axis_count), *out_axes = attr_ints(c->node, "scan_output_axes", &out_axis_count);
  if (!scan_fits(body, scans, c->in_count, c->out_count))
    return ERROR(INVALID_GRAPH, "the body has %d inputs and %d outputs, which does not fit a Scan with %d inputs of which %lld are scanned", body->input_count,
                 body->output_count, c->in_count, (long long)scans);
  int32_t carried = body->input_count - (int32_t)scans;
  fact *facts = ZONE_ARRAY(scratch, body->input_count + 1, fact);
  const fact **in = ZONE_ARRAY(scratch, body->input_count + 1, const fact *), **results = ZONE_ARRAY(scratch, body->output_count + 1, const fact *);
  if (!facts || !in || !results) return status_out_of_memory();
  for (int32_t i = 0; i < body->input_count; ++i) in[i] = &facts[i];
  for (int32_t i = 0; i < carried; ++i) {
    if (c->in[i]) facts[i] = *c->in[i];
    facts[i].value = NULL;
  }
  dim length = scan_length(c, carried, (int32_t)scans, axes, axis_count, facts + carried);
  TRY(carried_fixpoint(c, body, 0, carried, facts, in, body->input_count, 0, results));
  for (int32_t i = 0; i < c->out_count; ++i) {
    if (!c->out[i]) continue;
    if (i < carried) *c->out[i] = facts[i];
    else TRY(stacked_fact(results[i], i - carried < out_axis_count ? out_axes[i - carried] : 0, length, c->out[i]));
  }
  return OK;
}

/* What an item of a batch is: the first `count` dims are left out. */
static void item_fact(const fact *whole, int count, fact *out) {
  *out = (fact){.kind = KIND_TENSOR, .type = whole ? whole->type : ORTC_UNDEFINED, .rank = RANK_UNKNOWN};
  if (whole && whole->rank >= count) fact_set_shape(out, whole->rank - count, whole->dims + count);
}

/* And back: what items make together. */
static void batch_fact(const fact *item, int count, const dim *leading, fact *out) {
  out->kind = KIND_TENSOR;
  out->type = item->type;
  out->rank = RANK_UNKNOWN;
  if (item->rank < 0 || item->rank + count > MAX_RANK) return;
  dim dims[MAX_RANK];
  memcpy(dims, leading, (size_t)count * sizeof *dims);
  memcpy(dims + count, item->dims, (size_t)item->rank * sizeof *dims);
  fact_set_shape(out, item->rank + count, dims);
}

/* Opset 8: behind the lengths, states of shape [batch, ...] and scan inputs of shape [batch, length, ...]. */
static status scan_batch_infer_in(infer_ctx *c, zone *scratch) {
  graph *body = attr_graph(c->node, "body");
  if (!body) return ERROR(INVALID_GRAPH, "attribute 'body' with a graph is missing");
  int64_t scans = attr_int_or(c->node, "num_scan_inputs", 0);
  if (!scan_fits(body, scans, c->in_count - 1, c->out_count))
    return ERROR(INVALID_GRAPH, "the body has %d inputs and %d outputs, which does not fit a Scan with %d inputs, sequence_lens aside, of which %lld are scanned",
                 body->input_count, body->output_count, c->in_count - 1, (long long)scans);
  int32_t carried = body->input_count - (int32_t)scans;
  fact *facts = ZONE_ARRAY(scratch, body->input_count + 1, fact);
  const fact **in = ZONE_ARRAY(scratch, body->input_count + 1, const fact *), **results = ZONE_ARRAY(scratch, body->output_count + 1, const fact *);
  if (!facts || !in || !results) return status_out_of_memory();
  dim leading[2] = {DIM_UNKNOWN, DIM_UNKNOWN};
  for (int32_t i = 0; i < body->input_count; ++i) {
    const fact *whole = c->in[1 + i];
    in[i] = &facts[i];
    item_fact(whole, i < carried ? 1 : 2, &facts[i]);
    if (i < carried || !whole || whole->rank < 2) continue;
    for (int d = 0; d < 2; ++d)
      if (!dim_known(leading[d])) leading[d] = whole->dims[d];
  }
  TRY(carried_fixpoint(c, body, 0, carried, facts, in, body->input_count, 0, results));
  for (int32_t i = 0; i < c->out_count; ++i)
    if (c->out[i]) batch_fact(i < carried ? &facts[i] : results[i], i < carried ? 1 : 2, leading, c->out[i]);
  return OK;
}

static status with_scratch(infer_ctx *c, status (*infer)(infer_ctx *, zone *)) {
  if (!c->infer_subgraph) return OK;
  zone *scratch = zone_create();
  status s = scratch ? infer(c, scratch) : status_out_of_memory();
  zone_release(scratch);
  return s;
}

static status loop_infer(infer_ctx *c) { return with_scratch(c, loop_infer_in); }
static status scan_infer(infer_ctx *c) { return with_scratch(c, scan_infer_in); }
static status scan_batch_infer(infer_ctx *c) { return with_scratch(c, scan_batch_infer_in); }

#define IF_SIGNATURE "cond:bool -> outputs:any%"
#define LOOP_SIGNATURE "M:i64? cond:bool? v_initial:any% -> outputs:any%"

OP_FAMILY(control) = {
  {.name = "If", .since = 1, .signature = IF_SIGNATURE, .flags = OP_SUBGRAPHS | OP_VALUES, .infer = if_infer},
  {.name = "Loop", .since = 1, .signature = LOOP_SIGNATURE, .flags = OP_SUBGRAPHS | OP_VALUES, .infer = loop_infer},
  {.name = "Scan", .since = 8, .signature = "sequence_lens:i64? inputs:any% -> outputs:any%", .flags = OP_SUBGRAPHS,
   .infer = scan_batch_infer},
  {.name = "Scan", .since = 9, .signature = "inputs:any% -> outputs:any%", .flags = OP_SUBGRAPHS, .infer = scan_infer},
  {0}};
