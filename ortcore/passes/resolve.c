#include <ortcore/passes/resolve.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_NAME 64

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Insertions, deletions and replacements that turn one name into the other; names are short. */
static size_t edit_distance(const char *a, const char *b) {
  size_t row[LONGEST_NAME + 1], n = strlen(b);
  if (n > LONGEST_NAME || strlen(a) > LONGEST_NAME) return LONGEST_NAME;
  for (size_t j = 0; j <= n; ++j) row[j] = j;
  for (size_t i = 1; a[i - 1]; ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; ++j) {
      size_t above = row[j];
      row[j] = least(least(row[j - 1], above) + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[n];
}

/* "; did you mean Gather?" or "". */
static void suggest(const node *n, char *out, size_t capacity) {
  const op_def *best = NULL;
  size_t best_distance = 3;
  out[0] = 0;
  for (size_t i = 0; op_at(i); ++i) {
    const op_def *op = op_at(i);
    size_t distance = edit_distance(n->op_type, op->name);
    if (strcmp(op->domain ? op->domain : "", n->domain)) ++distance;
    if (distance >= best_distance) continue;
    best = op;
    best_distance = distance;
  }
  if (best) snprintf(out, capacity, "; did you mean %s of %s?", best->name, best->domain && *best->domain ? best->domain : "ai.onnx");
}

/* `since` of the operator's first row. */
static int earliest(const op_def *latest) {
  int since = latest->since;
  for (size_t i = 0; op_at(i); ++i) {
    const op_def *op = op_at(i);
    if (!strcmp(op->name, latest->name) && !strcmp(op->domain ? op->domain : "", latest->domain ? latest->domain : "") && op->since < since) since = op->since;
  }
  return since;
}

static bool is_known_domain(const char *domain) {
  static const char *const known[] = {"", "ai.onnx.ml", "com.microsoft", "ai.onnx.training", "ai.onnx.preview.training", "ai.onnx.preview"};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (!strcmp(known[i], domain)) return true;
  return false;
}

static status unknown_operator(const node *n) {
  const op_def *later = op_find(n->domain, n->op_type, INT64_MAX);
  const char *domain = *n->domain ? n->domain : "ai.onnx";
  char hint[160];
  if (later && !n->opset)
    return ERROR(INVALID_GRAPH, "operator %s is of domain %s, which the model does not import; add it to opset_import", n->op_type, domain);
  if (later)
    return ERROR(INVALID_GRAPH, "operator %s of domain %s exists since opset %d, but the model imports opset %lld", n->op_type, domain, earliest(later),
                 (long long)n->opset);
  if (!is_known_domain(n->domain))
    return ERROR(FAIL, "operator %s is of domain '%s': ortcore does not know that domain, and the model has no function of that name", n->op_type, domain);
  suggest(n, hint, sizeof hint);
  return ERROR(INVALID_GRAPH, "No Op registered for %s in domain %s (opset %lld)%s", n->op_type, domain, (long long)n->opset, hint);
}

status resolve_graph(graph *g) {
  /* Models that ortcore optimised and saved may use an operator before its time: fusing a Gelu does not raise the opset of everything else. */
  bool written_here = model_opset(g->owner, "ortcore") > 0;
  for (int32_t i = 0; i < g->node_count; ++i) {
    node *n = g->nodes[i];
    n->op = op_find(n->domain, n->op_type, n->opset);
    if (!n->op && written_here) n->op = op_find(n->domain, n->op_type, INT64_MAX);
    if (!n->op) return status_at_node(status_context(unknown_operator(n), "node '%s' (%s)", n->name, n->op_type), n->name);
    for (int32_t a = 0; a < n->attr_count; ++a)
      if (n->attrs[a].kind == ATTR_GRAPH) TRY(resolve_graph(n->attrs[a].g));
  }
  return OK;
}
