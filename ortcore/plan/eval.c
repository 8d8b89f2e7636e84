#include <ortcore/base/mem.h>
#include <ortcore/plan/eval.h>
#include <string.h>

typedef struct evaluation {
  kernel_ctx k;                                             /* first: services get a pointer to it */
  const fact *const *out_facts;
  ortc_value **out_values;
  buffer *scratch[8];
  int scratch_count;
} evaluation;

static status eval_output(kernel_ctx *k, int32_t i, int rank, const int64_t *dims, tensor **out) {
  evaluation *e = (evaluation *)k;
  *out = NULL;
  if (i >= k->out_count || !e->out_facts[i]) return OK;
  TRY(ort_value_create_tensor(NULL, e->out_facts[i]->type, rank, dims, &e->out_values[i]));
  *out = &e->out_values[i]->view;
  return OK;
}

static status eval_output_inferred(kernel_ctx *k, int32_t i, tensor **out) {
  const fact *shape = i < k->out_count ? ((const evaluation *)k)->out_facts[i] : NULL;
  *out = NULL;
  if (!shape) return OK;
  if (!fact_is_static(shape)) return ERROR(ENGINE_ERROR, "the shape of output %d of %s is not known ahead of a run", i, k->node->op_type);
  return eval_output(k, i, shape->rank, shape->dims, out);
}

static status eval_scratch(kernel_ctx *k, size_t bytes, void **out) {
  evaluation *e = (evaluation *)k;
  *out = NULL;
  if (e->scratch_count == (int)(sizeof e->scratch / sizeof *e->scratch)) return ERROR(ENGINE_ERROR, "a kernel asked for scratch memory too often");
  TRY(buffer_create(NULL, bytes, &e->scratch[e->scratch_count]));
  *out = e->scratch[e->scratch_count++]->data;
  return OK;
}

static bool eval_wants(const kernel_ctx *k, int32_t i) {
  return i < k->out_count && ((const evaluation *)k)->out_facts[i];
}

static ortc_value *eval_in_value(const kernel_ctx *k, int32_t i) {
  (void)k, (void)i;
  return NULL;
}

static ortc_value *eval_take_value(kernel_ctx *k, int32_t i) {
  (void)k, (void)i;
  return NULL;
}

static void eval_set_value(kernel_ctx *k, int32_t i, ortc_value *v) {
  evaluation *e = (evaluation *)k;
  if (i < k->out_count && e->out_facts[i]) {
    ort_value_release(e->out_values[i]);
    e->out_values[i] = v;
  } else {
    ort_value_release(v);
  }
}

static void copy_elements(const tensor *from, tensor *to) {
  size_t bytes = tensor_bytes(from);
  if (bytes) memcpy(to->data, from->data, bytes);
  if (from->type == ORTC_STRING) rcstr_retain_n(to->data, to->count);
}

static status eval_out_like(kernel_ctx *k, int32_t i, int32_t input, int rank, const int64_t *dims, bool *out_shared) {
  tensor *out;
  if (out_shared) *out_shared = false;
  TRY(eval_output(k, i, rank, dims, &out));
  if (out) copy_elements(k->in[input], out);
  return OK;
}

static status eval_as_value(kernel_ctx *k, int32_t i, ortc_value **out) {
  const tensor *in = k->in[i];
  TRY(ort_value_create_tensor(NULL, in->type, in->rank, in->dims, out));
  copy_elements(in, &(*out)->view);
  return OK;
}

static bool eval_cancelled(const kernel_ctx *k) {
  (void)k;
  return false;
}

static const kernel_services eval_services = {
  .output = eval_output, .output_inferred = eval_output_inferred, .scratch = eval_scratch, .wants = eval_wants, .in_value = eval_in_value, .take_value = eval_take_value,
  .set_value = eval_set_value, .out_like = eval_out_like, .as_value = eval_as_value, .cancelled = eval_cancelled};

/* What specialise would have been told in a run, outputs unknown: one evaluation does not pay for inferring them. */
static status eval_specialise(evaluation *e, const node *n, const void *params) {
  tensor unknown = {.rank = RANK_UNKNOWN};
  const tensor *outs[64];
  if (e->k.out_count > 64) return ERROR(NOT_IMPLEMENTED, "%s with more than 64 outputs cannot be evaluated ahead of a run", n->op_type);
  for (int32_t i = 0; i < e->k.out_count; ++i) outs[i] = e->out_facts[i] ? &unknown : NULL;
  specialise_ctx c = {.node = n, .params = params, .in_count = e->k.in_count, .out_count = e->k.out_count, .in = e->k.in, .out = outs, .threads = 1,
                      .data = n->op->data};
  TRY(n->op->specialise(&c, &e->k.spec));
  return c.scratch_bytes ? eval_scratch(&e->k, c.scratch_bytes, &e->k.scratch) : OK;
}

status eval_prepared(const node *n, const void *params, int32_t in_count, const tensor *const *in, int32_t out_count,
                     const fact *const *out_facts, ortc_value **out_values) {
  evaluation e = {.k = {.node = n, .params = params, .in_count = in_count, .out_count = out_count, .in = in, .threads = 1, .data = n->op->data, .services = &eval_services},
                  .out_facts = out_facts, .out_values = out_values};
  memset(out_values, 0, (size_t)out_count * sizeof *out_values);
  status s = n->op->specialise ? eval_specialise(&e, n, params) : OK;
  if (!s) s = n->op->run(&e.k);
  for (int32_t i = 0; i < out_count && !s; ++i)
    if (out_facts[i] && !out_values[i]) s = ERROR(ENGINE_ERROR, "%s did not compute its output %d", n->op_type, i);
  if (n->op->dispose_spec && e.k.spec) n->op->dispose_spec(e.k.spec);
  for (int i = 0; i < e.scratch_count; ++i) buffer_release(e.scratch[i]);
  if (s) {
    for (int32_t i = 0; i < out_count; ++i) ort_value_release(out_values[i]);
    memset(out_values, 0, (size_t)out_count * sizeof *out_values);
  }
  return s ? status_at_node(status_context(s, "node '%s' (%s)", n->name, n->op_type), n->name) : OK;
}

status eval_node(const node *n, int32_t in_count, const fact *const *in, int32_t out_count, const fact *const *out_facts,
                 ortc_value **out_values) {
  const tensor **tensors = mem_calloc((size_t)in_count + 1, sizeof *tensors);
  zone *memory = zone_create();
  void *params = NULL;
  status s = tensors && memory ? OK : status_out_of_memory();
  if (!s && n->op->prepare) {
    prepare_ctx c = {.node = n, .op = n->op, .in_count = in_count, .out_count = out_count, .in = in, .out = out_facts, .memory = memory, .threads = 1,
                     .data = n->op->data};
    s = status_context(n->op->prepare(&c, &params), "node '%s' (%s)", n->name, n->op_type);
  }
  if (!s) {
    for (int32_t i = 0; i < in_count; ++i) tensors[i] = in[i] ? in[i]->value : NULL;
    s = eval_prepared(n, params, in_count, tensors, out_count, out_facts, out_values);
  }
  if (n->op->dispose && params) n->op->dispose(params);
  zone_release(memory);
  mem_free(tensors);
  return s;
}

bool eval_is_possible(const node *n) {
  return n->op && n->op->run && !(n->op->flags & (OP_NONDETERMINISTIC | OP_SUBGRAPHS | OP_VALUES));
}
