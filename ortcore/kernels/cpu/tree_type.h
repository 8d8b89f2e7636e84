/* Walking trees for one type. Before inclusion: T, NAME(f). */

static inline bool NAME(in_set)(const double *set, T x) {
  for (; *set == *set; ++set)
    if ((T)*set == x) return true;
  return false;
}

static inline bool NAME(decide)(const forest *f, const NAME(tree_node) *n, T x) {
  if (x != x && (n->what >> 3 & 1)) return true;
  switch (n->what & 7) {
    case TREE_LEQ: return x <= n->value;
    case TREE_LT: return x < n->value;
    case TREE_GTE: return x >= n->value;
    case TREE_GT: return x > n->value;
    case TREE_EQ: return x == n->value;
    case TREE_NEQ: return x != n->value;
    default: return NAME(in_set)(f->sets + n->set, x);
  }
}

static const NAME(tree_node) *NAME(leaf_of)(const forest *f, int32_t root, const T *x) {
  const NAME(tree_node) *nodes = f->nodes, *n = nodes + root;
  if (f->plain)
    while ((n->what & 7) != TREE_LEAF) n = x[n->what >> 4] <= n->value ? n + 1 : nodes + n->other;
  else
    while ((n->what & 7) != TREE_LEAF) n = NAME(decide)(f, n, x[n->what >> 4]) ? n + 1 : nodes + n->other;
  return n;
}

/* The leaves of several rows in one tree: their walks do not depend on each other, so the loads of one hide behind those of the others. */
static void NAME(leaves_of)(const forest *f, int32_t root, const T *x, int64_t width, const NAME(tree_node) **leaves) {
  const NAME(tree_node) *nodes = f->nodes;
  for (int r = 0; r < ROWS_AT_ONCE; ++r) leaves[r] = nodes + root;
  for (bool walking = f->plain; walking;) {
    walking = false;
    for (int r = 0; r < ROWS_AT_ONCE; ++r) {
      const NAME(tree_node) *n = leaves[r];
      bool inner = (n->what & 7) != TREE_LEAF;
      T value = x[r * width + (inner ? n->what >> 4 : 0)];
      const NAME(tree_node) *next = value <= n->value ? n + 1 : nodes + n->other;
      leaves[r] = inner ? next : n;
      walking |= inner;
    }
  }
  if (!f->plain)
    for (int r = 0; r < ROWS_AT_ONCE; ++r) leaves[r] = NAME(leaf_of)(f, root, x + r * width);
}

static void NAME(collect)(const forest *f, const NAME(tree_node) *leaf, double *scores, uint8_t *hit) {
  for (const tree_weight *w = f->weights + leaf->other, *end = w + leaf->count; w < end; ++w) {
    double *s = scores + w->target;
    if (!hit[w->target]) *s = w->value;
    else if (f->aggregate == TREE_MIN) *s = w->value < *s ? w->value : *s;
    else if (f->aggregate == TREE_MAX) *s = w->value > *s ? w->value : *s;
    else *s += w->value;
    hit[w->target] = 1;
  }
}

void NAME(forest_run)(const forest *f, const T *x, int64_t rows, int64_t width, double *scores, uint8_t *hit) {
  memset(scores, 0, (size_t)(rows * f->targets) * sizeof *scores);
  memset(hit, 0, (size_t)(rows * f->targets));
  int64_t row = 0;
  for (; row + ROWS_AT_ONCE <= rows; row += ROWS_AT_ONCE)
    for (int64_t t = 0; t < f->tree_count; ++t) {
      const NAME(tree_node) *leaves[ROWS_AT_ONCE];
      NAME(leaves_of)(f, f->roots[t], x + row * width, width, leaves);
      for (int r = 0; r < ROWS_AT_ONCE; ++r) NAME(collect)(f, leaves[r], scores + (row + r) * f->targets, hit + (row + r) * f->targets);
    }
  for (; row < rows; ++row)
    for (int64_t t = 0; t < f->tree_count; ++t) NAME(collect)(f, NAME(leaf_of)(f, f->roots[t], x + row * width), scores + row * f->targets, hit + row * f->targets);
  if (f->aggregate == TREE_AVERAGE)
    for (int64_t i = 0; i < rows * f->targets; ++i) scores[i] /= (double)f->tree_count;
}
