#include <ortcore/ops/params/elementwise.h>
#include <ortcore/passes/chain.h>
#include <string.h>

/* ---- From nodes -------------------------------------------------------------------------------------------------------------------- */

typedef enum fusable { BY_STEP, BY_POW, BY_CLIP, BY_WHERE, BY_CAST, BY_PROGRAM } fusable;

/* What is not named in `others` has params of the type elementwise_step. */
static bool fusable_kind(const node *n, fusable *out) {
  static const struct { const char *domain, *op; fusable kind; } others[] = {
    {"", "Pow", BY_POW}, {"", "Clip", BY_CLIP}, {"", "Where", BY_WHERE}, {"", "Cast", BY_CAST}, {"ortcore", "FusedElementwise", BY_PROGRAM}};
  static const struct { const char *domain, *ops; } by_step[] = {
    {"", " Abs Neg Sign Erf Ceil Floor Round Sqrt Exp Log Tanh Reciprocal Sigmoid Not Relu LeakyRelu HardSigmoid HardSwish Elu Selu Celu Softplus Softsign"
         " ThresholdedRelu Mish Shrink Gelu Swish Add Sub Mul Div PRelu Max Min Sum Mean SwiGLU Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor"
         " IsNaN IsInf "},
    {"com.microsoft", " Gelu QuickGelu BiasGelu FastGelu "},
    {"ortcore", " Silu "}};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    *out = others[i].kind;
    if (!strcmp(n->domain, others[i].domain) && !strcmp(n->op_type, others[i].op)) return true;
  }
  *out = BY_STEP;
  size_t bytes = strlen(n->op_type);
  for (size_t i = 0; i < sizeof by_step / sizeof *by_step; ++i) {
    if (strcmp(n->domain, by_step[i].domain)) continue;
    for (const char *at = by_step[i].ops; (at = strstr(at, n->op_type)); at += bytes)
      if (at[-1] == ' ' && at[bytes] == ' ') return true;
  }
  return false;
}

/* Float arithmetic: no type is double, integers are there only to be converted. */
static bool types_fit(const rewriter *w, const node *n, fusable kind) {
  typeset real = TS(FLOAT) | TS_HALF, inputs = real;
  const fact *y = rewrite_fact(w, n->outputs[0]);
  bool truths = false;
  for (int32_t i = 0; i < n->input_count; ++i) {
    if (n->inputs[i] == NO_VALUE) continue;
    const fact *f = rewrite_fact(w, n->inputs[i]);
    if (f->kind != KIND_TENSOR || f->order != LAYOUT_PLAIN || f->rank < 0 || f->rank > y->rank) return false;
    if (i == 0) truths = f->type == ORTC_BOOL;
    if (kind == BY_STEP && truths) inputs = TS(BOOL);
    if (kind == BY_CAST) inputs = real | TS(BOOL) | TS_INTEGER;
    if (kind == BY_POW && i == 1) inputs = real | TS_INDEX;
    if (kind == BY_WHERE) inputs = i == 0 ? TS(BOOL) : real;
    if (kind != BY_PROGRAM && !typeset_has(inputs, f->type)) return false;
  }
  return y->order == LAYOUT_PLAIN && typeset_has(kind == BY_CAST ? real : real | TS(BOOL), y->type);
}

/* The operator's params, in `memory`. Operators without params give NULL. */
static status params_of(rewriter *w, const node *n, zone *memory, void **out) {
  const fact *in[PROGRAM_INPUTS], *result = rewrite_fact(w, n->outputs[0]);
  for (int32_t i = 0; i < n->input_count; ++i) in[i] = n->inputs[i] == NO_VALUE ? NULL : rewrite_fact(w, n->inputs[i]);
  prepare_ctx c = {.node = n, .op = n->op, .in_count = n->input_count, .out_count = 1, .in = in, .out = &result, .memory = memory, .threads = 1, .data = n->op->data};
  *out = NULL;
  return n->op->prepare ? n->op->prepare(&c, out) : OK;
}

/* The chain's input for a value, which is one more if it is new. */
static int input_of(chain *c, int32_t value) {
  int i = 0;
  while (i < c->input_count && c->inputs[i] != value) ++i;
  if (i == c->input_count) {
    c->inputs[c->input_count++] = value;
    c->reads[i] = 0;
  }
  ++c->reads[i];
  return ARGUMENT_INPUT + i;
}

/* Steps of a program, of which argument FROM_INPUT + i is arguments[i]. */
static void add_steps(chain *c, const program *p, const int *arguments) {
  int places[PROGRAM_KEPT] = {0};
  for (int i = 0; i < p->count; ++i) {
    const program_step *s = &p->steps[i];
    chain_step *to = &c->steps[c->count];
    *to = (chain_step){.op = s->op, .p = s->p, .q = s->q};
    for (int j = 0; j < 3; ++j) {
      int from = s->from[j];
      to->arguments[j] = from == FROM_NOWHERE ? ARGUMENT_NONE : from == FROM_P ? ARGUMENT_P : from == FROM_Q ? ARGUMENT_Q
        : from == FROM_LAST ? ARGUMENT_STEP + c->count - 1 : from >= FROM_KEPT ? places[from - FROM_KEPT] : arguments[from - FROM_INPUT];
    }
    if (s->keep) places[s->keep - 1] = ARGUMENT_STEP + c->count;
    ++c->count;
  }
}

static bool make_program(const rewriter *w, const node *n, fusable kind, const void *params, program *p) {
  int arguments[PROGRAM_INPUTS];
  for (int32_t i = 0; i < PROGRAM_INPUTS; ++i) arguments[i] = node_has(n, i) ? FROM_INPUT + i : FROM_NOWHERE;
  *p = (program){.inputs = n->input_count};
  switch (kind) {
    case BY_STEP: return elementwise_steps(p, params, n->input_count, arguments);
    case BY_POW: return pow_steps(p, params, arguments[0], arguments[1]);
    case BY_CLIP: return clip_steps(p, params, rewrite_fact(w, n->outputs[0])->type, arguments[0], arguments[1], arguments[2]);
    case BY_WHERE: return program_append(p, PROGRAM_Where, arguments[0], arguments[1], arguments[2]);
    case BY_CAST: return program_append(p, PROGRAM_Copy, arguments[0], FROM_NOWHERE, FROM_NOWHERE);
    default: *p = *(const program *)params; return true;
  }
}

/* A constant number need not be read from memory, where the step has a number to spare and the result's shape does not depend on it. */
static void embed_number(const rewriter *w, const node *n, program *p) {
  double value;
  program_step *s = &p->steps[0];
  const fact *y = rewrite_fact(w, n->outputs[0]);
  if (p->count != 1 || n->input_count != 2 || program_arity((program_op)s->op) != 2 || s->op == PROGRAM_SwiGLU) return;
  for (int i = 0; i < 2; ++i) {
    if (!rewrite_scalar(w, n->inputs[i], &value) || !facts_same_shape(rewrite_fact(w, n->inputs[1 - i]), y)) continue;
    s->p = value;
    s->from[i] = FROM_P;
    return;
  }
}

status chain_of(rewriter *w, const node *n, chain *out, bool *out_is) {
  fusable kind;
  program p;
  void *params;
  *out_is = false;
  if (n->input_count > PROGRAM_INPUTS || n->output_count != 1 || !n->op || !fusable_kind(n, &kind) || !types_fit(w, n, kind)) return OK;
  if (!pass_on_device(w->env, w->g, n)) return OK;
  zone *memory = zone_create();
  if (!memory) return status_out_of_memory();
  status s = params_of(w, n, memory, &params);
  bool made = !s && make_program(w, n, kind, params, &p);
  zone_release(memory);
  if (s || !made) return s;
  embed_number(w, n, &p);
  int arguments[PROGRAM_INPUTS] = {ARGUMENT_NONE};
  *out = (chain){0};
  for (int i = 0; i < p.count; ++i) {
    if (program_is_long((program_op)p.steps[i].op)) return OK;
    for (int j = 0; j < 3; ++j) {
      int from = p.steps[i].from[j] - FROM_INPUT;
      if (from >= 0 && from < PROGRAM_INPUTS && arguments[from] == ARGUMENT_NONE) arguments[from] = input_of(out, n->inputs[from]);
    }
  }
  add_steps(out, &p, arguments);
  *out_is = true;
  return OK;
}

/* ---- Together ----------------------------------------------------------------------------------------------------------------------- */

bool chain_prepend(chain *c, int index, const chain *producer) {
  chain joined = *producer;
  if (producer->count + c->count > PROGRAM_STEPS) return false;
  int inputs[PROGRAM_INPUTS];
  for (int i = 0; i < c->input_count; ++i) {
    if (i == index) continue;
    int at = 0;
    while (at < joined.input_count && joined.inputs[at] != c->inputs[i]) ++at;
    if (at == PROGRAM_INPUTS) return false;
    if (at == joined.input_count) {
      joined.inputs[joined.input_count++] = c->inputs[i];
      joined.reads[at] = 0;
    }
    joined.reads[at] += c->reads[i];
    inputs[i] = ARGUMENT_INPUT + at;
  }
  inputs[index] = ARGUMENT_STEP + producer->count - 1;
  for (int i = 0; i < c->count; ++i) {
    chain_step *s = &joined.steps[joined.count++];
    *s = c->steps[i];
    for (int j = 0; j < 3; ++j) {
      if (s->arguments[j] >= ARGUMENT_STEP) s->arguments[j] += producer->count;
      else if (s->arguments[j] >= ARGUMENT_INPUT) s->arguments[j] = inputs[s->arguments[j] - ARGUMENT_INPUT];
    }
  }
  *c = joined;
  return true;
}

/* ---- To a program ------------------------------------------------------------------------------------------------------------------- */

/* The last step that reads the result of step `i`, or -1. */
static int last_reader(const chain *c, int i) {
  int last = -1;
  for (int r = i + 1; r < c->count; ++r)
    for (int j = 0; j < 3; ++j)
      if (c->steps[r].arguments[j] == ARGUMENT_STEP + i) last = r;
  return last;
}

bool chain_program(const chain *c, program *out) {
  int place[PROGRAM_STEPS], until[PROGRAM_KEPT];           /* where each step's result is kept; the last step that reads what a place holds */
  for (int i = 0; i < PROGRAM_KEPT; ++i) until[i] = -1;
  *out = (program){.inputs = c->input_count};
  for (int i = 0; i < c->count; ++i) {
    const chain_step *s = &c->steps[i];
    program_step *to = program_append(out, (program_op)s->op, FROM_NOWHERE, FROM_NOWHERE, FROM_NOWHERE);
    if (!to) return false;
    to->p = s->p;
    to->q = s->q;
    for (int j = 0; j < 3; ++j) {
      int from = s->arguments[j], step = from - ARGUMENT_STEP;
      to->from[j] = (uint8_t)(from == ARGUMENT_NONE ? FROM_NOWHERE : from == ARGUMENT_P ? FROM_P : from == ARGUMENT_Q ? FROM_Q
        : from < ARGUMENT_STEP ? FROM_INPUT + (from - ARGUMENT_INPUT) : step == i - 1 ? FROM_LAST : FROM_KEPT + place[step]);
    }
    int last = last_reader(c, i), free_place = 0;
    if (last <= i + 1) continue;
    while (free_place < PROGRAM_KEPT && until[free_place] > i) ++free_place;
    if (free_place == PROGRAM_KEPT) return false;
    place[i] = free_place;
    until[free_place] = last;
    to->keep = (uint8_t)(free_place + 1);
    if (to->keep > out->kept) out->kept = to->keep;
  }
  return true;
}
