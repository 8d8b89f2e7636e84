/* Bound buffers may share memory only where the run never reads what it has overwritten. */
#include <ortcore/exec/executor.h>

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

/* The caller's memory is known before the run, or (an allocator's) as soon as its shape is. */
static bool has_memory(const target *t) {
  return t->kind == TARGET_BUFFER || t->kind == TARGET_CAPACITY || (t->kind == TARGET_CALLBACK && t->view.data);
}

status overlap_check_target(const frame *f, int32_t feed_count, const feed *feeds, const target *targets, int32_t o) {
  const graph *g = f->owner->graph;
  const target *t = &targets[o];
  if (!has_memory(t)) return OK;
  range out = target_range(t);
  if (out.begin == out.end) return OK;
  for (int32_t i = 0; i < feed_count && i < g->input_count; ++i) {
    const tensor *in = feeds[i].view;
    bool clash = in ? overlaps(out, range_of(in, tensor_bytes(in))) && !is_safe(f, g->inputs[i], g->outputs[o], in, &t->view) : ort_value_lies_in(feeds[i].object, out.begin, out.end);
    if (clash)
      return ERROR(INVALID_ARGUMENT, "output '%s' is bound to memory that overlaps input '%s', which would be read after it was overwritten; "
                   "bind them to separate buffers", t->name, g->values[g->inputs[i]].name);
  }
  for (int32_t other = 0; other < g->output_count; ++other)
    if (other != o && has_memory(&targets[other]) && overlaps(out, target_range(&targets[other])))
      return ERROR(INVALID_ARGUMENT, "outputs '%s' and '%s' are bound to overlapping memory; bind each to a buffer of its own", targets[other].name, t->name);
  return OK;
}

status overlap_check(const frame *f, int32_t feed_count, const feed *feeds, const target *targets) {
  for (int32_t o = 0; o < f->owner->graph->output_count; ++o) TRY(overlap_check_target(f, feed_count, feeds, targets, o));
  return OK;
}
