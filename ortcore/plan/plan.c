#include <ortcore/base/checked.h>
#include <ortcore/base/mapping.h>
#include <ortcore/base/mem.h>
#include <ortcore/plan/plan.h>
#include <ortcore/plan/shape_plan.h>
#include <string.h>

static status prepare_step(plan *p, step *s) {
  const op_def *op = s->op;
  status (*prepare)(prepare_ctx *c, void **out_params) = s->kernel && s->kernel->prepare ? s->kernel->prepare : op->prepare;
  if (!prepare) return OK;
  const fact **facts = ZONE_ARRAY(p->memory, s->in_count + s->out_count + 1, const fact *);
  if (!facts) return status_out_of_memory();
  for (int32_t i = 0; i < s->in_count; ++i) facts[i] = s->in[i] == NO_VALUE ? NULL : &p->graph->values[s->in[i]].fact;
  for (int32_t i = 0; i < s->out_count; ++i) facts[s->in_count + i] = s->out[i] == NO_VALUE ? NULL : &p->graph->values[s->out[i]].fact;
  prepare_ctx c = {.node = s->node, .op = op, .in_count = s->in_count, .out_count = s->out_count, .in = facts, .out = facts + s->in_count,
                   .memory = p->memory, .threads = p->threads, .data = step_data(s), .cuda = p->cuda};
  return prepare(&c, &s->params);
}

static status create_subplans(plan *p, step *s) {
  const node *n = s->node;
  s->subplans = ZONE_ARRAY(p->memory, n->attr_count, plan *);
  if (!s->subplans) return status_out_of_memory();
  for (int32_t i = 0; i < n->attr_count; ++i) {
    if (n->attrs[i].kind != ATTR_GRAPH) continue;
    plan_env env = {.memory = p->memory, .threads = p->threads, .device = p->device, .device_memory = p->device_memory, .cuda = p->cuda,
                    .separate = p->separate};
    env.subgraph = zone_printf(p->memory, "%s/%s", n->name, n->attrs[i].name);
    if (!env.subgraph) return status_out_of_memory();
    TRY(plan_create(n->attrs[i].g, &env, &s->subplans[s->subplan_count]));
    ++s->subplan_count;
  }
  return OK;
}

static status create_step(plan *p, step *s, const node *n) {
  *s = (step){.node = n, .op = n->op, .kernel = n->kernel, .in_count = n->input_count, .capture_count = n->capture_count, .out_count = n->output_count};
  int32_t *slots = ZONE_ARRAY(p->memory, n->input_count + n->capture_count + n->output_count + 1, int32_t);
  if (!slots) return status_out_of_memory();
  memcpy(slots, n->inputs, (size_t)n->input_count * sizeof *slots);
  if (n->capture_count) memcpy(slots + n->input_count, n->captures, (size_t)n->capture_count * sizeof *slots);
  int32_t *outs = slots + n->input_count + n->capture_count;
  memcpy(outs, n->outputs, (size_t)n->output_count * sizeof *slots);
  s->in = slots;
  s->out = outs;
  if (n->op->flags & OP_SUBGRAPHS) TRY(create_subplans(p, s));
  else if (!n->op->run && !n->kernel)
    return ERROR(NOT_IMPLEMENTED, "operator %s (opset %lld) has no kernel on the CPU", n->op_type, (long long)n->opset);
  return prepare_step(p, s);
}

/* last_use, and from it the slots that each step is the last to read. */
static status find_lifetimes(plan *p) {
  const graph *g = p->graph;
  p->last_use = ZONE_ARRAY(p->memory, p->slot_count + 1, int32_t);
  int32_t *counts = ZONE_ARRAY(p->memory, p->step_count + 1, int32_t);
  if (!p->last_use || !counts) return status_out_of_memory();
  memset(p->last_use, 0xff, (size_t)p->slot_count * sizeof *p->last_use);
  for (int32_t i = 0; i < p->step_count; ++i) {
    const step *s = &p->steps[i];
    for (int32_t j = 0; j < s->in_count + s->capture_count; ++j)
      if (s->in[j] != NO_VALUE) p->last_use[s->in[j]] = i;
    for (int32_t j = 0; j < s->out_count; ++j)
      if (s->out[j] != NO_VALUE && p->last_use[s->out[j]] < i) p->last_use[s->out[j]] = i;
  }
  for (int32_t i = 0; i < g->output_count; ++i) p->last_use[g->outputs[i]] = PLAN_END;
  for (int32_t v = 0; v < p->slot_count; ++v)
    if (p->last_use[v] >= 0 && p->last_use[v] != PLAN_END) ++counts[p->last_use[v]];
  for (int32_t i = 0; i < p->step_count; ++i) {
    int32_t *releases = ZONE_ARRAY(p->memory, counts[i], int32_t);
    if (!releases) return status_out_of_memory();
    p->steps[i].releases = releases;
  }
  for (int32_t v = 0; v < p->slot_count; ++v) {
    if (p->last_use[v] < 0 || p->last_use[v] == PLAN_END) continue;
    step *s = &p->steps[p->last_use[v]];
    ((int32_t *)s->releases)[s->release_count++] = v;
  }
  return OK;
}

/* Which slots the graph's outputs are: one slot may be several. */
static status index_outputs(plan *p) {
  const graph *g = p->graph;
  p->first_output = ZONE_ARRAY(p->memory, p->slot_count + 1, int32_t);
  p->next_output = ZONE_ARRAY(p->memory, g->output_count + 1, int32_t);
  if (!p->first_output || !p->next_output) return status_out_of_memory();
  memset(p->first_output, 0xff, (size_t)p->slot_count * sizeof *p->first_output);
  for (int32_t o = g->output_count - 1; o >= 0; --o) {
    p->next_output[o] = p->first_output[g->outputs[o]];
    p->first_output[g->outputs[o]] = o;
  }
  return OK;
}

/* Nodes that contribute to no output are not planned, whatever the optimisation level. Returns a flag a node, or NULL without memory. */
static bool *find_live_nodes(const graph *g) {
  bool *live = mem_calloc((size_t)g->node_count + 1, sizeof *live), *wanted = mem_calloc((size_t)g->value_count + 1, sizeof *wanted);
  if (live && wanted) {
    for (int32_t i = 0; i < g->output_count; ++i) wanted[g->outputs[i]] = true;
    for (int32_t i = g->node_count - 1; i >= 0; --i) {
      const node *n = g->nodes[i];
      for (int32_t j = 0; j < n->output_count; ++j)
        if (n->outputs[j] != NO_VALUE && wanted[n->outputs[j]]) live[i] = true;
      if (!live[i]) continue;
      for (int32_t j = 0; j < n->input_count; ++j)
        if (n->inputs[j] != NO_VALUE) wanted[n->inputs[j]] = true;
      for (int32_t j = 0; j < n->capture_count; ++j) wanted[n->captures[j]] = true;
    }
    mem_free(wanted);
    return live;
  }
  mem_free(live);
  mem_free(wanted);
  return NULL;
}

static status build_steps(plan *p) {
  const graph *g = p->graph;
  bool *live = find_live_nodes(g);
  if (!live) return status_out_of_memory();
  status s = OK;
  for (int32_t i = 0; i < g->node_count && !s; ++i) {
    if (!live[i]) continue;
    const node *n = g->nodes[i];
    step *made = &p->steps[p->step_count++];                /* counted also after a failure, so that plan_release sees what it holds */
    s = create_step(p, made, n);
    made->number = p->total_steps++;
    for (int32_t j = 0; j < made->subplan_count; ++j) p->total_steps += made->subplans[j]->total_steps;
    if (s) s = status_at_node(status_context(s, "node '%s' (%s)", n->name, n->op_type), n->name);
  }
  mem_free(live);
  return s;
}

/* ---- Constants on the device ------------------------------------------------------------------------------------------------ */

static const tensor *constant_of(const value *v) {
  const tensor *t = v->is_capture ? NULL : v->fact.value ? v->fact.value : v->default_value;
  return t && v->on_device ? t : NULL;
}

enum { DEVICE_ALIGNMENT = 256 };                            /* of each constant: what a GPU moves at once, and libraries ask for */

/* Item i of what goes to the device: the graph's values, then the steps' tables. NULL: nothing. */
static const void *constant_item(const plan *p, int32_t i, size_t *out_bytes) {
  *out_bytes = 0;
  if (i < p->graph->value_count) {
    const tensor *t = p->last_use[i] >= 0 ? constant_of(&p->graph->values[i]) : NULL;
    if (t && t->count) *out_bytes = tensor_bytes(t);
    return *out_bytes ? t->data : NULL;
  }
  const step *s = &p->steps[i - p->graph->value_count];
  const void *data = s->kernel && s->kernel->tables ? s->kernel->tables(s->params, out_bytes) : NULL;
  return *out_bytes ? data : NULL;
}

/* All of them in one piece of device memory. */
static status upload_constants(plan *p) {
  int32_t values = p->graph->value_count, count = values + p->step_count;
  size_t bytes = 0, each, *offsets = ZONE_ARRAY(p->memory, count + 1, size_t);
  p->on_device = ZONE_ARRAY(p->memory, values + 1, void *);
  if (!offsets || !p->on_device) return status_out_of_memory();
  for (int32_t i = 0; i < count; ++i) {
    offsets[i] = bytes;
    if (constant_item(p, i, &each) && checked_add(bytes, each + DEVICE_ALIGNMENT - 1, &bytes))
      return ERROR(OUT_OF_MEMORY, "the model's weights are more than memory can hold");
    bytes &= ~(size_t)(DEVICE_ALIGNMENT - 1);
  }
  if (!bytes) return OK;
  TRY(status_context(buffer_create(p->device_memory, bytes, &p->weights), "the model's weights on the device"));
  for (int32_t i = 0; i < count; ++i) {
    const void *data = constant_item(p, i, &each);
    if (!data) continue;
    void *to = (char *)p->weights->data + offsets[i];
    if (i < values) p->on_device[i] = to;
    else p->steps[i - values].tables = to;
    TRY(device_copy(&p->weights->info, to, &memory_info_cpu, data, each));
    mapping_let_go(data, each);
  }
  return OK;
}

status plan_create(const graph *g, const plan_env *env, plan **out) {
  *out = NULL;
  zone *memory = env->memory;
  plan *p = ZONE_NEW(memory, plan);
  if (!p) return status_out_of_memory();
  p->graph = g;
  p->memory = memory;
  p->subgraph = env->subgraph;
  p->threads = env->threads;
  p->separate = env->separate;
  p->device = env->device;
  p->cuda = env->cuda;
  p->device_memory = allocator_retain(env->device_memory);
  p->slot_count = g->value_count;
  pthread_mutex_init(&p->lock, NULL);
  p->steps = ZONE_ARRAY(memory, g->node_count + 1, step);
  status s = p->steps ? build_steps(p) : status_out_of_memory();
  if (!s) s = find_lifetimes(p);
  if (!s) s = index_outputs(p);
  if (!s && p->device) s = upload_constants(p);
  if (s) {
    plan_release(p);
    return s;
  }
  *out = p;
  return OK;
}

static void dispose_params(const step *s) {
  void (*dispose)(void *params) = s->kernel && s->kernel->prepare ? s->kernel->dispose : s->op->dispose;
  if (dispose && s->params) dispose(s->params);
}

void step_dispose_spec(const step *s, void *spec) {
  void (*dispose)(void *of) = s->kernel ? s->kernel->dispose_spec : s->op->dispose_spec;
  if (dispose && spec) dispose(spec);
}

void plan_release(plan *p) {
  if (!p) return;
  for (size_t i = 0; i < sizeof p->cache / sizeof *p->cache; ++i) shape_plan_release(p->cache[i]);
  shape_plan_release(p->generic);
  for (int32_t i = 0; i < p->step_count; ++i) {
    step *s = &p->steps[i];
    for (int32_t j = 0; j < s->subplan_count; ++j) plan_release(s->subplans[j]);
    if (s->op) dispose_params(s);
  }
  buffer_release(p->weights);
  allocator_release(p->device_memory);
  pthread_mutex_destroy(&p->lock);
}

plan *step_subplan(const step *s, const char *name) {
  int32_t index = 0;
  for (int32_t i = 0; i < s->node->attr_count; ++i) {
    if (s->node->attrs[i].kind != ATTR_GRAPH) continue;
    if (!strcmp(s->node->attrs[i].name, name)) return index < s->subplan_count ? s->subplans[index] : NULL;
    ++index;
  }
  return NULL;
}

void plan_trim(plan *p) {
  shape_plan *dropped[sizeof p->cache / sizeof *p->cache];
  pthread_mutex_lock(&p->lock);
  memcpy(dropped, p->cache, sizeof dropped);
  memset(p->cache, 0, sizeof p->cache);
  pthread_mutex_unlock(&p->lock);
  for (size_t i = 0; i < sizeof dropped / sizeof *dropped; ++i) shape_plan_release(dropped[i]);
  for (int32_t i = 0; i < p->step_count; ++i)
    for (int32_t j = 0; j < p->steps[i].subplan_count; ++j) plan_trim(p->steps[i].subplans[j]);
}
