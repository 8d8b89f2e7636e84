/* Attention: queries, keys and values as [batch, heads, length, size], or as [batch, length, heads * size] with the heads in attributes. */
#include <ortcore/base/half.h>
#include <ortcore/kernels/cpu/attention.h>
#include <ortcore/ops/op.h>
#include <math.h>
#include <string.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, VALID };

/* Sizes of one input of either form. */
typedef struct heads { dim batch, heads, length, size; } heads;

static status read_heads(const node *n, int rank, const dim *dims, const char *attribute, const char *input, heads *out) {
  if (rank == 4) {
    *out = (heads){dims[0], dims[1], dims[2], dims[3]};
    return OK;
  }
  int64_t count = attr_int_or(n, attribute, 0);
  if (rank != 3) return ERROR(INVALID_ARGUMENT, "input '%s' has rank %d; it must be 3 or 4", input, rank);
  if (count < 1) return ERROR(INVALID_ARGUMENT, "attribute '%s' is missing; inputs of rank 3 need it", attribute);
  if (dim_known(dims[2]) && dims[2] % count)
    return ERROR(INVALID_ARGUMENT, "the last dim of input '%s' is %lld, which %lld heads do not divide (attribute '%s')", input,
                 (long long)dims[2], (long long)count, attribute);
  *out = (heads){dims[0], count, dims[1], dim_known(dims[2]) ? dims[2] / count : DIM_UNKNOWN};
  return OK;
}

static const fact *fact_in(const infer_ctx *c, int i) { return i < c->in_count ? c->in[i] : NULL; }
static fact *fact_out(const infer_ctx *c, int i) { return i < c->out_count ? c->out[i] : NULL; }

static status attention_infer(infer_ctx *c) {
  heads q, k, v;
  for (int i = 0; i < 3; ++i)
    if (c->in[i]->rank == RANK_UNKNOWN) return OK;
  TRY(read_heads(c->node, c->in[Q]->rank, c->in[Q]->dims, "q_num_heads", "Q", &q));
  TRY(read_heads(c->node, c->in[K]->rank, c->in[K]->dims, "kv_num_heads", "K", &k));
  TRY(read_heads(c->node, c->in[V]->rank, c->in[V]->dims, "kv_num_heads", "V", &v));
  dim total = k.length;
  const fact *past = fact_in(c, PAST_KEY);
  if (past) total = past->rank == 4 ? dim_add(past->dims[2], k.length) : DIM_UNKNOWN;
  if (c->out[0] && c->in[Q]->rank == 4) fact_set_shape(c->out[0], 4, (dim[]){q.batch, q.heads, q.length, v.size});
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
  if ((c->in[Q]->type == ORTC_DOUBLE) != (c->in[V]->type == ORTC_DOUBLE))
    return ERROR(NOT_IMPLEMENTED, "'V' is of type %s and 'Q' of %s", dtype_name(c->in[V]->type), dtype_name(c->in[Q]->type));
  return OK;
}

/* ---- Running ------------------------------------------------------------------------------------------------------- */

static const tensor *input(const kernel_ctx *k, int i) { return i < k->in_count ? k->in[i] : NULL; }

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

static head_view view_of(int rank, const heads *h, void *data) {
  if (rank == 4) return (head_view){data, h->heads * h->length * h->size, h->length * h->size, h->size};
  return (head_view){data, h->heads * h->length * h->size, h->size, h->heads * h->size};
}

/* Past and new keys (or values) one after the other, as [batch, heads, length, size]: an output if it is wanted, else scratch. */
static status join(kernel_ctx *k, const tensor *past, const tensor *now, int out_index, const char *what, heads *h, tensor *joined) {
  size_t width = (size_t)tensor_width(now);
  int64_t before = past ? past->dims[2] : 0;
  if (past && (past->rank != 4 || past->dims[0] != h->batch || past->dims[1] != h->heads || past->dims[3] != h->size)) {
    char shape[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "input '%s' has shape %s; it must be [%lld,%lld,length,%lld]", what,
                 dims_format(shape, sizeof shape, past->rank, past->dims), (long long)h->batch,
                 (long long)h->heads, (long long)h->size);
  }
  tensor *out = NULL;
  bool wanted = out_index < k->out_count && kernel_wants(k, out_index);
  if (wanted) TRY(kernel_output(k, out_index, 4, (int64_t[]){h->batch, h->heads, before + h->length, h->size}, &out));
  if (!out && !past) return OK;
  if (out) *joined = *out;
  else {
    TRY(tensor_init(joined, now->type, 4, (int64_t[]){h->batch, h->heads, before + h->length, h->size}));
    TRY(kernel_scratch(k, tensor_bytes(joined) + 64, &joined->data));
  }
  head_view from = view_of(now->rank, h, now->data);
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
  TRY(join(k, input(k, past), t, out_index, what, h, &joined));
  if (joined.rank) t = &joined;
  void *data;
  TRY(widen(k, t, &data));
  *view = view_of(t->rank, h, data);
  return OK;
}

/* The mask broadcasts to [batch, heads, queries, keys], but for its last dim, which may be shorter. */
static status bind_mask(const tensor *m, attention *a) {
  int64_t wanted[3] = {a->batch, a->q_heads, a->q_len}, *strides[3] = {&a->mask_batch, &a->mask_head, &a->mask_row};
  char shape[DIMS_TEXT];
  if (!m) return OK;
  bool fits = m->rank >= 1 && m->rank <= 4 && m->dims[m->rank - 1] <= a->kv_len;
  int64_t stride = m->rank ? m->dims[m->rank - 1] : 1;
  for (int i = 2; fits && i >= 0; --i) {
    int own = m->rank - 4 + i;
    if (own < 0) continue;
    fits = m->dims[own] == 1 || m->dims[own] == wanted[i];
    if (m->dims[own] != 1) *strides[i] = stride;
    stride *= m->dims[own];
  }
  if (!fits)
    return ERROR(INVALID_ARGUMENT, "input 'attn_mask' has shape %s, which does not broadcast to [%lld,%lld,%lld,%lld]",
                 dims_format(shape, sizeof shape, m->rank, m->dims), (long long)a->batch,
                 (long long)a->q_heads, (long long)a->q_len, (long long)a->kv_len);
  a->mask = m;
  a->mask_len = m->dims[m->rank - 1];
  return OK;
}

static status bind_limits(const kernel_ctx *k, attention *a) {
  const tensor *past = input(k, PAST_KEY), *valid = input(k, VALID);
  a->left = attr_int_or(k->node, "left_window_size", -1), a->right = attr_int_or(k->node, "right_window_size", -1);
  if (a->left < -1 || a->right < -1)
    return ERROR(INVALID_ARGUMENT, "window sizes are %lld and %lld; they must be -1 (no limit) or more", (long long)a->left, (long long)a->right);
  if (attr_int_or(k->node, "is_causal", 0)) a->right = 0;
  a->offset = past ? past->dims[2] : 0;
  if (!valid) return OK;
  if (past) return ERROR(INVALID_ARGUMENT, "inputs 'past_key' and 'nonpad_kv_seqlen' exclude each other");
  if (valid->count != a->batch)
    return ERROR(INVALID_ARGUMENT, "input 'nonpad_kv_seqlen' has %lld elements for a batch of %lld", (long long)valid->count, (long long)a->batch);
  a->valid = valid->data;
  for (int64_t i = 0; i < a->batch; ++i)
    if (a->valid[i] < 0 || a->valid[i] > a->kv_len)
      return ERROR(INVALID_ARGUMENT, "input 'nonpad_kv_seqlen' holds %lld; there are %lld keys", (long long)a->valid[i], (long long)a->kv_len);
  return OK;
}

static status check_sizes(const heads *q, const heads *k, const heads *v) {
  if (q->batch != k->batch || k->batch != v->batch)
    return ERROR(INVALID_ARGUMENT, "'Q', 'K' and 'V' have batches of %lld, %lld and %lld", (long long)q->batch, (long long)k->batch,
                 (long long)v->batch);
  if (q->size != k->size) return ERROR(INVALID_ARGUMENT, "heads of 'Q' have size %lld, those of 'K' %lld", (long long)q->size, (long long)k->size);
  if (k->length != v->length || k->heads != v->heads)
    return ERROR(INVALID_ARGUMENT, "'K' has %lld heads of length %lld, 'V' %lld of %lld", (long long)k->heads, (long long)k->length,
                 (long long)v->heads, (long long)v->length);
  if (k->heads < 1 || q->heads % k->heads)
    return ERROR(INVALID_ARGUMENT, "%lld heads of 'Q' cannot share %lld heads of 'K'", (long long)q->heads, (long long)k->heads);
  return OK;
}

static status attention_op_run(kernel_ctx *k) {
  const tensor *tq = k->in[Q];
  heads q, key, v;
  attention a = {.type = tq->type == ORTC_DOUBLE ? ORTC_DOUBLE : ORTC_FLOAT, .mode = (scores_mode)attr_int_or(k->node, "qk_matmul_output_mode", 0)};
  TRY(read_heads(k->node, tq->rank, tq->dims, "q_num_heads", "Q", &q));
  TRY(read_heads(k->node, k->in[K]->rank, k->in[K]->dims, "kv_num_heads", "K", &key));
  TRY(read_heads(k->node, k->in[V]->rank, k->in[V]->dims, "kv_num_heads", "V", &v));
  TRY(check_sizes(&q, &key, &v));
  TRY(bind_cache(k, K, PAST_KEY, 1, "past_key", &key, &a.k));
  TRY(bind_cache(k, V, PAST_VALUE, 2, "past_value", &v, &a.v));
  if (key.length != v.length) return ERROR(INVALID_ARGUMENT, "inputs 'past_key' and 'past_value' differ in length, or one is missing");
  a.batch = q.batch, a.q_heads = q.heads, a.kv_heads = key.heads, a.q_len = q.length, a.kv_len = key.length, a.size = q.size, a.v_size = v.size;
  TRY(bind_limits(k, &a));
  TRY(bind_mask(input(k, MASK), &a));
  float scale = attr_float_or(k->node, "scale", 0);
  a.scale = attr_find(k->node, "scale") ? scale : 1 / sqrt((double)q.size);
  a.softcap = attr_float_or(k->node, "softcap", 0);
  tensor *y, *scores = NULL;
  void *memory;
  int64_t flat[3] = {q.batch, q.length, q.heads * v.size}, deep[4] = {q.batch, q.heads, q.length, v.size};
  TRY(kernel_output(k, 0, tq->rank, tq->rank == 4 ? deep : flat, &y));
  if (k->out_count > 3 && kernel_wants(k, 3)) TRY(kernel_output(k, 3, 4, (int64_t[]){a.batch, a.q_heads, a.q_len, a.kv_len}, &scores));
  if (scores) TRY(work_memory(k, scores, &a.scores));
  if (!y || y->count == 0) return OK;
  heads result = {q.batch, q.heads, q.length, v.size};
  TRY(widen(k, tq, &a.q.data));
  a.q = view_of(tq->rank, &q, a.q.data);
  TRY(work_memory(k, y, &memory));
  a.y = view_of(tq->rank, &result, memory);
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
