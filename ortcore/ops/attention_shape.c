/* Sizes, places and limits of attention, which every device finds alike. */
#include <ortcore/ops/params/attention.h>

#include <math.h>

status attention_heads(const node *n, int rank, const dim *dims, const char *attribute, const char *input, heads *out) {
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

status attention_sizes(const kernel_ctx *k, heads *q, heads *key, heads *v) {
  const tensor *tq = k->in[ATTENTION_Q], *tk = k->in[ATTENTION_K], *tv = k->in[ATTENTION_V];
  TRY(attention_heads(k->node, tq->rank, tq->dims, "q_num_heads", "Q", q));
  TRY(attention_heads(k->node, tk->rank, tk->dims, "kv_num_heads", "K", key));
  TRY(attention_heads(k->node, tv->rank, tv->dims, "kv_num_heads", "V", v));
  return check_sizes(q, key, v);
}

head_view attention_view(int rank, const heads *h, void *data) {
  if (rank == 4) return (head_view){data, h->heads * h->length * h->size, h->length * h->size, h->size};
  return (head_view){data, h->heads * h->length * h->size, h->size, h->heads * h->size};
}

status attention_check_past(const tensor *past, const char *name, const heads *h) {
  char shape[DIMS_TEXT];
  if (!past || (past->rank == 4 && past->dims[0] == h->batch && past->dims[1] == h->heads && past->dims[3] == h->size)) return OK;
  return ERROR(INVALID_ARGUMENT, "input '%s' has shape %s; it must be [%lld,%lld,length,%lld]", name,
               dims_format(shape, sizeof shape, past->rank, past->dims),
               (long long)h->batch, (long long)h->heads, (long long)h->size);
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
  const tensor *past = attention_in(k, ATTENTION_PAST_KEY), *valid = attention_in(k, ATTENTION_VALID);
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
  return OK;
}

status attention_describe(const kernel_ctx *k, const heads *q, const heads *key, const heads *v, attention *a) {
  if (key->length != v->length) return ERROR(INVALID_ARGUMENT, "inputs 'past_key' and 'past_value' differ in length, or one is missing");
  a->batch = q->batch, a->q_heads = q->heads, a->kv_heads = key->heads, a->q_len = q->length, a->kv_len = key->length, a->size = q->size, a->v_size = v->size;
  a->mode = (scores_mode)attr_int_or(k->node, "qk_matmul_output_mode", 0);
  a->softcap = attr_float_or(k->node, "softcap", 0);
  a->scale = attr_find(k->node, "scale") ? attr_float_or(k->node, "scale", 0) : 1 / sqrt((double)q->size);
  TRY(bind_limits(k, a));
  return bind_mask(attention_in(k, ATTENTION_MASK), a);
}
