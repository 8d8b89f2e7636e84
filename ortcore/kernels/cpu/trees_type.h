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

/* Several trees at once: each step waits for memory, and so the waits overlap. There is no jump that could be guessed wrong; a leaf stays where
 * it is. Small trees are quicker one by one. */
static void NAME(leaves)(const trees *t, const int32_t *roots, const T *x, const tree_node **out) {
  int32_t at[TOGETHER];
  memcpy(at, roots, sizeof at);
  for (int32_t walking = 1; walking;) {
    walking = 0;
    for (int j = 0; j < TOGETHER; ++j) {
      const tree_node *n = &t->nodes[at[j]];
      int32_t is_branch = -(int32_t)(n->mode != TREE_LEAF), is_yes = -(int32_t)(x[n->feature & is_branch] <= (T)n->threshold);
      int32_t next = n->no + ((n->yes - n->no) & is_yes);
      at[j] += (next - at[j]) & is_branch;
      walking |= is_branch;
    }
  }
  for (int j = 0; j < TOGETHER; ++j) out[j] = &t->nodes[at[j]];
}

static void NAME(add_leaf)(const trees *t, const tree_node *leaf, tree_aggregate how, T *scores, bool *seen) {
  for (int32_t i = 0; i < leaf->no; ++i) {
    const tree_weight *w = &t->weights[leaf->yes + i];
    T *score = &scores[w->target], value = WEIGHT(w);
    if (how == TREE_MIN) *score = !seen[w->target] || value < *score ? value : *score;
    else if (how == TREE_MAX) *score = !seen[w->target] || value > *score ? value : *score;
    else *score += value;
    seen[w->target] = true;
  }
}

void NAME(trees_score)(const trees *t, tree_aggregate how, const T *x, T *scores, bool *seen) {
  for (int64_t i = 0; i < t->targets; ++i) {
    scores[i] = 0;
    seen[i] = false;
  }
  int64_t r = 0;
  bool together = t->uniform && t->node_count >= DEEP * t->root_count && t->max_feature >= 0;
  for (; together && r + TOGETHER <= t->root_count; r += TOGETHER) {
    const tree_node *found[TOGETHER];
    NAME(leaves)(t, t->roots + r, x, found);
    for (int j = 0; j < TOGETHER; ++j) NAME(add_leaf)(t, found[j], how, scores, seen);
  }
  for (; r < t->root_count; ++r) NAME(add_leaf)(t, NAME(leaf)(t, t->roots[r], x), how, scores, seen);
  if (how == TREE_AVERAGE)
    for (int64_t i = 0; i < t->targets; ++i) scores[i] /= (T)t->root_count;
}

#undef T
#undef NAME
#undef WEIGHT
