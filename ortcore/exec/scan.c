/* Scan: an iteration for each slice of its scan inputs. Since opset 9 one sequence; in opset 8 a batch of sequences, each scanned by itself. */
#include <ortcore/base/mem.h>
#include <ortcore/exec/control.h>
#include <ortcore/exec/transfer.h>
#include <inttypes.h>
#include <string.h>

typedef struct scan {
  loop l;                                                   /* carried: the state variables; stacks: the scan outputs */
  int32_t first;                                            /* input of the node that is the first state variable */
  int32_t scan_count;
  slicer *slicers;
  int64_t length;                                           /* iterations of the sequence at hand */
} scan;

/* Does the node's input i lie on the device? */
static bool is_on_device(const exec_step *e, int32_t i) { return e->source->in[i] != NO_VALUE && plan_on_device(e->owner->owner, e->source->in[i]); }

static const tensor *scan_operand(const scan *x, const exec_step *e, int32_t i) { return e->operands[x->first + x->l.carried_count + i]; }

static status scan_init(scan *x, exec_step *e, int32_t first) {
  loop *l = &x->l;
  int64_t scans = attr_int_or(e->k.node, "num_scan_inputs", 0);
  *x = (scan){.first = first};
  TRY(runner_init(&l->r, e, "body"));
  const graph *g = l->r.sub->graph;
  if (scans < 1 || scans > g->input_count || g->output_count < g->input_count - scans || e->k.in_count != first + g->input_count)
    return ERROR(INVALID_GRAPH, "the body has %d inputs and %d outputs, which does not fit a Scan with %d inputs of which %" PRId64 " are scanned", g->input_count,
                 g->output_count, e->k.in_count - first, scans);
  x->scan_count = (int32_t)scans;
  int32_t carried = g->input_count - x->scan_count, stacks = g->output_count - carried;
  l->carried_count = carried;
  l->stack_count = stacks;
  x->slicers = mem_calloc((size_t)x->scan_count, sizeof *x->slicers);
  if (!x->slicers) return status_out_of_memory();
  return loop_alloc(l);
}

static void scan_deinit(scan *x) {
  for (int32_t k = 0; x->slicers && k < x->scan_count; ++k) slicer_deinit(&x->slicers[k]);
  mem_free(x->slicers);
  loop_deinit(&x->l);
}

static status scan_iterate(scan *x, exec_step *e, int64_t expected) {
  loop *l = &x->l;
  for (int64_t i = 0; i < x->length; ++i) {
    if (kernel_cancelled(&e->k)) return ERROR(FAIL, "the run was ended in iteration %" PRId64 " because its terminate flag is set", i);
    for (int32_t k = 0; k < x->scan_count; ++k) TRY(slicer_at(&x->slicers[k], i, &l->r.feeds[l->carried_count + k]));
    for (int32_t c = 0; c < l->carried_count; ++c) l->r.feeds[c] = carried_feed(&l->carried[c]);
    TRY(status_context(runner_run(&l->r), "iteration %" PRId64, i));
    status s = OK;
    for (int32_t c = 0; c < l->carried_count; ++c) carried_take(&l->carried[c], &l->r.targets[c]);
    for (int32_t k = 0; k < l->stack_count; ++k) {
      if (!s) s = stack_push(&l->stacks[k], &l->r.targets[l->carried_count + k].result, expected);
      target_drop(&l->r.targets[l->carried_count + k]);
    }
    TRY(s);
  }
  return OK;
}

/* ---- Since opset 9 ------------------------------------------------------------------------------------------------------- */

static status open_inputs(scan *x, exec_step *e) {
  int64_t axis_count = 0, direction_count = 0;
  const int64_t *axes = attr_ints(e->k.node, "scan_input_axes", &axis_count), *directions = attr_ints(e->k.node, "scan_input_directions", &direction_count);
  for (int32_t i = 0; i < x->scan_count; ++i) {
    const tensor *t = scan_operand(x, e, i);
    if (!t) return ERROR(INVALID_ARGUMENT, "scan input %d is missing", i);
    bool on_device = is_on_device(e, x->first + x->l.carried_count + i), reversed = i < direction_count && directions[i] == 1;
    TRY(status_context(slicer_init(&x->slicers[i], e->owner->env, on_device, t, i < axis_count ? axes[i] : 0, reversed), "scan input %d", i));
    if (i == 0) x->length = x->slicers[0].length;
    if (x->slicers[i].length != x->length)
      return ERROR(INVALID_ARGUMENT, "scan input %d has %" PRId64 " slices but scan input 0 has %" PRId64 "; all must agree", i, x->slicers[i].length, x->length);
  }
  return OK;
}

static void open_outputs(scan *x, const exec_step *e) {
  int64_t axis_count = 0, direction_count = 0;
  const int64_t *axes = attr_ints(e->k.node, "scan_output_axes", &axis_count), *directions = attr_ints(e->k.node, "scan_output_directions", &direction_count);
  for (int32_t k = 0; k < x->l.stack_count; ++k)
    stack_init_result(&x->l.stacks[k], &x->l.r, x->l.carried_count + k, k < axis_count ? axes[k] : 0, k < direction_count && directions[k] == 1);
}

static status scan_sequence(scan *x, exec_step *e) {
  loop *l = &x->l;
  TRY(scan_init(x, e, 0));
  for (int32_t c = 0; c < l->carried_count; ++c) {
    feed f = frame_feed(e->owner, e->source->in[c]);
    carried_set(&l->carried[c], &f);
  }
  TRY(open_inputs(x, e));
  open_outputs(x, e);
  TRY(scan_iterate(x, e, x->length));
  for (int32_t c = 0; c < l->carried_count; ++c) TRY(carried_deliver(e, c, &l->carried[c]));
  for (int32_t k = 0; k < l->stack_count; ++k) TRY(deliver_stack(e, &l->stacks[k], l->carried_count + k));
  return OK;
}

/* ---- Opset 8 --------------------------------------------------------------------------------------------------------------- */

typedef struct batch {
  scan x;
  int64_t items, longest;                                   /* dims 0 and 1 of every scan input */
  const int64_t *lengths;                                   /* of each item's sequence; NULL: all are the longest */
  stack *states;                                            /* the final states of the items */
} batch;

/* Item b of a tensor whose first axis is the batch. */
static status item_of(const tensor *t, int64_t b, tensor *out) {
  TRY(tensor_init(out, t->type, t->rank - 1, t->dims + 1));
  out->data = (char *)t->data + b * (int64_t)tensor_bytes(out);
  return OK;
}

static status check_inputs(batch *j, exec_step *e) {
  const scan *x = &j->x;
  const tensor *lengths = e->operands[0];
  for (int32_t i = 0; i < x->scan_count; ++i) {
    const tensor *t = scan_operand(x, e, i);
    if (!t || t->rank < 2) return ERROR(INVALID_ARGUMENT, "scan input %d must be a tensor of shape [batch, length, ...]", i);
    if (i == 0) j->items = t->dims[0], j->longest = t->dims[1];
    if (t->dims[0] != j->items || t->dims[1] != j->longest)
      return ERROR(INVALID_ARGUMENT, "scan input %d has %" PRId64 " sequences of %" PRId64 " but scan input 0 has %" PRId64 " of %" PRId64 "; all must agree", i,
                   t->dims[0], t->dims[1], j->items, j->longest);
  }
  for (int32_t c = 0; c < x->l.carried_count; ++c) {
    const tensor *t = e->operands[x->first + c];
    if (!t || t->rank < 1 || t->dims[0] != j->items)
      return ERROR(INVALID_ARGUMENT, "state variable %d must be a tensor with a first axis of %" PRId64 ", as many as there are sequences", c, j->items);
  }
  for (int32_t i = 0; i < x->l.carried_count + x->scan_count; ++i)
    if (!tensor_width(e->operands[x->first + i]))
      return ERROR(NOT_IMPLEMENTED, "Scan of opset 8 over %s tensors, whose elements are narrower than a byte, is not supported",
                   dtype_name(e->operands[x->first + i]->type));
  if (!lengths) return OK;
  if (lengths->type != ORTC_INT64 || lengths->rank != 1 || lengths->count != j->items)
    return ERROR(INVALID_ARGUMENT, "sequence_lens must have one int64 for each of the %" PRId64 " sequences", j->items);
  j->lengths = lengths->data;
  for (int64_t b = 0; b < j->items; ++b)
    if (j->lengths[b] < 0 || j->lengths[b] > j->longest)
      return ERROR(INVALID_ARGUMENT, "sequence_lens[%" PRId64 "] is %" PRId64 "; the sequences have at most %" PRId64 " elements", b, j->lengths[b], j->longest);
  return OK;
}

/* Scans one item: its states, its sequences cut to their length; a reversed one begins at its own end. */
static status scan_item(batch *j, exec_step *e, int64_t b) {
  scan *x = &j->x;
  loop *l = &x->l;
  int64_t direction_count = 0;
  const int64_t *directions = attr_ints(e->k.node, "directions", &direction_count);
  x->length = j->lengths ? j->lengths[b] : j->longest;
  for (int32_t c = 0; c < l->carried_count; ++c) {
    tensor part;
    TRY(item_of(e->operands[x->first + c], b, &part));
    carried_release(&l->carried[c]);
    carried_set(&l->carried[c], &(feed){.view = &part, .info = side_info(e->owner->env, is_on_device(e, x->first + c))});
  }
  for (int32_t i = 0; i < x->scan_count; ++i) {
    tensor part;
    TRY(item_of(scan_operand(x, e, i), b, &part));
    bool on_device = is_on_device(e, x->first + l->carried_count + i), reversed = i < direction_count && directions[i] == 1;
    slicer_deinit(&x->slicers[i]);
    TRY(slicer_init_part(&x->slicers[i], e->owner->env, on_device, &part, x->length, reversed));
  }
  TRY(scan_iterate(x, e, j->items * j->longest));
  for (int32_t c = 0; c < l->carried_count; ++c) TRY(stack_push(&j->states[c], &l->carried[c].view, j->items));
  for (int32_t k = 0; k < l->stack_count; ++k) TRY(stack_skip(&l->stacks[k], j->longest - x->length));
  return OK;
}

static status scan_batch(batch *j, exec_step *e) {
  loop *l = &j->x.l;
  TRY(scan_init(&j->x, e, 1));
  TRY(check_inputs(j, e));
  j->states = mem_calloc((size_t)l->carried_count + 1, sizeof *j->states);
  if (!j->states) return status_out_of_memory();
  for (int32_t c = 0; c < l->carried_count; ++c) stack_init_result(&j->states[c], &l->r, c, 0, false);
  for (int32_t k = 0; k < l->stack_count; ++k) stack_init_result(&l->stacks[k], &l->r, l->carried_count + k, 0, false);
  for (int64_t b = 0; b < j->items; ++b) TRY(status_context(scan_item(j, e, b), "sequence %" PRId64, b));
  for (int32_t c = 0; c < l->carried_count; ++c) TRY(deliver_stack(e, &j->states[c], c));
  for (int32_t k = 0; k < l->stack_count; ++k) TRY(stack_deliver_batch(&l->stacks[k], &e->k, l->carried_count + k, j->items, j->longest));
  return OK;
}

status scan_run(exec_step *e) {
  if (e->k.node->op->since >= 9) {
    scan x;
    status s = scan_sequence(&x, e);
    scan_deinit(&x);
    return s;
  }
  batch j = {0};
  status s = scan_batch(&j, e);
  for (int32_t c = 0; j.states && c < j.x.l.carried_count; ++c) stack_deinit(&j.states[c]);
  mem_free(j.states);
  scan_deinit(&j.x);
  return s;
}
