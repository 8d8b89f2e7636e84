/* ortcore's FusedElementwise: a program of elementwise operators in one pass over broadcast inputs, which passes make of chains. Attributes:
 *   operators   names of kernels/program.h, in their order, with blanks between
 *   arguments   three for each step
 *   kept        for each step, the place where its result is kept, or 0
 *   numbers     p and q of each step
 *   dtype       of the result
 * It computes in float. A device runs it as it is; here, for tests and for constants, it is interpreted a block at a time. */
#include <ortcore/kernels/cpu/broadcast.h>
#include <ortcore/kernels/program.h>
#include <ortcore/ops/elementwise.h>
#include <string.h>

enum { BLOCK = 512 };

/* ---- The program in the attributes ---- */

static status read_program(const node *n, int inputs, program *p) {
  text names = attr_string_or(n, "operators", "");
  int64_t argument_count, kept_count, number_count;
  const int64_t *arguments = attr_ints(n, "arguments", &argument_count), *kept = attr_ints(n, "kept", &kept_count);
  const float *numbers = attr_floats(n, "numbers", &number_count);
  unsigned written = 0;                                    /* places that hold a result */
  *p = (program){.inputs = inputs};
  for (const char *at = names.data; *at; at += *at == ' ') {
    char name[32];
    size_t bytes = strcspn(at, " ");
    if (bytes >= sizeof name) return ERROR(INVALID_GRAPH, "attribute 'operators' has a name of %zu characters, which no operator has", bytes);
    memcpy(name, at, bytes);
    name[bytes] = 0;
    at += bytes;
    int op = program_find(name), i = p->count;
    if (op < 0) return ERROR(INVALID_GRAPH, "attribute 'operators' names '%s', which is no elementwise operator", name);
    if (i == PROGRAM_STEPS) return ERROR(INVALID_GRAPH, "attribute 'operators' has more than %d names", PROGRAM_STEPS);
    if (argument_count < 3 * (i + 1) || kept_count <= i || number_count < 2 * (i + 1))
      return ERROR(INVALID_GRAPH, "step %d has a name in 'operators', but not three 'arguments', one 'kept' and two 'numbers'", i);
    program_step *s = program_append(p, (program_op)op, FROM_NOWHERE, FROM_NOWHERE, FROM_NOWHERE);
    for (int j = 0; j < program_arity((program_op)op); ++j) {
      int64_t from = arguments[3 * i + j];
      bool fits = from == FROM_P || from == FROM_Q || (from == FROM_LAST && i > 0) || (from >= FROM_INPUT && from < FROM_INPUT + inputs) ||
        (from >= FROM_KEPT && from < FROM_END && (written >> (from - FROM_KEPT) & 1));
      if (!fits) return ERROR(INVALID_GRAPH, "argument %d of step %d is %lld, which is nothing that the step could read", j, i, (long long)from);
      s->from[j] = (uint8_t)from;
    }
    if (kept[i] < 0 || kept[i] > PROGRAM_KEPT) return ERROR(INVALID_GRAPH, "step %d is kept in place %lld; there are %d", i, (long long)kept[i], PROGRAM_KEPT);
    s->keep = (uint8_t)kept[i];
    if (s->keep) written |= 1u << (s->keep - 1);
    if (s->keep > p->kept) p->kept = s->keep;
    s->p = (double)numbers[2 * i];
    s->q = (double)numbers[2 * i + 1];
  }
  return p->count ? OK : ERROR(INVALID_GRAPH, "attribute 'operators' names no step");
}

static status fused_prepare(prepare_ctx *c, void **out_params) {
  program *p = *out_params = ZONE_NEW(c->memory, program);
  if (!p) return status_out_of_memory();
  if (c->in_count > PROGRAM_INPUTS) return ERROR(INVALID_GRAPH, "the node has %d inputs; a program reads at most %d", c->in_count, PROGRAM_INPUTS);
  return read_program(c->node, c->in_count, p);
}

static status fused_infer(infer_ctx *c) {
  TRY(infer_broadcast(c));
  return infer_type_attr(c, "dtype", ORTC_FLOAT, TS_NUMERIC | TS(BOOL));
}

/* ---- The interpreter ---- */

typedef struct fused_input { const tensor *t; int64_t strides[MAX_RANK]; convert_fn load; } fused_input;

typedef struct fused {
  const program *p;
  const tensor *out;
  fused_input in[PROGRAM_INPUTS];
  float last[BLOCK], kept[PROGRAM_KEPT][BLOCK], given[3][BLOCK], result[BLOCK];
} fused;

/* Elements [first, first + n) of the result's order, as floats. */
static void read_input(const fused *f, const fused_input *in, int64_t first, int64_t n, float *to) {
  char raw[BLOCK * 8];
  int width = tensor_width(in->t);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = first + i, at = 0;
    for (int d = f->out->rank - 1; d >= 0; --d) {
      at += rest % f->out->dims[d] * in->strides[d];
      rest /= f->out->dims[d];
    }
    memcpy(raw + i * width, (const char *)in->t->data + at * width, (size_t)width);
  }
  if (in->load) in->load(raw, to, n);
  else memcpy(to, raw, (size_t)(n * width));
}

static const float *argument(fused *f, const program_step *s, int i, int64_t first, int64_t n) {
  int from = s->from[i];
  float *to = f->given[i];
  if (from == FROM_LAST) return f->last;
  if (from >= FROM_KEPT) return f->kept[from - FROM_KEPT];
  if (from >= FROM_INPUT) read_input(f, &f->in[from - FROM_INPUT], first, n, to);
  else for (int64_t j = 0; j < n; ++j) to[j] = (float)(from == FROM_P ? s->p : s->q);
  return to;
}

/* Truths are floats between steps: 0 or 1. */
static void to_truths(const float *x, uint8_t *y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] = x[j] != 0;
}
static void from_truths(const uint8_t *x, float *y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] = x[j];
}

static bool gives_truth(program_op op) {
  switch (op) {
#define X(name, expression) case PROGRAM_##name:
    ARITHMETIC_COMPARE(X) ARITHMETIC_TEST(X)
    return true;
#undef X
    default: return false;
  }
}

static void run_step(fused *f, const program_step *s, int64_t first, int64_t n) {
  const float *x[3] = {NULL};
  const char *name = program_name((program_op)s->op);
  elementwise_params numbers = {s->p, s->q};
  uint8_t truths[3][BLOCK];
  const elementwise *kernel = elementwise_find(name, ORTC_FLOAT), *of_truths = elementwise_find(name, ORTC_BOOL);
  for (int i = 0; i < program_arity((program_op)s->op); ++i) x[i] = argument(f, s, i, first, n);
  if (s->op == PROGRAM_Copy) {
    memcpy(f->result, x[0], (size_t)n * sizeof(float));
  } else if (s->op == PROGRAM_Where) {
    to_truths(x[0], truths[0], n);
    elementwise_where(sizeof(float))(f->result, (const void *[]){truths[0], x[1], x[2]}, n, 0, NULL);
  } else if (kernel) {
    bool truth = gives_truth((program_op)s->op);
    kernel->fn(truth ? (void *)truths[0] : f->result, (const void *const *)x, n, 0, &numbers);
    if (truth) from_truths(truths[0], f->result, n);
  } else {                                                 /* And, Or, Xor, Not */
    for (int i = 0; i < program_arity((program_op)s->op); ++i) to_truths(x[i], truths[i], n);
    of_truths->fn(truths[2], (const void *[]){truths[0], truths[1]}, n, 0, NULL);
    from_truths(truths[2], f->result, n);
  }
  memcpy(f->last, f->result, (size_t)n * sizeof(float));
  if (s->keep) memcpy(f->kept[s->keep - 1], f->last, (size_t)n * sizeof(float));
}

static status fused_run(kernel_ctx *k) {
  const program *p = k->params;
  int rank;
  int64_t dims[MAX_RANK];
  tensor *out;
  void *memory;
  TRY(broadcast_dims(k->in_count, k->in, &rank, dims));
  TRY(kernel_output(k, 0, rank, dims, &out));
  if (!out || out->count == 0) return OK;
  TRY(kernel_scratch(k, sizeof(fused), &memory));
  fused *f = memory;
  f->p = p;
  f->out = out;
  for (int i = 0; i < k->in_count; ++i) {
    const tensor *t = k->in[i];
    f->in[i] = (fused_input){.t = t, .load = t->type == ORTC_FLOAT ? NULL : convert_find(t->type, ORTC_FLOAT)};
    for (int64_t d = t->rank - 1, stride = 1; d >= 0; stride *= t->dims[d--]) f->in[i].strides[rank - t->rank + d] = t->dims[d] == 1 ? 0 : stride;
  }
  convert_fn store = out->type == ORTC_FLOAT ? NULL : convert_find(ORTC_FLOAT, out->type);
  for (int64_t first = 0; first < out->count; first += BLOCK) {
    int64_t n = out->count - first < BLOCK ? out->count - first : BLOCK;
    for (int i = 0; i < p->count; ++i) run_step(f, &p->steps[i], first, n);
    char *to = (char *)out->data + first * tensor_width(out);
    if (store) store(f->last, to, n);
    else memcpy(to, f->last, (size_t)n * sizeof(float));
  }
  return OK;
}

OP_FAMILY(fused_elementwise) = {
  {.name = "FusedElementwise", .domain = "ortcore", .since = 1, .signature = "inputs:V% -> Y:T", .V = TS_NUMERIC | TS(BOOL), .T = TS_NUMERIC | TS(BOOL),
   .infer = fused_infer, .prepare = fused_prepare, .run = fused_run},
  {0}};
