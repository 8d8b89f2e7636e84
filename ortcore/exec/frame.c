#include <ortcore/base/mem.h>
#include <ortcore/exec/executor.h>
#include <ortcore/exec/transfer.h>
#include <string.h>

static bool is_maybe_tensor(const frame *f, int32_t v) {
  const fact *known = &f->owner->graph->values[v].fact;
  return known->optional || known->kind == KIND_UNKNOWN;
}

static bool is_never_tensor(const frame *f, int32_t v) {
  const fact *known = &f->owner->graph->values[v].fact;
  return known->kind == KIND_SEQUENCE || known->kind == KIND_MAP || known->kind == KIND_SPARSE;
}

static status link_step(frame *f, exec_step *e, int32_t index, int32_t *child) {
  const step *s = &f->owner->steps[index];
  const step_plan *sp = &f->shapes->steps[index];
  int32_t count = s->in_count + s->capture_count;
  e->owner = f;
  e->source = s;
  e->index = index;
  e->run = s->op->run;
  if (s->kernel) e->flags |= EXEC_DEVICE;
  if ((s->op->flags & OP_TRANSFER) && f->owner->device) e->flags |= EXEC_TRANSFER;
  e->operands = ZONE_ARRAY(f->memory, count + 1, const tensor *);
  if (!e->operands) return status_out_of_memory();
  for (int32_t i = 0; i < count; ++i) {
    int32_t v = s->in[i];
    if (v == NO_VALUE || is_never_tensor(f, v)) continue;
    e->operands[i] = &f->slots[v].view;
    if (is_maybe_tensor(f, v)) e->flags |= EXEC_LINK;
  }
  e->k = (kernel_ctx){.node = s->node, .params = s->params, .tables = s->tables, .spec = sp->spec, .in_count = s->in_count, .out_count = s->out_count,
                      .in = e->operands, .threads = f->threads, .data = step_data(s), .services = &executor_services};
  if (sp->scratch_bytes) e->k.scratch = (char *)f->blocks[s->kernel != NULL]->data + sp->scratch_offset;
  if (s->op->flags & OP_SUBGRAPHS) {
    e->flags |= EXEC_CONTROL;
    e->child_base = *child;
    *child += s->subplan_count;
  }
  if ((s->kernel || s->op->specialise) && !sp->specialised) e->flags |= EXEC_SPECIALISE;
  for (int32_t i = 0; i < s->release_count; ++i)
    if (f->shapes->slots[s->releases[i]].where == STORAGE_DYNAMIC) e->flags |= EXEC_RELEASE;
  return OK;
}

static status init_slots(frame *f) {
  const shape_plan *sp = f->shapes;
  for (int32_t v = 0; v < f->owner->slot_count; ++v) {
    const slot_plan *from = &sp->slots[v];
    f->slots[v].view = from->view;
    if (from->where == STORAGE_BLOCK && from->view.count) f->slots[v].view.data = (char *)f->blocks[plan_on_device(f->owner, v)]->data + from->offset;
    if ((from->where == STORAGE_INPUT || from->where == STORAGE_OUTPUT) && from->root != v) f->patches[f->patch_count++] = v;
  }
  return OK;
}

static status build(frame *f) {
  const plan *p = f->owner;
  f->slots = ZONE_ARRAY(f->memory, p->slot_count + 1, slot);
  f->patches = ZONE_ARRAY(f->memory, p->slot_count + 1, int32_t);
  f->dirty = ZONE_ARRAY(f->memory, p->slot_count + 1, int32_t);
  f->steps = ZONE_ARRAY(f->memory, p->step_count + 1, exec_step);
  if (!f->slots || !f->patches || !f->dirty || !f->steps) return status_out_of_memory();
  for (int side = 0; side < 2; ++side)
    if (f->shapes->block_bytes[side])
      TRY(status_context(buffer_create(f->allocators[side], f->shapes->block_bytes[side], &f->blocks[side]), "the activations of a run with these shapes"));
  TRY(init_slots(f));
  for (int32_t i = 0; i < p->step_count; ++i)
    if (!f->shapes->steps[i].done) TRY(link_step(f, &f->steps[f->step_count++], i, &f->child_count));
  f->children = ZONE_ARRAY(f->memory, f->child_count + 1, frame *);
  return f->children ? OK : status_out_of_memory();
}

status frame_create(plan *p, shape_plan *shapes, ortc_allocator *const allocators[2], frame **out) {
  *out = NULL;
  zone *memory = zone_create();
  frame *f = memory ? ZONE_NEW(memory, frame) : NULL;
  if (!f) {
    zone_release(memory);
    return status_out_of_memory();
  }
  f->owner = p;
  f->memory = memory;
  f->shapes = shape_plan_retain(shapes);
  for (int side = 0; side < 2; ++side) f->allocators[side] = allocator_retain(allocators[side]);
  f->threads = p->threads;
  status s = build(f);
  if (s) {
    frame_release(f);
    return s;
  }
  *out = f;
  return OK;
}

/* Memory that the device may still be using is not given back. */
static void wait_until_idle(frame *f) {
  if (f->last_stream && f->finished) ortc_status_release(event_synchronise(f->finished));
  event_release(f->finished);
}

void frame_release(frame *f) {
  if (!f) return;
  wait_until_idle(f);
  frame_clear(f);
  for (int32_t i = 0; f->children && i < f->child_count; ++i) frame_release(f->children[i]);
  for (int32_t i = 0; i < f->step_count; ++i) {
    exec_step *e = &f->steps[i];
    if (e->flags & EXEC_SPECIALISE) step_dispose_spec(e->source, e->k.spec);
    mem_free(e->spec_key);
  }
  for (int side = 0; side < 2; ++side) buffer_release(f->blocks[side]);
  shape_plan_release(f->shapes);
  for (int side = 0; side < 2; ++side) allocator_release(f->allocators[side]);
  zone_release(f->memory);
}

void frame_set(frame *f, int32_t v, buffer *memory, ortc_value *object) {
  slot *s = &f->slots[v];
  bool clean = !s->memory && !s->object;
  buffer_release(s->memory);
  ort_value_release(s->object);
  s->memory = memory;
  s->object = object;
  if (clean && (memory || object)) f->dirty[f->dirty_count++] = v;
}

/* The slot stays in the dirty list, where an empty slot does no harm; frame_set must not add it twice, so the list is compacted here. */
void frame_drop(frame *f, int32_t v) {
  slot *s = &f->slots[v];
  if (!s->memory && !s->object) return;
  buffer_release(s->memory);
  ort_value_release(s->object);
  s->memory = NULL;
  s->object = NULL;
  for (int32_t i = f->dirty_count - 1; i >= 0; --i) {
    if (f->dirty[i] != v) continue;
    f->dirty[i] = f->dirty[--f->dirty_count];
    return;
  }
}

void frame_clear(frame *f) {
  while (f->dirty_count) {
    slot *s = &f->slots[f->dirty[--f->dirty_count]];
    buffer_release(s->memory);
    ort_value_release(s->object);
    s->memory = NULL;
    s->object = NULL;
  }
  while (f->scratch_count) buffer_release(f->scratch[--f->scratch_count]);
}

feed frame_feed(const frame *f, int32_t v) {
  if (v == NO_VALUE) return (feed){0};
  const slot *s = &f->slots[v];
  if (s->object) return (feed){.object = s->object};
  if (is_never_tensor(f, v) || (is_maybe_tensor(f, v) && !s->memory && !s->view.data)) return (feed){0};
  return (feed){.view = &s->view, .info = side_info(f->env, plan_on_device(f->owner, v)), .memory = s->memory};
}

/* ---- Pool ---------------------------------------------------------------------------------------------------------- */

#define IDLE_FRAMES 8

void frame_pool_init(frame_pool *pool) {
  pthread_mutex_init(&pool->lock, NULL);
  pool->idle = NULL;
  pool->count = 0;
}

void frame_pool_trim(frame_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  frame *f = pool->idle;
  pool->idle = NULL;
  pool->count = 0;
  pthread_mutex_unlock(&pool->lock);
  while (f) {
    frame *next = f->next;
    frame_release(f);
    f = next;
  }
}

void frame_pool_deinit(frame_pool *pool) {
  frame_pool_trim(pool);
  pthread_mutex_destroy(&pool->lock);
}

status frame_pool_acquire(frame_pool *pool, plan *p, int32_t feed_count, const tensor *const *feeds, ortc_allocator *const allocators[2], frame **out) {
  *out = NULL;
  pthread_mutex_lock(&pool->lock);
  for (frame **link = &pool->idle; *link; link = &(*link)->next) {
    if (!shape_plan_matches((*link)->shapes, feed_count, feeds)) continue;
    *out = *link;
    *link = (*out)->next;
    --pool->count;
    break;
  }
  pthread_mutex_unlock(&pool->lock);
  if (*out) return OK;
  shape_plan *shapes;
  TRY(shape_plan_find(p, feed_count, feeds, &shapes));
  status s = frame_create(p, shapes, allocators, out);
  shape_plan_release(shapes);
  return s;
}

void frame_pool_give_back(frame_pool *pool, frame *f) {
  frame *dropped = NULL;
  pthread_mutex_lock(&pool->lock);
  f->next = pool->idle;
  pool->idle = f;
  if (++pool->count > IDLE_FRAMES) {
    frame **last = &pool->idle;
    while ((*last)->next) last = &(*last)->next;
    dropped = *last;
    *last = NULL;
    --pool->count;
  }
  pthread_mutex_unlock(&pool->lock);
  frame_release(dropped);
}
