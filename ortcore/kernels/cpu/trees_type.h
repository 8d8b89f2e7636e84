/* Scoring for one type. Before inclusion: T, NAME(f), WEIGHT(w). Thresholds are compared in T, as they were learnt. */

static bool NAME(ask)(const trees *t, const tree_node *n, T x) {
  T threshold = (T)n->threshold;
  if (x != x) return n->missing_is_yes;
  switch (n->mode) {
    case TREE_LEQ: return x <= threshold;
    case TREE_LT: return x < threshold;
    case TREE_GTE: return x >= threshold;
    case TREE_GT: return x > threshold;
    case TREE_EQ: return x == threshold;
    case TREE_NEQ: return x != threshold;
    default:
      for (int32_t i = 0; i < n->member_count; ++i)
        if (x == (T)t->members[n->member_first + i]) return true;
      return false;
  }
}

static const tree_node *NAME(leaf)(const trees *t, int32_t root, const T *x) {
  const tree_node *n = &t->nodes[root];
  if (t->uniform)
    while (n->mode != TREE_LEAF) n = &t->nodes[x[n->feature] <= (T)n->threshold ? n->yes : n->no];
  else
    while (n->mode != TREE_LEAF) n = &t->nodes[NAME(ask)(t, n, x[n->feature]) ? n->yes : n->no];
  return n;
}

void NAME(trees_score)(const trees *t, tree_aggregate how, const T *x, T *scores, bool *seen) {
  for (int64_t i = 0; i < t->targets; ++i) {
    scores[i] = 0;
    seen[i] = false;
  }
  for (int64_t r = 0; r < t->root_count; ++r) {
    const tree_node *leaf = NAME(leaf)(t, t->roots[r], x);
    for (int32_t i = 0; i < leaf->no; ++i) {
      const tree_weight *w = &t->weights[leaf->yes + i];
      T *score = &scores[w->target], value = WEIGHT(w);
      if (how == TREE_MIN) *score = !seen[w->target] || value < *score ? value : *score;
      else if (how == TREE_MAX) *score = !seen[w->target] || value > *score ? value : *score;
      else *score += value;
      seen[w->target] = true;
    }
  }
  if (how == TREE_AVERAGE)
    for (int64_t i = 0; i < t->targets; ++i) scores[i] /= (T)t->root_count;
}

#undef T
#undef NAME
#undef WEIGHT
