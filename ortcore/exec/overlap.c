/* Bound buffers may share memory only where the run never reads what it has overwritten.
 *
 * Each input and output claims a range of addresses. The claims are sorted, so that one pass meets every pair that overlaps and no other; a frame
 * keeps their order for its next run, whose addresses are mostly the same. */
#include <ortcore/exec/executor.h>
#include <stdlib.h>

typedef struct range { const char *begin, *end; } range;

static range range_of(const tensor *t, size_t bytes) {
  return (range){t->data, (const char *)t->data + bytes};
}

static bool overlaps(range a, range b) {
  return a.begin < b.end && b.begin < a.end;
}

static range target_range(const target *t) {
  return range_of(&t->view, t->kind == TARGET_CAPACITY ? t->capacity : tensor_bytes(&t->view));
}

/* The output is written by one elementwise step over exactly the input's memory, element by element. */
static bool is_in_place(const frame *f, int32_t in_slot, int32_t out_slot, const tensor *in, const tensor *out) {
  const shape_plan *sp = f->shapes;
  const step *s = &f->owner->steps[sp->first_write[out_slot]];
  if (in->data != out->data || !dims_equal(in->rank, in->dims, out->rank, out->dims) || in->type != out->type) return false;
  if (s->out_count < 1 || s->out[0] == NO_VALUE || sp->slots[s->out[0]].root != out_slot) return false;
  bool found = false;
  for (int32_t i = 0; i < s->in_count; ++i) {
    if (s->in[i] == NO_VALUE || sp->slots[s->in[i]].where != STORAGE_INPUT || sp->slots[s->in[i]].root != in_slot) continue;
    const tensor *view = &sp->slots[s->in[i]].view, *result = &sp->slots[s->out[0]].view;
    if (i >= 32 || !(s->op->inplace >> i & 1) || !dims_equal(view->rank, view->dims, result->rank, result->dims)) return false;
    found = true;
  }
  return found;
}

static bool is_safe(const frame *f, int32_t in_slot, int32_t out_slot, const tensor *in, const tensor *out) {
  const shape_plan *sp = f->shapes;
  if (sp->generic || sp->slots[out_slot].where != STORAGE_OUTPUT || !sp->slots[in_slot].known) return false;
  int32_t write = sp->first_write[out_slot], read = sp->last_read[in_slot];
  if (f->owner->last_use[in_slot] == PLAN_END) return false;      /* passed through at the end of the run */
  return write > read || (write == read && is_in_place(f, in_slot, out_slot, in, out));
}

/* Memory that is known before the run: the caller's, an allocator's as soon as it was asked, and the engine's own of an earlier run. */
static bool has_memory(const target *t) {
  return t->kind == TARGET_BUFFER || t->kind == TARGET_CAPACITY || (t->kind == TARGET_CALLBACK && t->view.data) || (t->kind == TARGET_ENGINE && t->memory);
}

/* An engine's output whose earlier memory somebody else has by now gets new memory. */
static bool gives_way(target *t) {
  if (t->kind != TARGET_ENGINE) return false;
  t->memory = NULL;
  return true;
}

static status judge_input(const frame *f, const feed *feeds, target *t, int32_t i, int32_t o) {
  const graph *g = f->owner->graph;
  if (gives_way(t) || (feeds[i].view && is_safe(f, g->inputs[i], g->outputs[o], feeds[i].view, &t->view))) return OK;
  return ERROR(INVALID_ARGUMENT, "output '%s' is bound to memory that overlaps input '%s', which would be read after it was overwritten; "
               "bind them to separate buffers", t->name, g->values[g->inputs[i]].name);
}

static status judge_outputs(target *a, target *b) {
  if (gives_way(a) || gives_way(b)) return OK;
  return ERROR(INVALID_ARGUMENT, "outputs '%s' and '%s' are bound to overlapping memory; bind each to a buffer of its own", a->name, b->name);
}

status overlap_check_target(const frame *f, const feed *feeds, target *targets, int32_t o) {
  const graph *g = f->owner->graph;
  target *t = &targets[o];
  range out = target_range(t);
  if (!has_memory(t) || out.begin == out.end) return OK;
  for (int32_t i = 0; i < g->input_count; ++i) {
    const tensor *in = feeds[i].view;
    if (in ? overlaps(out, range_of(in, tensor_bytes(in))) : ort_value_lies_in(feeds[i].object, out.begin, out.end)) TRY(judge_input(f, feeds, t, i, o));
  }
  for (int32_t other = 0; other < g->output_count; ++other)
    if (other != o && has_memory(&targets[other]) && overlaps(out, target_range(&targets[other]))) TRY(judge_outputs(&targets[other], t));
  return OK;
}

/* ---- All of a run's memory at once -------------------------------------------------------------------------------------------------- */

/* Of graph input `index`, or of graph output ~index. Nothing is claimed by an empty range. */
struct claim { range at; int32_t index; };
typedef struct claim claim;

static range claimed_by(const feed *feeds, const target *targets, int32_t index) {
  if (index < 0) return has_memory(&targets[~index]) ? target_range(&targets[~index]) : (range){0};
  const tensor *in = feeds[index].view;
  return in ? range_of(in, tensor_bytes(in)) : (range){0};
}

static int compare_claims(const void *a, const void *b) {
  uintptr_t at = (uintptr_t)((const claim *)a)->at.begin, other = (uintptr_t)((const claim *)b)->at.begin;
  return (at > other) - (at < other);
}

/* In the order of their addresses. */
static status collect_claims(frame *f, const feed *feeds, const target *targets, int32_t count) {
  int32_t inputs = f->owner->graph->input_count;
  if (!f->claims) {
    f->claims = ZONE_ARRAY(f->memory, count, claim);
    if (!f->claims) return status_out_of_memory();
    for (int32_t k = 0; k < count; ++k) f->claims[k].index = k < inputs ? k : ~(k - inputs);
  }
  bool sorted = true;
  for (int32_t k = 0; k < count; ++k) {
    f->claims[k].at = claimed_by(feeds, targets, f->claims[k].index);
    sorted &= !k || f->claims[k - 1].at.begin <= f->claims[k].at.begin;
  }
  if (!sorted) qsort(f->claims, (size_t)count, sizeof *f->claims, compare_claims);
  return OK;
}

static status judge(const frame *f, const feed *feeds, target *targets, int32_t a, int32_t b) {
  if (a >= 0 && b >= 0) return OK;                         /* both are only read */
  if (a < 0 && b < 0) return judge_outputs(&targets[~a], &targets[~b]);
  int32_t in = a >= 0 ? a : b, out = a >= 0 ? ~b : ~a;
  return judge_input(f, feeds, &targets[out], in, out);
}

/* Sequences, maps and sparse tensors: every tensor inside. */
static status check_object(const frame *f, const feed *feeds, target *targets, int32_t i) {
  for (int32_t o = 0; o < f->owner->graph->output_count; ++o) {
    range out = has_memory(&targets[o]) ? target_range(&targets[o]) : (range){0};
    if (ort_value_lies_in(feeds[i].object, out.begin, out.end)) TRY(judge_input(f, feeds, &targets[o], i, o));
  }
  return OK;
}

status overlap_check(frame *f, const feed *feeds, target *targets) {
  const graph *g = f->owner->graph;
  int32_t count = g->input_count + g->output_count, with_memory = 0;
  for (int32_t o = 0; o < g->output_count; ++o) with_memory += has_memory(&targets[o]);
  if (!with_memory) return OK;
  TRY(collect_claims(f, feeds, targets, count));
  for (int32_t a = 0; a < count; ++a)
    for (int32_t b = a + 1; b < count && f->claims[b].at.begin < f->claims[a].at.end; ++b)
      if (f->claims[b].at.begin != f->claims[b].at.end) TRY(judge(f, feeds, targets, f->claims[a].index, f->claims[b].index));
  for (int32_t i = 0; i < g->input_count; ++i)
    if (feeds[i].object) TRY(check_object(f, feeds, targets, i));
  return OK;
}
