/* Attention: queries, keys and values as [batch, heads, length, size], or as [batch, length, heads * size] with the heads in attributes. */
#include <ortcore/base/half.h>
#include <ortcore/kernels/cpu/attention.h>
#include <ortcore/ops/params/attention.h>
#include <string.h>

static const fact *fact_in(const infer_ctx *c, int i) { return i < c->in_count ? c->in[i] : NULL; }
static fact *fact_out(const infer_ctx *c, int i) { return i < c->out_count ? c->out[i] : NULL; }

static status attention_infer(infer_ctx *c) {
  heads q, k, v;
  for (int i = 0; i < 3; ++i)
    if (c->in[i]->rank == RANK_UNKNOWN) return OK;
  TRY(attention_heads(c->node, c->in[ATTENTION_Q]->rank, c->in[ATTENTION_Q]->dims, "q_num_heads", "Q", &q));
  TRY(attention_heads(c->node, c->in[ATTENTION_K]->rank, c->in[ATTENTION_K]->dims, "kv_num_heads", "K", &k));
  TRY(attention_heads(c->node, c->in[ATTENTION_V]->rank, c->in[ATTENTION_V]->dims, "kv_num_heads", "V", &v));
  dim total = k.length;
  const fact *past = fact_in(c, ATTENTION_PAST_KEY);
  if (past) total = past->rank == 4 ? dim_add(past->dims[2], k.length) : DIM_UNKNOWN;
  if (c->out[0] && c->in[ATTENTION_Q]->rank == 4) fact_set_shape(c->out[0], 4, (dim[]){q.batch, q.heads, q.length, v.size});
  else if (c->out[0]) fact_set_shape(c->out[0], 3, (dim[]){q.batch, q.length, dim_mul(q.heads, v.size)});
  if (fact_out(c, 1)) fact_set_shape(c->out[1], 4, (dim[]){k.batch, k.heads, total, k.size});
  if (fact_out(c, 2)) fact_set_shape(c->out[2], 4, (dim[]){v.batch, v.heads, total, v.size});
  if (fact_out(c, 3)) fact_set_shape(c->out[3], 4, (dim[]){q.batch, q.heads, q.length, total});
  return OK;
}

static status attention_prepare(prepare_ctx *c, void **out_params) {
  int64_t mode = attr_int_or(c->node, "qk_matmul_output_mode", 0);
  *out_params = NULL;
  if (mode < 0 || mode > 3) return ERROR(INVALID_ARGUMENT, "attribute 'qk_matmul_output_mode' is %lld; it must be 0 to 3", (long long)mode);
  if ((c->in[ATTENTION_Q]->type == ORTC_DOUBLE) != (c->in[ATTENTION_V]->type == ORTC_DOUBLE))
    return ERROR(NOT_IMPLEMENTED, "'V' is of type %s and 'Q' of %s", dtype_name(c->in[ATTENTION_V]->type), dtype_name(c->in[ATTENTION_Q]->type));
  return OK;
}

/* ---- Running ------------------------------------------------------------------------------------------------------- */

/* The tensor in the type that is computed in: itself, or a copy of halves as floats. */
static status widen(kernel_ctx *k, const tensor *t, void **out) {
  *out = t->data;
  if (t->type == ORTC_FLOAT || t->type == ORTC_DOUBLE) return OK;
  TRY(kernel_scratch(k, (size_t)t->count * sizeof(float) + 64, out));
  if (t->type == ORTC_FLOAT16) f16_to_f32_n(t->data, *out, (size_t)t->count);
  else bf16_to_f32_n(t->data, *out, (size_t)t->count);
  return OK;
}

static void narrow(const float *from, tensor *to) {
  if (to->type == ORTC_FLOAT16) f32_to_f16_n(from, to->data, (size_t)to->count);
  else f32_to_bf16_n(from, to->data, (size_t)to->count);
}

/* Where an output is computed: itself, or floats that `narrow` rounds into it later. */
static status work_memory(kernel_ctx *k, const tensor *out, void **work) {
  *work = out->data;
  if (out->type == ORTC_FLOAT || out->type == ORTC_DOUBLE) return OK;
  return kernel_scratch(k, (size_t)out->count * sizeof(float) + 64, work);
}

/* Past and new keys (or values) one after the other, as [batch, heads, length, size]: an output if it is wanted, else scratch. */
static status join(kernel_ctx *k, const tensor *past, const tensor *now, int out_index, const char *what, heads *h, tensor *joined) {
  size_t width = (size_t)tensor_width(now);
  int64_t before = past ? past->dims[2] : 0;
  TRY(attention_check_past(past, what, h));
  tensor *out = NULL;
  bool wanted = out_index < k->out_count && kernel_wants(k, out_index);
  if (wanted) TRY(kernel_output(k, out_index, 4, (int64_t[]){h->batch, h->heads, before + h->length, h->size}, &out));
  if (!out && !past) return OK;
  if (out) *joined = *out;
  else {
    TRY(tensor_init(joined, now->type, 4, (int64_t[]){h->batch, h->heads, before + h->length, h->size}));
    TRY(kernel_scratch(k, tensor_bytes(joined) + 64, &joined->data));
  }
  head_view from = attention_view(now->rank, h, now->data);
  char *to = joined->data;
  for (int64_t b = 0; b < h->batch; ++b)
    for (int64_t i = 0; i < h->heads; ++i) {
      size_t old_bytes = (size_t)(before * h->size) * width;
      if (old_bytes) memcpy(to, (const char *)past->data + (size_t)(b * h->heads + i) * old_bytes, old_bytes);
      to += old_bytes;
      for (int64_t row = 0; row < h->length; ++row, to += (size_t)h->size * width)
        memcpy(to, (const char *)from.data + (size_t)(b * from.batch + i * from.head + row * from.row) * width, (size_t)h->size * width);
    }
  h->length += before;
  return OK;
}

static status bind_cache(kernel_ctx *k, int index, int past, int out_index, const char *what, heads *h, head_view *view) {
  tensor joined = {0};
  const tensor *t = k->in[index];
  TRY(join(k, attention_in(k, past), t, out_index, what, h, &joined));
  if (joined.rank) t = &joined;
  void *data;
  TRY(widen(k, t, &data));
  *view = attention_view(t->rank, h, data);
  return OK;
}

static status check_valid(const attention *a) {
  for (int64_t i = 0; a->valid && i < a->batch; ++i)
    if (a->valid[i] < 0 || a->valid[i] > a->kv_len)
      return ERROR(INVALID_ARGUMENT, "input 'nonpad_kv_seqlen' holds %lld; there are %lld keys", (long long)a->valid[i], (long long)a->kv_len);
  return OK;
}

static status attention_op_run(kernel_ctx *k) {
  const tensor *tq = k->in[ATTENTION_Q];
  heads q, key, v;
  attention a = {.type = tq->type == ORTC_DOUBLE ? ORTC_DOUBLE : ORTC_FLOAT};
  TRY(attention_sizes(k, &q, &key, &v));
  TRY(bind_cache(k, ATTENTION_K, ATTENTION_PAST_KEY, 1, "past_key", &key, &a.k));
  TRY(bind_cache(k, ATTENTION_V, ATTENTION_PAST_VALUE, 2, "past_value", &v, &a.v));
  TRY(attention_describe(k, &q, &key, &v, &a));
  TRY(check_valid(&a));
  tensor *y, *scores = NULL;
  void *memory;
  int64_t flat[3] = {q.batch, q.length, q.heads * v.size}, deep[4] = {q.batch, q.heads, q.length, v.size};
  TRY(kernel_output(k, 0, tq->rank, tq->rank == 4 ? deep : flat, &y));
  if (k->out_count > 3 && kernel_wants(k, 3)) TRY(kernel_output(k, 3, 4, (int64_t[]){a.batch, a.q_heads, a.q_len, a.kv_len}, &scores));
  if (scores) TRY(work_memory(k, scores, &a.scores));
  if (!y || y->count == 0) return OK;
  heads result = {q.batch, q.heads, q.length, v.size};
  TRY(widen(k, tq, &a.q.data));
  a.q = attention_view(tq->rank, &q, a.q.data);
  TRY(work_memory(k, y, &memory));
  a.y = attention_view(tq->rank, &result, memory);
  TRY(kernel_scratch(k, attention_scratch_bytes(&a, k->threads) + 64, &memory));
  attention_run(&a, k->threads, memory);
  if (a.y.data != y->data) narrow(a.y.data, y);
  if (scores && a.scores != scores->data) narrow(a.scores, scores);
  return OK;
}

#define ATTENTION(version, more) \
  {.name = "Attention", .since = version, .T1 = TS_FLOAT, .T2 = TS_FLOAT, .T3 = TS_NUMERIC | TS(BOOL), .infer = attention_infer, \
   .prepare = attention_prepare, .run = attention_op_run, \
   .signature = "Q:T1 K:T1 V:T2 attn_mask:T3? past_key:T1? past_value:T2? " more "-> Y:T1 present_key:T1? present_value:T2? qk_matmul_output:T1?"}

OP_FAMILY(attention) = {ATTENTION(23, ""), ATTENTION(24, "nonpad_kv_seqlen:i64? "), {0}};
