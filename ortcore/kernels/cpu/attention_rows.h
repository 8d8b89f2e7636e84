/* One row of scores: T, TANH and NAME defined by the includer. Leaves probabilities, zeros where nothing is seen. */
static void NAME(row)(const attention *a, int64_t b, int64_t h, int64_t i, T *restrict s, softmax_fn softmax) {
  int64_t place = i + (a->valid ? a->valid[b] - a->q_len : a->offset), first = 0, end = a->kv_len;
  if (a->valid && a->valid[b] < end) end = a->valid[b];
  if (a->right >= 0 && place + a->right + 1 < end) end = place + a->right + 1;
  if (a->left >= 0 && place - a->left > first) first = place - a->left;
  if (a->mask && a->mask_len < end) end = a->mask_len;
  if (end < first) end = first = 0;
  for (int64_t j = 0; j < a->kv_len; ++j) s[j] *= (T)a->scale;
  T *out = a->scores ? (T *)a->scores + ((b * a->q_heads + h) * a->q_len + i) * a->kv_len : NULL;
  if (out && a->mode == SCORES_RAW) memcpy(out, s, (size_t)a->kv_len * sizeof *s);
  if (a->softcap > 0) for (int64_t j = 0; j < a->kv_len; ++j) s[j] = TANH(s[j] / (T)a->softcap) * (T)a->softcap;
  if (out && a->mode == SCORES_CAPPED) memcpy(out, s, (size_t)a->kv_len * sizeof *s);
  for (int64_t j = 0; j < first; ++j) s[j] = -INFINITY;
  for (int64_t j = end; j < a->kv_len; ++j) s[j] = -INFINITY;
  bool sees = !a->mask && end > first;
  for (int64_t j = first; a->mask && j < end; ++j) {
    double bias = mask_at(a->mask, b * a->mask_batch + h * a->mask_head + i * a->mask_row + j);
    s[j] = bias == -INFINITY ? -INFINITY : s[j] + (T)bias;
    sees = sees || bias != -INFINITY;
  }
  if (out && a->mode == SCORES_BIASED) memcpy(out, s, (size_t)a->kv_len * sizeof *s);
  if (sees) {
    softmax(SOFTMAX_PLAIN, s + first, s + first, 0, 1, end - first, 1);
    memset(s, 0, (size_t)first * sizeof *s);
    memset(s + end, 0, (size_t)(a->kv_len - end) * sizeof *s);
  } else {
    memset(s, 0, (size_t)a->kv_len * sizeof *s);
  }
  if (out && a->mode == SCORES_SOFTMAX) memcpy(out, s, (size_t)a->kv_len * sizeof *s);
}

#undef T
#undef TANH
#undef NAME
