#include <math.h>
#include <ortcore/base/half.h>
#include <ortcore/ops/ml_tree_read.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Packing: depth first, the true side next to its parent ------------------------------------------------------------------------------ */

typedef struct packing { const tree_source *source; forest *f; zone *memory; void *nodes; int32_t *stack, *waiting; bool *seen; int32_t used; } packing;

static status pack_node(packing *p, int64_t i) {
  const tree_source *s = p->source;
  tree_mode mode = (tree_mode)s->modes[i];
  bool leaf = mode == TREE_LEAF, missing = !leaf && s->missing_true && s->missing_true[i];
  int64_t feature = leaf ? 0 : s->features[i];
  if (feature < 0 || feature > TREE_FEATURE_MAX) return ERROR(INVALID_ARGUMENT, "node %lld tests feature %lld, which is out of range", (long long)i, (long long)feature);
  if (!leaf && feature + 1 > p->f->features) p->f->features = feature + 1;
  if (!leaf && (mode != TREE_LEQ || missing)) p->f->plain = false;
  uint32_t what = (uint32_t)feature << 4 | (uint32_t)missing << 3 | mode;
  int32_t other = leaf ? (int32_t)s->weight_first[i] : -1, extra = leaf ? (int32_t)s->weight_count[i] : mode == TREE_MEMBER ? (int32_t)s->set_first[i] : 0;
  double value = leaf ? 0 : s->values[i];
  if (p->f->type == ORTC_DOUBLE) ((tree_node_f64 *)p->nodes)[p->used++] = (tree_node_f64){value, what, other, {extra}};
  else ((tree_node_f32 *)p->nodes)[p->used++] = (tree_node_f32){(float)value, what, other, {extra}};
  return OK;
}

static void set_false_child(packing *p, int32_t parent, int32_t child) {
  if (p->f->type == ORTC_DOUBLE) ((tree_node_f64 *)p->nodes)[parent].other = child;
  else ((tree_node_f32 *)p->nodes)[parent].other = child;
}

/* `waiting` holds the packed parents whose false side comes next; `stack` the source index of that side. */
static status pack_tree(packing *p, int64_t root, int64_t capacity) {
  const tree_source *s = p->source;
  int64_t depth = 0, i = root;
  for (;;) {
    bool leaf = s->modes[i] == TREE_LEAF;
    if (p->used >= capacity || (!leaf && p->seen[i])) return ERROR(INVALID_ARGUMENT, "node %lld is reached twice: the nodes must form trees", (long long)i);
    p->seen[i] = true;
    TRY(pack_node(p, i));
    if (!leaf) {
      p->stack[depth] = (int32_t)s->false_child[i];
      p->waiting[depth++] = p->used - 1;
      i = s->true_child[i];
      continue;
    }
    if (!depth) return OK;
    i = p->stack[--depth];
    set_false_child(p, p->waiting[depth], p->used);
  }
}

status forest_pack(zone *memory, const tree_source *s, forest *f) {
  /* A tree has one leaf more than inner nodes, whatever leaves they share. */
  int64_t inner = 0;
  for (int64_t i = 0; i < s->node_count; ++i) inner += s->modes[i] != TREE_LEAF;
  int64_t capacity = 2 * inner + s->root_count;
  if (capacity > INT32_MAX / 2) return ERROR(NOT_IMPLEMENTED, "the ensemble has %lld nodes, which are too many", (long long)s->node_count);
  size_t width = f->type == ORTC_DOUBLE ? sizeof(tree_node_f64) : sizeof(tree_node_f32);
  int32_t *roots = ZONE_ARRAY(memory, s->root_count, int32_t);
  packing p = {.source = s, .f = f, .memory = memory, .nodes = zone_alloc_array(memory, (size_t)capacity, width), .stack = ZONE_ARRAY(memory, inner + 1, int32_t),
               .waiting = ZONE_ARRAY(memory, inner + 1, int32_t), .seen = ZONE_ARRAY(memory, s->node_count, bool)};
  if (!roots || !p.nodes || !p.stack || !p.waiting || !p.seen) return status_out_of_memory();
  f->plain = true;
  f->tree_count = s->root_count;
  f->roots = roots;
  f->nodes = p.nodes;
  for (int64_t t = 0; t < s->root_count; ++t) {
    roots[t] = p.used;
    TRY(pack_tree(&p, s->roots[t], capacity));
  }
  return OK;
}

/* ---- Attributes ------------------------------------------------------------------------------------------------------------------------ */

static status tensor_doubles(prepare_ctx *c, const char *name, const tensor *t, int64_t *out_count, const double **out) {
  double *values = ZONE_ARRAY(c->memory, t->count, double);
  if (!values) return status_out_of_memory();
  for (int64_t i = 0; i < t->count; ++i) {
    if (t->type == ORTC_DOUBLE) memcpy(&values[i], (const char *)t->data + i * 8, 8);
    else if (t->type == ORTC_FLOAT) values[i] = bits_float(((const uint32_t *)t->data)[i]);
    else if (t->type == ORTC_FLOAT16) values[i] = f16_to_f32(((const f16 *)t->data)[i]);
    else return ERROR(INVALID_ARGUMENT, "attribute '%s' is a tensor of %s, expected float, double or float16", name, dtype_name(t->type));
  }
  *out_count = t->count;
  *out = values;
  return OK;
}

status tree_floats(prepare_ctx *c, const char *name, int64_t *out_count, const double **out) {
  char as_tensor[64];
  strcat(strcpy(as_tensor, name), "_as_tensor");
  const tensor *t = attr_tensor(c->node, as_tensor);
  *out = NULL;
  *out_count = 0;
  if (t) return tensor_doubles(c, as_tensor, t, out_count, out);
  const float *floats = attr_floats(c->node, name, out_count);
  if (!*out_count) return OK;
  double *values = ZONE_ARRAY(c->memory, *out_count, double);
  if (!values) return status_out_of_memory();
  for (int64_t i = 0; i < *out_count; ++i) values[i] = floats[i];
  *out = values;
  return OK;
}

/* A list of integers that must have `count` elements. */
static status ints_of(const node *n, const char *name, int64_t count, const int64_t **out) {
  int64_t given;
  *out = attr_ints(n, name, &given);
  if (given != count) return ERROR(INVALID_ARGUMENT, "attribute '%s' has %lld elements, expected %lld", name, (long long)given, (long long)count);
  return OK;
}

static const char *const mode_names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};

static status read_modes(prepare_ctx *c, int64_t count, const uint8_t **out) {
  int64_t given;
  const text *names = attr_strings(c->node, "nodes_modes", &given);
  if (given != count) return ERROR(INVALID_ARGUMENT, "attribute 'nodes_modes' has %lld elements, expected %lld", (long long)given, (long long)count);
  uint8_t *modes = ZONE_ARRAY(c->memory, count, uint8_t);
  if (!modes) return status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) {
    int m = 0;
    while (m < 8 && (m == TREE_MEMBER || strcmp(names[i].data, mode_names[m]))) ++m;
    if (m == 8) return ERROR(INVALID_ARGUMENT, "attribute 'nodes_modes' has '%s' at %lld, expected LEAF or BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ", names[i].data, (long long)i);
    modes[i] = (uint8_t)m;
  }
  *out = modes;
  return OK;
}

/* ---- Nodes with identifiers (versions 1 and 3) ------------------------------------------------------------------------------------------ */

typedef struct tree_key { int64_t tree, node, index; } tree_key;

static int compare_keys(const void *a, const void *b) {
  const tree_key *x = a, *y = b;
  return x->tree != y->tree ? (x->tree < y->tree ? -1 : 1) : x->node != y->node ? (x->node < y->node ? -1 : 1) : 0;
}

static int64_t find_node(const tree_key *keys, int64_t count, int64_t tree, int64_t node) {
  const tree_key *found = bsearch(&(tree_key){tree, node, 0}, keys, (size_t)count, sizeof *keys, compare_keys);
  return found ? found->index : -1;
}

static status find_children(const tree_key *keys, int64_t count, const int64_t *trees, const int64_t *ids, const uint8_t *modes, const char *name, int64_t *children) {
  for (int64_t i = 0; i < count; ++i) {
    if (modes[i] == TREE_LEAF) continue;
    children[i] = find_node(keys, count, trees[i], ids[i]);
    if (children[i] < 0) return ERROR(INVALID_ARGUMENT, "attribute '%s' has %lld at %lld, but tree %lld has no such node", name, (long long)ids[i], (long long)i, (long long)trees[i]);
  }
  return OK;
}

typedef struct leaf_weight { int64_t leaf, order; tree_weight weight; } leaf_weight;

static int compare_weights(const void *a, const void *b) {
  const leaf_weight *x = a, *y = b;
  return x->leaf != y->leaf ? (x->leaf < y->leaf ? -1 : 1) : x->order < y->order ? -1 : x->order > y->order;
}

/* Brings the weights of each leaf together, in the order in which they were given. */
static status read_weights(prepare_ctx *c, const char *prefix, const tree_key *keys, int64_t node_count, const uint8_t *modes, int64_t *first, int64_t *counts, forest *f) {
  char names[4][64];
  static const char *const suffixes[] = {"treeids", "nodeids", "ids", "weights"};
  for (int i = 0; i < 4; ++i) snprintf(names[i], sizeof names[i], "%s_%s", prefix, suffixes[i]);
  const int64_t *trees, *nodes, *targets;
  const double *values;
  int64_t count, value_count;
  trees = attr_ints(c->node, names[0], &count);
  TRY(ints_of(c->node, names[1], count, &nodes));
  TRY(ints_of(c->node, names[2], count, &targets));
  TRY(tree_floats(c, names[3], &value_count, &values));
  if (value_count != count) return ERROR(INVALID_ARGUMENT, "attribute '%s' has %lld elements, but '%s' has %lld", names[3], (long long)value_count, names[0], (long long)count);
  leaf_weight *sorted = ZONE_ARRAY(c->memory, count, leaf_weight);
  tree_weight *weights = ZONE_ARRAY(c->memory, count, tree_weight);
  if (!sorted || !weights) return status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) {
    int64_t leaf = find_node(keys, node_count, trees[i], nodes[i]);
    if (leaf < 0 || modes[leaf] != TREE_LEAF) return ERROR(INVALID_ARGUMENT, "'%s' and '%s' name node %lld of tree %lld, which is no leaf", names[0], names[1], (long long)nodes[i], (long long)trees[i]);
    if (targets[i] < 0 || targets[i] >= f->targets) return ERROR(INVALID_ARGUMENT, "attribute '%s' has %lld at %lld, expected 0 to %lld", names[2], (long long)targets[i], (long long)i, (long long)f->targets - 1);
    sorted[i] = (leaf_weight){leaf, i, {(int32_t)targets[i], values[i]}};
  }
  qsort(sorted, (size_t)count, sizeof *sorted, compare_weights);
  for (int64_t i = 0; i < count; ++i) {
    if (!counts[sorted[i].leaf]++) first[sorted[i].leaf] = i;
    weights[i] = sorted[i].weight;
  }
  f->weights = weights;
  return OK;
}

/* A tree's root is the node that nobody has as a child; trees come in the order of their first nodes. */
static status find_roots(zone *memory, tree_source *s, const int64_t *trees) {
  bool *child = ZONE_ARRAY(memory, s->node_count, bool);
  int64_t *roots = ZONE_ARRAY(memory, s->node_count, int64_t);
  if (!child || !roots) return status_out_of_memory();
  for (int64_t i = 0; i < s->node_count; ++i)
    if (s->modes[i] != TREE_LEAF) child[s->true_child[i]] = child[s->false_child[i]] = true;
  for (int64_t i = 0; i < s->node_count; ++i) {
    if (child[i]) continue;
    if (s->root_count && trees[roots[s->root_count - 1]] == trees[i]) return ERROR(INVALID_ARGUMENT, "tree %lld has more than one root", (long long)trees[i]);
    roots[s->root_count++] = i;
  }
  s->roots = roots;
  return OK;
}

status forest_read_legacy(prepare_ctx *c, const char *prefix, forest *f) {
  tree_source s = {0};
  const int64_t *trees = attr_ints(c->node, "nodes_treeids", &s.node_count), *ids, *true_ids, *false_ids;
  int64_t count = s.node_count, value_count, missing_count;
  TRY(ints_of(c->node, "nodes_nodeids", count, &ids));
  TRY(ints_of(c->node, "nodes_featureids", count, &s.features));
  TRY(ints_of(c->node, "nodes_truenodeids", count, &true_ids));
  TRY(ints_of(c->node, "nodes_falsenodeids", count, &false_ids));
  TRY(read_modes(c, count, &s.modes));
  TRY(tree_floats(c, "nodes_values", &value_count, &s.values));
  if (value_count != count) return ERROR(INVALID_ARGUMENT, "attribute 'nodes_values' has %lld elements, expected %lld", (long long)value_count, (long long)count);
  s.missing_true = attr_ints(c->node, "nodes_missing_value_tracks_true", &missing_count);
  if (missing_count != count) s.missing_true = NULL;
  tree_key *keys = ZONE_ARRAY(c->memory, count, tree_key);
  int64_t *children = ZONE_ARRAY(c->memory, 2 * count, int64_t), *runs = ZONE_ARRAY(c->memory, 2 * count, int64_t);
  if (!keys || !children || !runs) return status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) keys[i] = (tree_key){trees[i], ids[i], i};
  qsort(keys, (size_t)count, sizeof *keys, compare_keys);
  for (int64_t i = 1; i < count; ++i)
    if (!compare_keys(&keys[i - 1], &keys[i])) return ERROR(INVALID_ARGUMENT, "tree %lld has two nodes %lld", (long long)keys[i].tree, (long long)keys[i].node);
  s.true_child = children;
  s.false_child = children + count;
  s.weight_first = runs;
  s.weight_count = runs + count;
  TRY(find_children(keys, count, trees, true_ids, s.modes, "nodes_truenodeids", children));
  TRY(find_children(keys, count, trees, false_ids, s.modes, "nodes_falsenodeids", children + count));
  TRY(read_weights(c, prefix, keys, count, s.modes, runs, runs + count, f));
  TRY(find_roots(c->memory, &s, trees));
  return forest_pack(c->memory, &s, f);
}

/* ---- Nodes and leaves apart (version 5) --------------------------------------------------------------------------------------------------- */

/* Values of MEMBER nodes, one set after another, each ended by NaN; the k-th such node has the k-th set. */
static status read_sets(prepare_ctx *c, int64_t count, const uint8_t *modes, int64_t *first, forest *f) {
  const tensor *t = attr_tensor(c->node, "membership_values");
  int64_t value_count = 0, at = 0;
  const double *values = NULL;
  if (t) TRY(tensor_doubles(c, "membership_values", t, &value_count, &values));
  for (int64_t i = 0; i < count; ++i) {
    if (modes[i] != TREE_MEMBER) continue;
    first[i] = at;
    while (at < value_count && !isnan(values[at])) ++at;
    if (at++ >= value_count) return ERROR(INVALID_ARGUMENT, "attribute 'membership_values' has no set for node %lld, which tests membership", (long long)i);
  }
  f->sets = values;
  return OK;
}

static status leaf_or_node(const char *name, const int64_t *ids, const int64_t *is_leaf, int64_t i, int64_t nodes, int64_t leaves, int64_t *out) {
  int64_t limit = is_leaf[i] ? leaves : nodes;
  if (ids[i] < 0 || ids[i] >= limit) return ERROR(INVALID_ARGUMENT, "attribute '%s' has %lld at %lld, expected 0 to %lld", name, (long long)ids[i], (long long)i, (long long)limit - 1);
  *out = is_leaf[i] ? nodes + ids[i] : ids[i];
  return OK;
}

static status read_leaves(prepare_ctx *c, int64_t *out_count, forest *f) {
  const int64_t *targets = attr_ints(c->node, "leaf_targetids", out_count);
  const tensor *t = attr_tensor(c->node, "leaf_weights");
  const double *values;
  int64_t count;
  if (!t) return ERROR(INVALID_ARGUMENT, "attribute 'leaf_weights' is missing");
  TRY(tensor_doubles(c, "leaf_weights", t, &count, &values));
  if (count != *out_count) return ERROR(INVALID_ARGUMENT, "attribute 'leaf_weights' has %lld elements, but 'leaf_targetids' has %lld", (long long)count, (long long)*out_count);
  tree_weight *weights = ZONE_ARRAY(c->memory, count, tree_weight);
  if (!weights) return status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) {
    if (targets[i] < 0 || targets[i] >= f->targets) return ERROR(INVALID_ARGUMENT, "attribute 'leaf_targetids' has %lld at %lld, expected 0 to %lld", (long long)targets[i], (long long)i, (long long)f->targets - 1);
    weights[i] = (tree_weight){(int32_t)targets[i], values[i]};
  }
  f->weights = weights;
  return OK;
}

status forest_read(prepare_ctx *c, forest *f) {
  const int64_t *features, *true_ids, *false_ids, *true_leaf, *false_leaf;
  int64_t count, leaves, value_count, missing_count;
  const double *splits;
  const tensor *split_tensor = attr_tensor(c->node, "nodes_splits"), *mode_tensor = attr_tensor(c->node, "nodes_modes");
  tree_source s = {0};
  features = attr_ints(c->node, "nodes_featureids", &count);
  TRY(ints_of(c->node, "nodes_truenodeids", count, &true_ids));
  TRY(ints_of(c->node, "nodes_falsenodeids", count, &false_ids));
  TRY(ints_of(c->node, "nodes_trueleafs", count, &true_leaf));
  TRY(ints_of(c->node, "nodes_falseleafs", count, &false_leaf));
  if (!split_tensor || !mode_tensor || mode_tensor->type != ORTC_UINT8 || mode_tensor->count != count)
    return ERROR(INVALID_ARGUMENT, "attributes 'nodes_splits' and 'nodes_modes' (uint8) must be tensors of %lld elements", (long long)count);
  TRY(tensor_doubles(c, "nodes_splits", split_tensor, &value_count, &splits));
  if (value_count != count) return ERROR(INVALID_ARGUMENT, "attribute 'nodes_splits' has %lld elements, expected %lld", (long long)value_count, (long long)count);
  TRY(read_leaves(c, &leaves, f));
  int64_t total = count + leaves, *children = ZONE_ARRAY(c->memory, 2 * total, int64_t), *runs = ZONE_ARRAY(c->memory, 3 * total, int64_t);
  uint8_t *modes = ZONE_ARRAY(c->memory, total, uint8_t);
  if (!children || !runs || !modes) return status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) {
    modes[i] = ((const uint8_t *)mode_tensor->data)[i];
    if (modes[i] > TREE_MEMBER) return ERROR(INVALID_ARGUMENT, "attribute 'nodes_modes' has %d at %lld, expected 0 to 6", modes[i], (long long)i);
    TRY(leaf_or_node("nodes_truenodeids", true_ids, true_leaf, i, count, leaves, &children[i]));
    TRY(leaf_or_node("nodes_falsenodeids", false_ids, false_leaf, i, count, leaves, &children[total + i]));
  }
  for (int64_t i = 0; i < leaves; ++i) {
    modes[count + i] = TREE_LEAF;
    runs[count + i] = i;
    runs[total + count + i] = 1;
  }
  TRY(read_sets(c, count, modes, runs + 2 * total, f));
  s = (tree_source){.node_count = total, .features = features, .values = splits, .modes = modes, .true_child = children, .false_child = children + total,
                    .weight_first = runs, .weight_count = runs + total, .set_first = runs + 2 * total};
  s.missing_true = attr_ints(c->node, "nodes_missing_value_tracks_true", &missing_count);
  if (missing_count != count) s.missing_true = NULL;
  s.roots = attr_ints(c->node, "tree_roots", &s.root_count);
  for (int64_t i = 0; i < s.root_count; ++i)
    if (s.roots[i] < 0 || s.roots[i] >= count) return ERROR(INVALID_ARGUMENT, "attribute 'tree_roots' has %lld at %lld, expected 0 to %lld", (long long)s.roots[i], (long long)i, (long long)count - 1);
  return forest_pack(c->memory, &s, f);
}
