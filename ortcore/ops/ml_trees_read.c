/* Attributes of tree ensembles to flat nodes, with every index checked. */
#include <math.h>
#include <ortcore/ops/ml_trees.h>
#include <stdlib.h>

/* ---- A table from (tree, node) to index: sorted, searched by halving -------------------------------------------------------------------- */

typedef struct key { int64_t tree, node; int32_t index; } key;

static int by_key(const void *a, const void *b) {
  const key *x = a, *y = b;
  if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  return x->index - y->index;
}

static int32_t find(const key *keys, int64_t count, int64_t tree, int64_t node) {
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (keys[middle].tree < tree || (keys[middle].tree == tree && keys[middle].node < node)) low = middle + 1;
    else high = middle;
  }
  return low < count && keys[low].tree == tree && keys[low].node == node ? keys[low].index : -1;
}

/* ---- Attributes ---------------------------------------------------------------------------------------------------------------------------- */

/* Numbers given as floats, or as a tensor `<name>_as_tensor`. */
typedef struct numbers { int64_t count; const float *floats; const tensor *wide; } numbers;

static status numbers_of(const node *n, const char *name, const char *tensor_name, numbers *out) {
  *out = (numbers){0};
  out->floats = attr_floats(n, name, &out->count);
  if (out->count) return OK;
  TRY(features_of_attr(n, tensor_name, &out->wide));
  if (out->wide) out->count = out->wide->count;
  return OK;
}

static double number_at(const numbers *n, int64_t i) { return n->wide ? feature_at(n->wide, i) : (double)n->floats[i]; }

static status mode_of(text name, uint8_t *out) {
  static const struct { const char *name; tree_mode mode; } modes[] = {
    {"BRANCH_LEQ", TREE_LEQ}, {"BRANCH_LT", TREE_LT}, {"BRANCH_GTE", TREE_GTE}, {"BRANCH_GT", TREE_GT}, {"BRANCH_EQ", TREE_EQ}, {"BRANCH_NEQ", TREE_NEQ}, {"LEAF", TREE_LEAF}};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i)
    if (!strcmp(name.data, modes[i].name)) {
      *out = modes[i].mode;
      return OK;
    }
  return ERROR(INVALID_ARGUMENT, "a tree's node has mode '%s', which is none of ONNX's", name.data);
}

typedef struct node_attrs {
  int64_t count;
  const int64_t *trees, *ids, *features, *yes, *no, *missing;
  const text *modes;
  numbers values;
} node_attrs;

static status same_length(const char *name, int64_t count, int64_t expected) {
  return count == expected ? OK : ERROR(INVALID_ARGUMENT, "%s has %lld elements, but nodes_treeids has %lld", name, (long long)count, (long long)expected);
}

static status read_node_attrs(const node *n, node_attrs *a) {
  int64_t count, missing;
  a->trees = attr_ints(n, "nodes_treeids", &a->count);
#define READ(field, name) \
  a->field = attr_ints(n, name, &count); \
  TRY(same_length(name, count, a->count));
  READ(ids, "nodes_nodeids")
  READ(features, "nodes_featureids")
  READ(yes, "nodes_truenodeids")
  READ(no, "nodes_falsenodeids")
#undef READ
  a->modes = attr_strings(n, "nodes_modes", &count);
  TRY(same_length("nodes_modes", count, a->count));
  TRY(numbers_of(n, "nodes_values", "nodes_values_as_tensor", &a->values));
  TRY(same_length("nodes_values", a->values.count, a->count));
  a->missing = attr_ints(n, "nodes_missing_value_tracks_true", &missing);
  return missing ? same_length("nodes_missing_value_tracks_true", missing, a->count) : OK;
}

static status make_keys(prepare_ctx *c, const node_attrs *a, key **out) {
  key *keys = *out = ZONE_ARRAY(c->memory, a->count + 1, key);
  if (!keys) return status_out_of_memory();
  for (int64_t i = 0; i < a->count; ++i) keys[i] = (key){a->trees[i], a->ids[i], (int32_t)i};
  qsort(keys, (size_t)a->count, sizeof *keys, by_key);
  for (int64_t i = 1; i < a->count; ++i)
    if (keys[i].tree == keys[i - 1].tree && keys[i].node == keys[i - 1].node)
      return ERROR(INVALID_ARGUMENT, "node %lld of tree %lld is described twice", (long long)keys[i].node, (long long)keys[i].tree);
  return OK;
}

static status link_nodes(const node_attrs *a, const key *keys, trees *t, bool *has_parent) {
  for (int64_t i = 0; i < a->count; ++i) {
    tree_node *n = &t->nodes[i];
    TRY(mode_of(a->modes[i], &n->mode));
    n->threshold = number_at(&a->values, i);
    n->missing_is_yes = a->missing && a->missing[i];
    if (n->mode == TREE_LEAF) continue;
    n->feature = (int32_t)a->features[i];
    n->yes = find(keys, a->count, a->trees[i], a->yes[i]);
    n->no = find(keys, a->count, a->trees[i], a->no[i]);
    if (a->features[i] < 0 || a->features[i] > INT32_MAX || n->yes < 0 || n->no < 0)
      return ERROR(INVALID_ARGUMENT, "node %lld of tree %lld refers to a feature or a node that does not exist", (long long)a->ids[i], (long long)a->trees[i]);
    has_parent[n->yes] = has_parent[n->no] = true;
    if (n->feature > t->max_feature) t->max_feature = n->feature;
  }
  return OK;
}

/* Weights come in any order; each leaf's are made neighbours, in the order in which they were given. */
static status place_weights(prepare_ctx *c, const char *prefix, const node_attrs *a, const key *keys, trees *t) {
  char names[5][40];
  static const char *const parts[] = {"treeids", "nodeids", "ids", "weights", "weights_as_tensor"};
  for (int i = 0; i < 5; ++i) strcat(strcpy(names[i], prefix), parts[i]);
  int64_t count, n;
  const int64_t *tree = attr_ints(c->node, names[0], &count), *id, *target;
  id = attr_ints(c->node, names[1], &n);
  TRY(same_length(names[1], n, count));
  target = attr_ints(c->node, names[2], &n);
  TRY(same_length(names[2], n, count));
  numbers weight;
  TRY(numbers_of(c->node, names[3], names[4], &weight));
  TRY(same_length(names[3], weight.count, count));
  t->weight_count = count;
  t->weights = ZONE_ARRAY(c->memory, count + 1, tree_weight);
  int32_t *leaf = ZONE_ARRAY(c->memory, count + 1, int32_t);
  if (!t->weights || !leaf) return status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) {
    leaf[i] = find(keys, a->count, tree[i], id[i]);
    if (leaf[i] < 0 || t->nodes[leaf[i]].mode != TREE_LEAF || target[i] < 0 || target[i] >= t->targets)
      return ERROR(INVALID_ARGUMENT, "weight %lld belongs to node %lld of tree %lld and target %lld, which do not exist or are no leaf", (long long)i, (long long)id[i],
                   (long long)tree[i], (long long)target[i]);
    ++t->nodes[leaf[i]].no;
  }
  int32_t at = 0;
  for (int64_t i = 0; i < t->node_count; ++i) {
    if (t->nodes[i].mode != TREE_LEAF) continue;
    t->nodes[i].yes = at;
    at += t->nodes[i].no;
    t->nodes[i].no = 0;
  }
  for (int64_t i = 0; i < count; ++i) {
    tree_node *l = &t->nodes[leaf[i]];
    double w = number_at(&weight, i);
    t->weights[l->yes + l->no++] = (tree_weight){(int32_t)target[i], (float)w, w};
  }
  return OK;
}

static status find_roots(prepare_ctx *c, trees *t, const bool *has_parent) {
  t->roots = ZONE_ARRAY(c->memory, t->node_count + 1, int32_t);
  if (!t->roots) return status_out_of_memory();
  for (int64_t i = 0; i < t->node_count; ++i)
    if (!has_parent[i]) t->roots[t->root_count++] = (int32_t)i;
  return OK;
}

status trees_check(trees *t) {
  int32_t *stack = malloc(((size_t)t->node_count * 2 + 1) * sizeof *stack);
  bool *visited = calloc((size_t)t->node_count + 1, sizeof *visited);
  status s = stack && visited ? OK : status_out_of_memory();
  t->uniform = true;
  for (int64_t r = 0; r < t->root_count && !s; ++r) {
    int64_t depth = 0;
    stack[depth++] = t->roots[r];
    while (depth && !s) {
      int32_t i = stack[--depth];
      const tree_node *n = &t->nodes[i];
      if (visited[i]) s = ERROR(INVALID_ARGUMENT, "node %d of the trees is reached twice: a tree must not share nodes or run in a circle", i);
      visited[i] = true;
      if (n->mode == TREE_LEAF) continue;
      if (n->mode != TREE_LEQ || n->missing_is_yes) t->uniform = false;
      stack[depth++] = n->yes;
      stack[depth++] = n->no;
    }
  }
  /* A circle has no root, so that walks never reach it; but then its nodes are not visited either. */
  for (int64_t i = 0; i < t->node_count && !s; ++i)
    if (!visited[i]) s = ERROR(INVALID_ARGUMENT, "node %lld of the trees cannot be reached from a root", (long long)i);
  free(stack);
  free(visited);
  return s;
}

status trees_read_named(prepare_ctx *c, const char *prefix, int64_t targets, trees *t) {
  node_attrs a = {0};
  key *keys;
  TRY(read_node_attrs(c->node, &a));
  if (a.count > INT32_MAX / 2) return ERROR(NOT_IMPLEMENTED, "ensembles of more than %d nodes are not supported", INT32_MAX / 2);
  TRY(make_keys(c, &a, &keys));
  *t = (trees){.node_count = a.count, .targets = targets, .nodes = ZONE_ARRAY(c->memory, a.count + 1, tree_node)};
  bool *has_parent = ZONE_ARRAY(c->memory, a.count + 1, bool);
  if (!t->nodes || !has_parent) return status_out_of_memory();
  TRY(link_nodes(&a, keys, t, has_parent));
  TRY(place_weights(c, prefix, &a, keys, t));
  TRY(find_roots(c, t, has_parent));
  return trees_check(t);
}

/* ---- TreeEnsemble 5: branches first, then leaves, in one array of nodes --------------------------------------------------------------------- */

static status read_members(prepare_ctx *c, trees *t, int64_t branches) {
  const tensor *sets;
  TRY(features_of_attr(c->node, "membership_values", &sets));
  int64_t at = 0, count = sets ? sets->count : 0;
  double *members = ZONE_ARRAY(c->memory, count + 1, double);
  if (!members) return status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) members[i] = feature_at(sets, i);
  t->members = members;
  t->member_count = count;
  for (int64_t i = 0; i < branches; ++i) {
    tree_node *n = &t->nodes[i];
    if (n->mode != TREE_MEMBER) continue;
    n->member_first = (int32_t)at;
    while (at < count && !isnan(members[at])) ++at;
    n->member_count = (int32_t)(at - n->member_first);
    if (at == count) return ERROR(INVALID_ARGUMENT, "membership_values holds fewer sets than there are nodes that ask for one");
    ++at;
  }
  return OK;
}

status trees_read_indexed(prepare_ctx *c, trees *t) {
  int64_t branches, n, leaves, roots;
  const int64_t *feature = attr_ints(c->node, "nodes_featureids", &branches), *yes, *no, *yes_leaf, *no_leaf, *missing, *target, *root;
  const tensor *splits, *modes = attr_tensor(c->node, "nodes_modes"), *weights;
  TRY(features_of_attr(c->node, "nodes_splits", &splits));
  TRY(features_of_attr(c->node, "leaf_weights", &weights));
  if (modes && modes->type != ORTC_UINT8)
    return ERROR(INVALID_ARGUMENT, "attribute 'nodes_modes' is a tensor of %s, but must be one of uint8", dtype_name(modes->type));
#define READ(variable, name) \
  variable = attr_ints(c->node, name, &n); \
  if (n != branches) return ERROR(INVALID_ARGUMENT, "%s has %lld elements, but nodes_featureids has %lld", name, (long long)n, (long long)branches);
  READ(yes, "nodes_truenodeids")
  READ(no, "nodes_falsenodeids")
  READ(yes_leaf, "nodes_trueleafs")
  READ(no_leaf, "nodes_falseleafs")
#undef READ
  missing = attr_ints(c->node, "nodes_missing_value_tracks_true", &n);
  if (n && n != branches) return ERROR(INVALID_ARGUMENT, "nodes_missing_value_tracks_true has %lld elements, but there are %lld nodes", (long long)n, (long long)branches);
  target = attr_ints(c->node, "leaf_targetids", &leaves);
  root = attr_ints(c->node, "tree_roots", &roots);
  if (!splits || !modes || !weights || splits->count != branches || modes->count != branches || weights->count != leaves || branches + leaves > INT32_MAX / 2)
    return ERROR(INVALID_ARGUMENT, "nodes_splits, nodes_modes and leaf_weights must have an element for each node and leaf");
  t->node_count = branches + leaves;
  t->weight_count = leaves;
  t->nodes = ZONE_ARRAY(c->memory, t->node_count + 1, tree_node);
  t->weights = ZONE_ARRAY(c->memory, leaves + 1, tree_weight);
  t->roots = ZONE_ARRAY(c->memory, roots + 1, int32_t);
  if (!t->nodes || !t->weights || !t->roots) return status_out_of_memory();
  for (int64_t i = 0; i < branches; ++i) {
    int64_t y = yes[i] + (yes_leaf[i] ? branches : 0), f = no[i] + (no_leaf[i] ? branches : 0);
    uint8_t mode = ((const uint8_t *)modes->data)[i];
    if (y < 0 || f < 0 || y >= t->node_count || f >= t->node_count || feature[i] < 0 || feature[i] > INT32_MAX || mode > TREE_MEMBER)
      return ERROR(INVALID_ARGUMENT, "node %lld refers to a node, feature or mode that does not exist", (long long)i);
    t->nodes[i] = (tree_node){.threshold = feature_at(splits, i), .feature = (int32_t)feature[i], .mode = mode, .missing_is_yes = missing && missing[i], .yes = (int32_t)y, .no = (int32_t)f};
    if (feature[i] > t->max_feature) t->max_feature = (int32_t)feature[i];
  }
  for (int64_t i = 0; i < leaves; ++i) {
    double w = feature_at(weights, i);
    if (target[i] < 0 || target[i] >= t->targets) return ERROR(INVALID_ARGUMENT, "leaf %lld belongs to target %lld, but there are %lld", (long long)i, (long long)target[i], (long long)t->targets);
    t->nodes[branches + i] = (tree_node){.mode = TREE_LEAF, .yes = (int32_t)i, .no = 1};
    t->weights[i] = (tree_weight){(int32_t)target[i], (float)w, w};
  }
  for (int64_t i = 0; i < roots; ++i) {
    if (root[i] < 0 || root[i] >= t->node_count) return ERROR(INVALID_ARGUMENT, "root %lld is node %lld, which does not exist", (long long)i, (long long)root[i]);
    t->roots[t->root_count++] = (int32_t)(branches ? root[i] : branches + root[i]);
  }
  TRY(read_members(c, t, branches));
  return trees_check(t);
}
