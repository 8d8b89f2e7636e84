/* LinearAttention and CausalConvWithState: layers whose memory of what came before is a state of fixed size. Computed in f32. */
#include <ortcore/base/threads.h>
#include <ortcore/ops/float_io.h>
#include <math.h>
#include <string.h>

static const tensor *input(const kernel_ctx *k, int i) { return i < k->in_count ? k->in[i] : NULL; }

/* ---- LinearAttention ------------------------------------------------------------------------------------------------
 *
 * For each step t, with a state S of [key size, value size] in each head of keys:
 *   S = exp(decay) S;   v = beta (v - S'k), if the rule corrects;   S = S + k v';   output = scale S'q */

typedef struct linear_rule { const char *name; bool gates, corrects; } linear_rule;
static const linear_rule rules[] = {{"linear", false, false}, {"gated", true, false}, {"delta", false, true}, {"gated_delta", true, true}};

enum { QUERY, KEY, VALUE, STATE, DECAY, BETA };

typedef struct linear_params { const linear_rule *rule; int64_t q_heads, kv_heads; } linear_params;

static status read_linear(const node *n, bool has_decay, bool has_beta, linear_params *p) {
  const char *name = attr_string_or(n, "update_rule", "gated_delta").data;
  p->rule = NULL;
  for (int i = 0; i < 4; ++i)
    if (!strcmp(name, rules[i].name)) p->rule = &rules[i];
  if (!p->rule) return ERROR(INVALID_ARGUMENT, "attribute 'update_rule' is \"%s\"; it must be linear, gated, delta or gated_delta", name);
  p->q_heads = attr_int_or(n, "q_num_heads", 0), p->kv_heads = attr_int_or(n, "kv_num_heads", 0);
  if (p->q_heads < 1 || p->kv_heads < 1 || p->q_heads % p->kv_heads)
    return ERROR(INVALID_ARGUMENT, "attributes 'q_num_heads' and 'kv_num_heads' are %lld and %lld; the first must be a multiple of the second",
                 (long long)p->q_heads, (long long)p->kv_heads);
  if (has_decay != p->rule->gates) return ERROR(INVALID_ARGUMENT, "update rule \"%s\" %s input 'decay'", name, has_decay ? "takes no" : "needs");
  if (has_beta != p->rule->corrects) return ERROR(INVALID_ARGUMENT, "update rule \"%s\" %s input 'beta'", name, has_beta ? "takes no" : "needs");
  return OK;
}

static status linear_infer(infer_ctx *c) {
  linear_params p;
  const fact *q = c->in[QUERY], *v = c->in[VALUE];
  TRY(read_linear(c->node, c->in_count > DECAY && c->in[DECAY], c->in_count > BETA && c->in[BETA], &p));
  if (c->out_count > 1 && c->out[1] && !c->out[1]->type) c->out[1]->type = c->in_count > STATE && c->in[STATE] ? c->in[STATE]->type : q->type;
  for (int i = 0; i < 3; ++i) {
    if (c->in[i]->rank == RANK_UNKNOWN) return OK;
    if (c->in[i]->rank != 3) return ERROR(INVALID_ARGUMENT, "input %d has rank %d; it must be [batch, length, heads * size]", i, c->in[i]->rank);
  }
  dim size = dim_known(v->dims[2]) ? v->dims[2] / p.kv_heads : DIM_UNKNOWN, key_size = dim_known(q->dims[2]) ? q->dims[2] / p.q_heads : DIM_UNKNOWN;
  if (c->out[0]) fact_set_shape(c->out[0], 3, (dim[]){q->dims[0], q->dims[1], dim_mul(size, p.q_heads)});
  if (c->out_count > 1 && c->out[1]) fact_set_shape(c->out[1], 4, (dim[]){q->dims[0], p.kv_heads, key_size, size});
  return OK;
}

typedef struct linear_work {
  linear_params p;
  int64_t batch, length, size, v_size, decay_size, beta_heads;
  double scale;
  const float *q, *k, *v, *decay, *beta;
  float *state, *y, *corrected;
} linear_work;

/* All steps of one head of keys and the heads of queries that read it. */
static void linear_head(const linear_work *w, int64_t b, int64_t h, float *state, float *value) {
  int64_t kv_heads = w->p.kv_heads, group = w->p.q_heads / kv_heads;
  for (int64_t t = 0; t < w->length; ++t) {
    int64_t step = b * w->length + t;
    const float *k = w->k + (step * kv_heads + h) * w->size, *v = w->v + (step * kv_heads + h) * w->v_size;
    memcpy(value, v, (size_t)w->v_size * sizeof *v);
    if (w->decay)
      for (int64_t d = 0; d < w->size; ++d) {
        float factor = expf(w->decay[(step * kv_heads + h) * w->decay_size + (w->decay_size > 1 ? d : 0)]);
        for (int64_t m = 0; m < w->v_size; ++m) state[d * w->v_size + m] *= factor;
      }
    if (w->beta) {
      for (int64_t d = 0; d < w->size; ++d)
        for (int64_t m = 0; m < w->v_size; ++m) value[m] -= state[d * w->v_size + m] * k[d];
      float beta = w->beta[step * w->beta_heads + (w->beta_heads > 1 ? h : 0)];
      for (int64_t m = 0; m < w->v_size; ++m) value[m] *= beta;
    }
    for (int64_t d = 0; d < w->size; ++d)
      for (int64_t m = 0; m < w->v_size; ++m) state[d * w->v_size + m] += k[d] * value[m];
    for (int64_t g = 0; g < group; ++g) {
      const float *q = w->q + (step * w->p.q_heads + h * group + g) * w->size;
      float *y = w->y + (step * w->p.q_heads + h * group + g) * w->v_size;
      memset(y, 0, (size_t)w->v_size * sizeof *y);
      for (int64_t d = 0; d < w->size; ++d)
        for (int64_t m = 0; m < w->v_size; ++m) y[m] += (float)w->scale * q[d] * state[d * w->v_size + m];
    }
  }
}

static void linear_range(void *context, int64_t begin, int64_t end) {
  const linear_work *w = context;
  for (int64_t i = begin; i < end; ++i)
    linear_head(w, i / w->p.kv_heads, i % w->p.kv_heads, w->state + i * w->size * w->v_size, w->corrected + i * w->v_size);
}

static status linear_sizes(const kernel_ctx *k, linear_work *w) {
  const tensor *q = k->in[QUERY], *key = k->in[KEY], *v = k->in[VALUE], *decay = input(k, DECAY), *beta = input(k, BETA), *state = input(k, STATE);
  w->batch = q->dims[0], w->length = q->dims[1], w->size = q->dims[2] / w->p.q_heads, w->v_size = v->dims[2] / w->p.kv_heads;
  int64_t steps = w->batch * w->length;
  if (q->dims[2] % w->p.q_heads || v->dims[2] % w->p.kv_heads || key->count != steps * w->p.kv_heads * w->size ||
      v->count != steps * w->p.kv_heads * w->v_size)
    return ERROR(INVALID_ARGUMENT, "shapes of 'query', 'key' and 'value' do not agree with %lld and %lld heads", (long long)w->p.q_heads,
                 (long long)w->p.kv_heads);
  w->decay_size = decay && decay->count == steps * w->p.kv_heads ? 1 : w->size;
  if (decay && decay->count != steps * w->p.kv_heads * w->decay_size)
    return ERROR(INVALID_ARGUMENT, "input 'decay' must hold one number for each head, or for each dim of its keys");
  w->beta_heads = beta && beta->count == steps ? 1 : w->p.kv_heads;
  if (beta && beta->count != steps * w->beta_heads)
    return ERROR(INVALID_ARGUMENT, "input 'beta' must hold one number for each step, or for each head of it");
  if (state && state->count != w->batch * w->p.kv_heads * w->size * w->v_size)
    return ERROR(INVALID_ARGUMENT, "input 'past_state' must be [batch, kv_num_heads, key size, value size]");
  return OK;
}

static status linear_run(kernel_ctx *k) {
  linear_work w = {0};
  tensor copies[6], *y, *state_out = NULL, y_copy, state_copy, *y_work, *state_work;
  const tensor *in[6] = {NULL};
  void *memory;
  TRY(read_linear(k->node, input(k, DECAY) != NULL, input(k, BETA) != NULL, &w.p));
  TRY(linear_sizes(k, &w));
  for (int i = 0; i < 6 && i < k->in_count; ++i) TRY(float_input(k, i, &copies[i], &in[i]));
  TRY(kernel_output(k, 0, 3, (int64_t[]){w.batch, w.length, w.p.q_heads * w.v_size}, &y));
  if (k->out_count > 1 && kernel_wants(k, 1)) TRY(kernel_output(k, 1, 4, (int64_t[]){w.batch, w.p.kv_heads, w.size, w.v_size}, &state_out));
  if (!y) return OK;
  TRY(float_output(k, y, &y_copy, &y_work));
  TRY(float_output(k, state_out, &state_copy, &state_work));
  int64_t heads = w.batch * w.p.kv_heads, state_count = heads * w.size * w.v_size;
  TRY(kernel_scratch(k, (size_t)(state_count + heads * w.v_size) * sizeof(float) + 64, &memory));
  w.state = memory, w.corrected = w.state + state_count, w.y = y_work->data;
  memset(w.state, 0, (size_t)state_count * sizeof(float));
  if (in[STATE] && state_count) memcpy(w.state, in[STATE]->data, (size_t)state_count * sizeof(float));
  w.q = in[QUERY]->data, w.k = in[KEY]->data, w.v = in[VALUE]->data;
  w.decay = in[DECAY] ? in[DECAY]->data : NULL, w.beta = in[BETA] ? in[BETA]->data : NULL;
  double scale = attr_float_or(k->node, "scale", 0);
  w.scale = scale != 0 ? scale : 1 / sqrt((double)w.size);
  parallel_for(k->threads, heads, 1 + 20000 / (1 + w.length * w.size * w.v_size), linear_range, &w);
  if (state_work && state_count) memcpy(state_work->data, w.state, (size_t)state_count * sizeof(float));
  float_finish(y, y_work);
  if (state_out) float_finish(state_out, state_work);
  return OK;
}

/* ---- CausalConvWithState: a depthwise convolution over [state, input], whose end is the next state ---------------------- */

static status causal_infer(infer_ctx *c) {
  const fact *x = c->in[0], *w = c->in[1];
  const char *activation = attr_string_or(c->node, "activation", "none").data;
  if (strcmp(activation, "none") && strcmp(activation, "silu") && strcmp(activation, "swish"))
    return ERROR(INVALID_ARGUMENT, "attribute 'activation' is \"%s\"; it must be none, silu or swish", activation);
  if (x->rank != RANK_UNKNOWN && x->rank != 3)
    return ERROR(INVALID_ARGUMENT, "input 'input' has rank %d; it must be [batch, channels, length]", x->rank);
  if (w->rank != RANK_UNKNOWN && w->rank != 3) return ERROR(INVALID_ARGUMENT, "input 'weight' has rank %d; it must be [channels, 1, taps]", w->rank);
  if (x->rank == RANK_UNKNOWN) return OK;
  if (c->out[0]) fact_copy_shape(c->out[0], x);
  dim taps = w->rank == RANK_UNKNOWN ? DIM_UNKNOWN : w->dims[2];
  if (c->out_count > 1 && c->out[1]) fact_set_shape(c->out[1], 3, (dim[]){x->dims[0], x->dims[1], dim_known(taps) ? taps - 1 : DIM_UNKNOWN});
  return OK;
}

static status causal_run(kernel_ctx *k) {
  tensor copies[4], *y, *state_out = NULL, y_copy, state_copy, *y_work, *state_work;
  const tensor *in[4] = {NULL};
  for (int i = 0; i < 4 && i < k->in_count; ++i) TRY(float_input(k, i, &copies[i], &in[i]));
  const tensor *x = in[0], *w = in[1], *bias = in[2], *past = in[3];
  int64_t batch = x->dims[0], channels = x->dims[1], length = x->dims[2], taps = w->dims[2], before = taps - 1;
  bool silu = strcmp(attr_string_or(k->node, "activation", "none").data, "none") != 0;
  if (taps < 1 || w->dims[0] != channels || w->dims[1] != 1)
    return ERROR(INVALID_ARGUMENT, "input 'weight' must be [%lld, 1, taps]", (long long)channels);
  if (bias && bias->count != channels)
    return ERROR(INVALID_ARGUMENT, "input 'bias' has %lld elements for %lld channels", (long long)bias->count, (long long)channels);
  if (past && past->count != batch * channels * before)
    return ERROR(INVALID_ARGUMENT, "input 'past_state' must be [%lld, %lld, %lld]", (long long)batch, (long long)channels, (long long)before);
  TRY(kernel_output(k, 0, 3, x->dims, &y));
  if (k->out_count > 1 && kernel_wants(k, 1)) TRY(kernel_output(k, 1, 3, (int64_t[]){batch, channels, before}, &state_out));
  if (!y) return OK;
  TRY(float_output(k, y, &y_copy, &y_work));
  TRY(float_output(k, state_out, &state_copy, &state_work));
  void *memory;
  TRY(kernel_scratch(k, (size_t)(before + length) * sizeof(float) + 64, &memory));
  float *line = memory;
  for (int64_t i = 0; i < batch * channels; ++i) {
    const float *weights = (const float *)w->data + i % channels * taps;
    memset(line, 0, (size_t)before * sizeof *line);
    if (past && before) memcpy(line, (const float *)past->data + i * before, (size_t)before * sizeof *line);
    if (length) memcpy(line + before, (const float *)x->data + i * length, (size_t)length * sizeof *line);
    for (int64_t t = 0; t < length; ++t) {
      float sum = bias ? ((const float *)bias->data)[i % channels] : 0;
      for (int64_t tap = 0; tap < taps; ++tap) sum += weights[tap] * line[t + tap];
      ((float *)y_work->data)[i * length + t] = silu ? sum / (1 + expf(-sum)) : sum;
    }
    if (state_work && before) memcpy((float *)state_work->data + i * before, line + length, (size_t)before * sizeof *line);
  }
  float_finish(y, y_work);
  if (state_out) float_finish(state_out, state_work);
  return OK;
}

OP_FAMILY(linear_attention) = {
  {.name = "LinearAttention", .since = 27, .signature = "query:T key:T value:T past_state:T1? decay:T? beta:T? -> output:T present_state:T1?",
   .T = TS(FLOAT) | TS_HALF,
   .T1 = TS(FLOAT) | TS_HALF, .infer = linear_infer, .run = linear_run},
  {.name = "CausalConvWithState", .since = 27, .signature = "input:T weight:T bias:T? past_state:T? -> output:T present_state:T?",
   .T = TS(FLOAT) | TS_HALF,
   .infer = causal_infer, .run = causal_run},
  {0}};
