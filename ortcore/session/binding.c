#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/session/binding.h>
#include <string.h>

status binding_create(ortc_session *s, ortc_binding **out) {
  *out = NULL;
  ortc_binding *b = mem_calloc(1, sizeof *b);
  if (!b) return status_out_of_memory();
  b->session = session_retain(s);
  b->inputs = mem_calloc((size_t)s->feed_count + 1, sizeof *b->inputs);
  b->outputs = mem_calloc((size_t)s->target_count + 1, sizeof *b->outputs);
  b->order = mem_calloc((size_t)s->target_count + 1, sizeof *b->order);
  b->feeds = mem_calloc((size_t)s->feed_count + 1, sizeof *b->feeds);
  b->targets = mem_calloc((size_t)s->target_count + 1, sizeof *b->targets);
  if (!b->inputs || !b->outputs || !b->order || !b->feeds || !b->targets) {
    binding_release(b);
    return status_out_of_memory();
  }
  status failed = lane_acquire(&s->lanes, &b->on);
  b->graphs.enabled = s->lanes.options.graphs;
  if (!failed && b->on) b->work = b->on->work;
  else if (!failed) failed = stream_create(device_cpu(), &b->work);
  if (failed) {
    binding_release(b);
    return failed;
  }
  *out = b;
  return OK;
}

void binding_release(ortc_binding *b) {
  if (!b) return;
  if (b->inputs) binding_clear_inputs(b);
  if (b->outputs) binding_clear_outputs(b);
  mem_free(b->inputs);
  mem_free(b->outputs);
  mem_free(b->order);
  mem_free(b->feeds);
  mem_free(b->targets);
  graph_cache_clear(&b->graphs);
  if (b->session) lane_give_back(&b->session->lanes, b->on);
  session_release(b->session);
  mem_free(b);
}

/* ---- Inputs ------------------------------------------------------------------------------------------------------------------ */

/* What a run reads and writes stays bound until it has ended: its output allocators might change that. */
static status check_idle(const ortc_binding *b, const char *name) {
  return b->running ? ERROR(INVALID_ARGUMENT, "'%s' cannot be bound now, since this binding is running: an output allocator must leave it as it is", name) : OK;
}

status binding_bind_input(ortc_binding *b, const char *name, ortc_value *value) {
  const session_io *io;
  TRY(check_idle(b, name));
  TRY(session_find_input(b->session, name, &io));
  TRY(session_check_bound(b->session, value, "input", name));
  TRY(session_check_input(io, value));
  ortc_value *before = b->inputs[io->index];
  b->inputs[io->index] = ort_value_retain(value);
  ort_value_release(before);
  return OK;
}

static bool may_clear(const ortc_binding *b) {
  if (b->running) LOG(ERROR, "a binding cannot be cleared while it runs; it was left as it is");
  return !b->running;
}

void binding_clear_inputs(ortc_binding *b) {
  if (!may_clear(b)) return;
  for (int32_t i = 0; i < b->session->feed_count; ++i) {
    ortc_value *before = b->inputs[i];
    b->inputs[i] = NULL;
    ort_value_release(before);
  }
}

/* ---- Outputs ------------------------------------------------------------------------------------------------------------------ */

static void drop_output(bound_output *o) {
  bound_output before = *o;
  *o = (bound_output){0};
  ort_value_release(before.value);
  buffer_release(before.memory);
  if (before.release) before.release(before.user);
}

/* Memory that the caller lent as weights is read by every run. */
static status check_weights(const ortc_session *s, const char *name, const bound_output *how) {
  const char *begin = how->kind == TARGET_CAPACITY ? how->data : how->value->view.data;
  size_t bytes = how->kind == TARGET_CAPACITY ? how->capacity : tensor_bytes(&how->value->view);
  for (size_t i = 0; bytes && i < s->options->initializer_count; ++i)
    if (ort_value_lies_in(s->options->initializers[i].value, begin, begin + bytes))
      return ERROR(INVALID_ARGUMENT, "output '%s' is bound to memory that initializer '%s' lies in, which every run reads; bind a buffer of its own", name,
                   s->options->initializers[i].name);
  return OK;
}

static status check_output(const ortc_session *s, const session_io *io, const bound_output *how) {
  const char *name = io->info.name;
  if (how->kind == TARGET_ENGINE) {
    if (!memory_info_is_host(&how->info) && !(s->lanes.device && device_of(&how->info)))
      LOG(WARNING, "output '%s' is bound to %s:%d, which this session does not have; it will be on the CPU", name, memory_info_device_name(&how->info),
          how->info.device_id);
    return OK;
  }
  if (io->declared.kind != KIND_TENSOR) return ERROR(INVALID_ARGUMENT, "output '%s' is %s; only tensors can be written into a buffer", name, io->info.type);
  if (io->declared.type == ORTC_STRING && how->kind != TARGET_BUFFER)
    return ERROR(INVALID_ARGUMENT, "output '%s' holds strings, which cannot be written into raw memory; bind it by device", name);
  if (how->kind == TARGET_CAPACITY) return check_weights(s, name, how);
  if (how->kind != TARGET_BUFFER) return OK;
  TRY(session_check_bound(s, how->value, "output", name));
  if (how->value->kind != ORTC_VALUE_TENSOR) return ERROR(INVALID_ARGUMENT, "output '%s' must be bound to a dense tensor", name);
  if (how->value->memory && how->value->memory->read_only)
    return ERROR(INVALID_ARGUMENT, "output '%s' is bound to read-only memory; bind a writable buffer", name);
  if (how->value->view.type != io->declared.type)
    return ERROR(INVALID_ARGUMENT, "Unexpected output data type for '%s'. Actual: (tensor(%s)) , expected: (%s); bind a buffer of that type", name,
                 dtype_name(how->value->view.type), io->info.type);
  TRY(session_check_output(io, &how->value->view));
  return check_weights(s, name, how);
}

status binding_bind_output(ortc_binding *b, const char *name, const bound_output *how) {
  const session_io *io;
  TRY(check_idle(b, name));
  TRY(session_find_output(b->session, name, &io));
  TRY(check_output(b->session, io, how));
  bound_output *o = &b->outputs[io->index];
  if (o->kind == TARGET_NONE) b->order[b->order_count++] = io->index;
  bound_output before = *o;
  *o = *how;
  drop_output(&before);
  return OK;
}

void binding_clear_outputs(ortc_binding *b) {
  if (!may_clear(b)) return;
  for (int32_t o = 0; o < b->session->target_count; ++o) drop_output(&b->outputs[o]);
  b->order_count = 0;
}

/* ---- Running -------------------------------------------------------------------------------------------------------------------- */

/* An output that the engine allocates goes where its latest result lies, so that the address holds still; unless that result has become an
 * input or another output's memory, or its shape is another now (the executor finds out). */
static void set_target(const bound_output *o, const session_io *io, target *t) {
  *t = (target){.kind = o->kind, .name = io->info.name, .info = &o->info};
  switch (o->kind) {
    case TARGET_BUFFER: *t = target_of_value(io->info.name, o->value); break;
    case TARGET_CAPACITY:
      t->view.data = o->data;
      t->capacity = o->capacity;
      t->memory = o->memory;
      t->info = o->memory ? &o->memory->info : NULL;
      break;
    case TARGET_CALLBACK:
      t->alloc = o->alloc;
      t->user = o->user;
      break;
    case TARGET_ENGINE:
      if (o->value && o->value->kind == ORTC_VALUE_TENSOR && o->value->memory) {
        t->view = o->value->view;
        t->memory = o->value->memory;
      }
      break;
    case TARGET_NONE: break;
  }
}

/* The result becomes the output's value. One that lies where the previous one did keeps its object, and the run allocates nothing. */
static status keep_result(bound_output *o, target *t) {
  if (o->kind == TARGET_NONE || o->kind == TARGET_BUFFER) {
    if (o->kind == TARGET_BUFFER || !t->object) buffer_release(t->result_memory);
    t->result_memory = NULL;
    return OK;
  }
  const tensor *now = &t->result;
  if (o->value && !t->object && o->value->memory == t->result_memory && o->value->memory && o->value->view.data == now->data && o->value->view.type == now->type &&
      dims_equal(o->value->view.rank, o->value->view.dims, now->rank, now->dims)) {
    buffer_release(t->result_memory);
    t->result_memory = NULL;
    return OK;
  }
  ortc_value *value;
  TRY(target_value(t, &value));
  ort_value_release(o->value);
  o->value = value;
  return OK;
}

static status run_bound(ortc_binding *b, const ortc_run_options *options) {
  ortc_session *s = b->session;
  if (!b->order_count) return ERROR(INVALID_ARGUMENT, "At least one output should be requested: bind the outputs you want before the run");
  for (int32_t i = 0; i < s->feed_count; ++i) b->feeds[i] = b->inputs[i] ? feed_of_value(b->inputs[i]) : (feed){0};
  for (int32_t o = 0; o < s->target_count; ++o) set_target(&b->outputs[o], &s->io[ORTC_IO_OUTPUT].items[o], &b->targets[o]);
  status result = session_run(s, options, b->feeds, b->targets, b->copied, b->on, b->on ? &b->graphs : NULL);
  if (!result) b->copied = 0;
  for (int32_t o = 0; o < s->target_count; ++o) {
    if (!result) result = keep_result(&b->outputs[o], &b->targets[o]);
    buffer_release(b->targets[o].result_memory);
    ort_value_release(b->targets[o].object);
  }
  return result;
}

status binding_run(ortc_binding *b, const ortc_run_options *options) {
  if (b->running) return ERROR(INVALID_ARGUMENT, "this binding is running already: an output allocator must not run it, nor may two threads share it");
  b->running = true;
  status result = run_bound(b, options);
  b->running = false;
  return result;
}
