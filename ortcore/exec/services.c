/* What kernels ask of the frame that runs them. */
#include <ortcore/exec/executor.h>
#include <ortcore/exec/transfer.h>
#include <string.h>

static int32_t out_slot(const kernel_ctx *k, int32_t i) {
  return i < k->out_count ? ((const exec_step *)k)->source->out[i] : NO_VALUE;
}

static status check_planned(const kernel_ctx *k, int32_t i, const tensor *planned, int rank, const int64_t *dims) {
  if (dims_equal(planned->rank, planned->dims, rank, dims)) return OK;
  char expected[DIMS_TEXT], got[DIMS_TEXT];
  return ERROR(ENGINE_ERROR, "output %d of %s was inferred to have shape %s, but its kernel computes %s", i, k->node->op_type,
               dims_format(expected, sizeof expected, planned->rank, planned->dims), dims_format(got, sizeof got, rank, dims));
}

static status service_output(kernel_ctx *k, int32_t i, int rank, const int64_t *dims, tensor **out) {
  frame *f = ((exec_step *)k)->owner;
  int32_t v = out_slot(k, i);
  *out = NULL;
  if (v == NO_VALUE) return OK;
  const slot_plan *planned = &f->shapes->slots[v];
  slot *s = &f->slots[v];
  if (planned->where != STORAGE_DYNAMIC) {
    TRY(check_planned(k, i, &planned->view, rank, dims));
    *out = &s->view;
    return OK;
  }
  layout order = planned->view.order;
  TRY(tensor_init(&s->view, planned->view.type, rank, dims));
  s->view.order = order;
  target engine = target_engine(f->env, plan_on_device(f->owner, v)), *t = target_of(f, f->targets, v);
  if (t && !target_is_direct(f, t, v)) t = NULL;            /* made here, and copied there when the run ends */
  buffer *memory;
  TRY(target_resolve(t ? t : &engine, f->env, &s->view, &memory));
  if (t) t->placed = true;
  frame_set(f, v, memory, NULL);
  if (t && t->kind == TARGET_CALLBACK) TRY(overlap_check_target(f, f->feeds, f->targets, (int32_t)(t - f->targets)));
  *out = &s->view;
  return OK;
}

static status service_output_inferred(kernel_ctx *k, int32_t i, tensor **out) {
  const exec_step *e = (const exec_step *)k;
  int32_t v = out_slot(k, i);
  *out = NULL;
  if (v == NO_VALUE) return OK;
  const slot_plan *planned = &e->owner->shapes->slots[v];
  const tensor *shape = planned->known ? &planned->view : e->inferred ? &e->inferred[i] : NULL;
  if (!shape || shape->rank < 0) return ERROR(ENGINE_ERROR, "the shape of output %d of %s depends on data, and its kernel does not compute it", i, k->node->op_type);
  return service_output(k, i, shape->rank, shape->dims, out);
}

static status service_scratch(kernel_ctx *k, size_t bytes, void **out) {
  frame *f = ((exec_step *)k)->owner;
  *out = NULL;
  if (f->scratch_count == (int32_t)(sizeof f->scratch / sizeof *f->scratch)) return ERROR(ENGINE_ERROR, "a kernel asked for scratch memory too often");
  ortc_allocator *from = ((exec_step *)k)->source->kernel ? f->env->device_allocator : f->env->allocator;
  TRY(status_context(buffer_create(from, bytes, &f->scratch[f->scratch_count]), "working memory of a kernel"));
  *out = f->scratch[f->scratch_count++]->data;
  ++f->env->stats.allocations;
  return OK;
}

static bool service_wants(const kernel_ctx *k, int32_t i) {
  return out_slot(k, i) != NO_VALUE;
}

static slot *in_slot(const kernel_ctx *k, int32_t i) {
  const exec_step *e = (const exec_step *)k;
  int32_t v = i < k->in_count ? e->source->in[i] : NO_VALUE;
  return v == NO_VALUE ? NULL : &e->owner->slots[v];
}

static ortc_value *service_in_value(const kernel_ctx *k, int32_t i) {
  const slot *s = in_slot(k, i);
  return s ? s->object : NULL;
}

static ortc_value *service_take_value(kernel_ctx *k, int32_t i) {
  const exec_step *e = (const exec_step *)k;
  slot *s = in_slot(k, i);
  if (!s || !s->object) return NULL;
  for (int32_t r = 0; r < e->source->release_count; ++r) {
    if (e->source->releases[r] != e->source->in[i]) continue;
    ortc_value *taken = s->object;
    s->object = NULL;
    return taken;
  }
  return ort_value_retain(s->object);
}

static status set_tensor(kernel_ctx *k, int32_t i, int32_t v, const ortc_value *value) {
  frame *f = ((exec_step *)k)->owner;
  if (f->shapes->slots[v].where == STORAGE_DYNAMIC && !target_of(f, f->targets, v)) {
    f->slots[v].view = value->view;
    frame_set(f, v, buffer_retain(value->memory), NULL);
    return OK;
  }
  tensor *out;
  TRY(service_output(k, i, value->view.rank, value->view.dims, &out));
  f->env->stats.bytes_copied += tensor_bytes(out);
  return transfer_elements(f->env, false, &value->view, out);
}

static void service_set_value(kernel_ctx *k, int32_t i, ortc_value *value) {
  exec_step *e = (exec_step *)k;
  int32_t v = out_slot(k, i);
  if (v == NO_VALUE || !value || value->kind == ORTC_VALUE_NONE) {
    if (v != NO_VALUE) {
      frame_set(e->owner, v, NULL, NULL);
      e->owner->slots[v].view.rank = RANK_UNKNOWN;           /* no tensor here: the output is empty */
    }
    ort_value_release(value);
  } else if (value->kind == ORTC_VALUE_TENSOR) {
    status s = set_tensor(k, i, v, value);
    if (s && !e->late_error) e->late_error = s;
    else ortc_status_release(s);
    ort_value_release(value);
  } else {
    frame_set(e->owner, v, NULL, value);
  }
}

static status service_out_like(kernel_ctx *k, int32_t i, int32_t input, int rank, const int64_t *dims, bool *out_shared) {
  exec_step *e = (exec_step *)k;
  frame *f = e->owner;
  int32_t v = out_slot(k, i);
  const tensor *from = k->in[input];
  if (out_shared) *out_shared = true;
  if (v == NO_VALUE) return OK;
  const slot_plan *planned = &f->shapes->slots[v];
  slot *s = &f->slots[v];
  if (planned->where != STORAGE_DYNAMIC) {
    TRY(check_planned(k, i, &planned->view, rank, dims));
    if (s->view.data == from->data) return OK;
    if (out_shared) *out_shared = false;
    return transfer_elements(f->env, plan_on_device(f->owner, v), from, &s->view);
  }
  int32_t source = e->source->in[input];
  buffer *memory = f->slots[source].memory;
  /* Block memory is used again as soon as the plan thinks its value is dead, so a view that the plan does not know of has to be a copy. */
  bool may_share = !target_of(f, f->targets, v) && (memory || f->shapes->slots[source].where != STORAGE_BLOCK);
  if (may_share) {
    void *data = from->data;
    dtype type = from->type;
    TRY(tensor_init(&s->view, type, rank, dims));
    s->view.data = data;
    frame_set(f, v, buffer_retain(memory), NULL);
    return OK;
  }
  tensor *out;
  TRY(service_output(k, i, rank, dims, &out));
  if (out_shared) *out_shared = false;
  return transfer_elements(f->env, plan_on_device(f->owner, v), from, out);
}

static status service_as_value(kernel_ctx *k, int32_t i, ortc_value **out) {
  frame *f = ((exec_step *)k)->owner;
  slot *s = in_slot(k, i);
  if (s->memory) return ort_value_from_tensor(&s->view, s->memory, out);
  TRY(ort_value_create_tensor(f->env->allocator, s->view.type, s->view.rank, s->view.dims, out));
  ++f->env->stats.allocations;
  return transfer_elements(f->env, false, &s->view, &(*out)->view);
}

static bool service_cancelled(const kernel_ctx *k) {
  const run_env *env = ((const exec_step *)k)->owner->env;
  return env->terminate && *env->terminate;
}

const kernel_services executor_services = {
  .output = service_output, .output_inferred = service_output_inferred, .scratch = service_scratch, .wants = service_wants, .in_value = service_in_value, .take_value = service_take_value,
  .set_value = service_set_value, .out_like = service_out_like, .as_value = service_as_value, .cancelled = service_cancelled};
