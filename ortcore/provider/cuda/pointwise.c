#include <ortcore/base/mem.h>
#include <ortcore/provider/cuda/pointwise.h>
#include <string.h>

_Static_assert((int)CUDA_ELEMENTWISE_RANK == (int)MAX_RANK, "a launch has room for the dims of any tensor");

dtype pointwise_compute(dtype type) {
  if (typeset_has(TS(FLOAT) | TS_HALF, type)) return ORTC_FLOAT;
  return type == ORTC_DOUBLE || type == ORTC_UINT64 ? type : ORTC_INT64;
}

int pointwise_operand(const specialise_ctx *c, pointwise *p, int i) {
  int operand = p->launch.what.inputs++;
  p->sources[operand] = i;
  p->launch.in[operand].type = c->in[i]->type;
  return FROM_INPUT + operand;
}

bool pointwise_supports(const node *n, const fact *const *in) {
  if (n->input_count > PROGRAM_INPUTS) return false;
  for (int32_t i = 0; i < n->input_count; ++i)
    if (in[i] && in[i]->order != LAYOUT_PLAIN) return false;
  return true;
}

/* The steps of an operand along the result's axes: 0 where it repeats. An operand of one element fits whatever its rank. */
static status operand_steps(const tensor *t, int input, const tensor *out, int64_t *steps) {
  char given[DIMS_TEXT], wanted[DIMS_TEXT];
  int64_t step = 1;
  bool fits = t->count == 1 || t->rank <= out->rank;
  for (int d = t->rank - 1; d >= 0 && t->count != 1 && fits; --d) {
    int to = out->rank - t->rank + d;
    fits = t->dims[d] == out->dims[to] || t->dims[d] == 1;
    steps[to] = t->dims[d] == 1 ? 0 : step;
    step *= t->dims[d];
  }
  if (fits) return OK;
  return ERROR(INVALID_ARGUMENT, "input %d has shape %s, which does not broadcast to %s, the shape of the output: counted from the last, dims must be equal or 1",
               input, dims_format(given, sizeof given, t->rank, t->dims), dims_format(wanted, sizeof wanted, out->rank, out->dims));
}

/* Axes of one element go, and neighbours that every operand walks in one stride are merged. */
static void merge_axes(cuda_elementwise *e) {
  int kept = 0;
  for (int d = 0; d < e->rank; ++d) {
    int64_t n = e->dims[d];
    if (n == 1) continue;
    bool merges = kept > 0;
    for (int i = 0; i < e->what.inputs && merges; ++i) merges = e->in[i].steps[kept - 1] == e->in[i].steps[d] * n;
    int to = merges ? kept - 1 : kept++;
    e->dims[to] = merges ? e->dims[to] * n : n;
    for (int i = 0; i < e->what.inputs; ++i) e->in[i].steps[to] = e->in[i].steps[d];
  }
  if (kept == 0) {                                         /* one element */
    e->dims[kept++] = 1;
    for (int i = 0; i < e->what.inputs; ++i) e->in[i].steps[0] = 0;
  }
  e->rank = kept;
}

static bool is_dense(const cuda_elementwise *e, const cuda_operand *in) {
  int64_t step = 1;
  for (int d = e->rank - 1; d >= 0; --d) {
    if (in->steps[d] != step && e->dims[d] != 1) return false;
    step *= e->dims[d];
  }
  return true;
}

status pointwise_specialise(specialise_ctx *c, void **out_spec) {
  const tensor *out = c->out[0];
  const pointwise_row *row = c->data;
  *out_spec = NULL;
  if (!out) return OK;                                     /* nobody wants it */
  pointwise *p = mem_calloc(1, sizeof *p);
  if (!p) return status_out_of_memory();
  cuda_elementwise *e = &p->launch;
  e->out_type = out->type;
  status s = row->recipe(c, p);
  for (int i = 0; i < e->what.inputs && !s && !p->shaped; ++i) s = operand_steps(c->in[p->sources[i]], p->sources[i], out, e->in[i].steps);
  if (s) {
    mem_free(p);
    return s;
  }
  if (!p->shaped) {
    e->rank = out->rank;
    memcpy(e->dims, out->dims, sizeof out->dims);
  }
  merge_axes(e);
  for (int i = 0; i < e->what.inputs; ++i) e->in[i].dense = is_dense(e, &e->in[i]);
  *out_spec = p;
  return OK;
}

void pointwise_dispose(void *spec) { mem_free(spec); }

status pointwise_launch(kernel_ctx *k, stream *on) {
  tensor *out;
  TRY(kernel_output_inferred(k, 0, &out));
  return out ? pointwise_enqueue(k, k->spec, k->in, out, on) : OK;
}

status pointwise_enqueue(const kernel_ctx *k, const pointwise *p, const tensor *const *in, tensor *out, stream *on) {
  if (!p || out->count == 0) return OK;
  cuda_elementwise e = p->launch;
  for (int i = 0; i < e.what.inputs; ++i) e.in[i].data = in[p->sources[i]]->data;
  e.out = out->data;
  e.fault = cuda_fault(k, on);
  switch (p->compute) {
    case ORTC_FLOAT: return cuda_launched(cuda_elementwise_f32(&e, cuda_raw(on)));
    case ORTC_DOUBLE: return cuda_launched(cuda_elementwise_f64(&e, cuda_raw(on)));
    case ORTC_UINT64: return cuda_launched(cuda_elementwise_u64(&e, cuda_raw(on)));
    default: return cuda_launched(cuda_elementwise_i64(&e, cuda_raw(on)));
  }
}
