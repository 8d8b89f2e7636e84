/* Where values lie. Slots that share memory form sets: an operator's view of its input, or an output written over an input that nobody
 * reads any more. A set lives in the caller's memory if it contains an input or an output of the graph, else in the block. */
#include <ortcore/base/mem.h>
#include <ortcore/plan/memory_plan.h>
#include <ortcore/plan/shape_build.h>
#include <string.h>

typedef struct set { int32_t parent; storage where; int32_t first, last; } set;

static int32_t find(set *sets, int32_t v) {
  while (sets[v].parent != v) v = sets[v].parent = sets[sets[v].parent].parent;
  return v;
}

/* The set of `v` joins that of `into`, whose kind of memory stays unless it is the block and the other is better. */
static void join(set *sets, int32_t into, int32_t v) {
  int32_t a = find(sets, into), b = find(sets, v);
  if (a == b) return;
  if (sets[a].where == STORAGE_BLOCK) {
    int32_t swap = a;
    a = b;
    b = swap;
  }
  sets[b].parent = a;
  if (sets[b].first < sets[a].first) sets[a].first = sets[b].first;
  if (sets[b].last > sets[a].last) sets[a].last = sets[b].last;
}

static bool is_in_memory(const shape_plan *sp, int32_t v) {
  return v != NO_VALUE && sp->slots[v].known && sp->slots[v].view.type != ORTC_STRING;
}

static void init_sets(shape_plan *sp, set *sets) {
  const plan *p = sp->owner;
  for (int32_t v = 0; v < p->slot_count; ++v) {
    slot_plan *slot = &sp->slots[v];
    if (slot->where == STORAGE_DYNAMIC && is_in_memory(sp, v)) slot->where = p->last_use[v] == PLAN_END ? STORAGE_OUTPUT : STORAGE_BLOCK;
    sets[v] = (set){.parent = v, .where = slot->where, .first = -1, .last = p->last_use[v]};
  }
  for (int32_t i = 0; i < p->step_count; ++i)
    for (int32_t j = 0; j < p->steps[i].out_count; ++j)
      if (p->steps[i].out[j] != NO_VALUE) sets[p->steps[i].out[j]].first = i;
}

/* Two sets may be one unless both are somebody's: a view of an input that is also a graph output has to be a copy. */
static bool may_join(const set *sets, int32_t a, int32_t b) {
  return sets[a].where == STORAGE_BLOCK || sets[b].where == STORAGE_BLOCK;
}

static void join_view(shape_plan *sp, set *sets, const step *s) {
  int32_t in = s->in[0], out = s->out[0];
  if (!is_in_memory(sp, in) || !is_in_memory(sp, out) || sp->slots[in].where == STORAGE_DYNAMIC || sp->slots[out].where == STORAGE_DYNAMIC) return;
  int32_t a = find(sets, in), b = find(sets, out);
  if (may_join(sets, a, b) && plan_on_device(sp->owner, in) == plan_on_device(sp->owner, out)) join(sets, a, b);
}

static uint32_t inplace_of(const step *s) { return s->kernel ? s->kernel->inplace : s->op->inplace; }

/* Input `i` of step `index` is read nowhere else from there on, and lies where the run may write. */
static bool may_overwrite(const shape_plan *sp, set *sets, int32_t index, int32_t i) {
  const step *s = &sp->owner->steps[index];
  int32_t in = s->in[i], out = s->out[0];
  if (!is_in_memory(sp, in) || sp->slots[in].where == STORAGE_DYNAMIC) return false;
  const tensor *x = &sp->slots[in].view, *y = &sp->slots[out].view;
  if (plan_on_device(sp->owner, in) != plan_on_device(sp->owner, out)) return false;
  if (x->type != y->type || x->order != y->order || !dims_equal(x->rank, x->dims, y->rank, y->dims)) return false;
  int32_t root = find(sets, in);
  if (sets[root].where != STORAGE_BLOCK || sets[root].last != index) return false;
  for (int32_t j = 0; j < s->in_count + s->capture_count; ++j) {
    if (j == i || s->in[j] == NO_VALUE || !is_in_memory(sp, s->in[j]) || find(sets, s->in[j]) != root) continue;
    if (j >= 32 || !(inplace_of(s) >> j & 1) || !dims_equal(x->rank, x->dims, sp->slots[s->in[j]].view.rank, sp->slots[s->in[j]].view.dims)) return false;
  }
  return true;
}

static void join_in_place(shape_plan *sp, set *sets, int32_t index) {
  const step *s = &sp->owner->steps[index];
  if (!inplace_of(s) || !is_in_memory(sp, s->out[0]) || sp->slots[s->out[0]].where == STORAGE_DYNAMIC) return;
  int32_t out = find(sets, s->out[0]);
  if (sets[out].first != index) return;
  for (int32_t i = 0; i < s->in_count && i < 32; ++i) {
    if (!(inplace_of(s) >> i & 1) || !may_overwrite(sp, sets, index, i)) continue;
    join(sets, out, find(sets, s->in[i]));
    return;
  }
}

/* The block of one side: the host's, or the device's. */
static status place_block(shape_plan *sp, set *sets, bool on_device) {
  const plan *p = sp->owner;
  int32_t count = 0;
  lifetime *items = mem_calloc((size_t)(p->slot_count + p->step_count) + 1, sizeof *items);
  int32_t *owner = mem_calloc((size_t)(p->slot_count + p->step_count) + 1, sizeof *owner);
  status s = items && owner ? OK : status_out_of_memory();
  for (int32_t v = 0; !s && v < p->slot_count; ++v) {
    if (sp->slots[v].where != STORAGE_BLOCK || find(sets, v) != v || sets[v].first < 0 || plan_on_device(p, v) != on_device) continue;
    owner[count] = v;
    int32_t first = p->separate ? 0 : sets[v].first, last = p->separate ? PLAN_END : sets[v].last;
    items[count++] = (lifetime){.bytes = tensor_bytes(&sp->slots[v].view), .first = first, .last = last < first ? first : last};
  }
  int32_t slots = count;
  for (int32_t i = 0; !s && i < p->step_count; ++i) {
    if (!sp->steps[i].scratch_bytes || (p->steps[i].kernel != NULL) != on_device) continue;
    owner[count] = i;
    items[count++] = (lifetime){.bytes = sp->steps[i].scratch_bytes, .first = i, .last = i};
  }
  if (!s) s = memory_plan(count, items, &sp->block_bytes[on_device]);
  for (int32_t i = 0; !s && i < count; ++i) {
    if (i < slots) sp->slots[owner[i]].offset = items[i].offset;
    else sp->steps[owner[i]].scratch_offset = items[i].offset;
  }
  mem_free(items);
  mem_free(owner);
  return s;
}

static void settle_slots(shape_plan *sp, set *sets) {
  const plan *p = sp->owner;
  memset(sp->last_read, 0xff, (size_t)p->slot_count * sizeof *sp->last_read);
  for (int32_t v = 0; v < p->slot_count; ++v) sp->first_write[v] = PLAN_END;
  for (int32_t v = 0; v < p->slot_count; ++v) {
    slot_plan *slot = &sp->slots[v];
    if (slot->where == STORAGE_DYNAMIC) continue;
    int32_t root = find(sets, v);
    slot->where = sets[root].where;
    slot->root = root;
    if (slot->where == STORAGE_BLOCK) slot->offset = sp->slots[root].offset;
    if (slot->where == STORAGE_INPUT && sets[root].last > sp->last_read[root]) sp->last_read[root] = sets[root].last;
    if (slot->where == STORAGE_OUTPUT) sp->first_write[root] = sets[root].first;
    if (slot->where == STORAGE_CONSTANT && root != v) slot->view.data = sp->slots[root].view.data;
  }
  /* An output must be its set's root, so that the frame finds the caller's memory under the output's own slot. */
  for (int32_t i = 0; i < p->graph->output_count; ++i) {
    int32_t out = p->graph->outputs[i], root = sp->slots[out].root;
    if (sp->slots[out].where != STORAGE_OUTPUT || root == out) continue;
    sp->first_write[out] = sp->first_write[root];
    for (int32_t v = 0; v < p->slot_count; ++v)
      if (sp->slots[v].where == STORAGE_OUTPUT && sp->slots[v].root == root) sp->slots[v].root = out;
  }
}

status storage_build(shape_plan *sp) {
  const plan *p = sp->owner;
  set *sets = mem_calloc((size_t)p->slot_count + 1, sizeof *sets);
  if (!sets) return status_out_of_memory();
  init_sets(sp, sets);
  for (int32_t i = 0; i < p->step_count; ++i) {
    const step *s = &p->steps[i];
    if (sp->steps[i].done || !s->out_count || s->out[0] == NO_VALUE) continue;
    if (s->op->flags & OP_VIEW) join_view(sp, sets, s);
    else if (!p->separate) join_in_place(sp, sets, i);
  }
  status s = place_block(sp, sets, false);
  if (!s && p->device) s = place_block(sp, sets, true);
  if (!s) settle_slots(sp, sets);
  mem_free(sets);
  return s;
}
