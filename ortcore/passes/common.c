/* Nodes that compute what an earlier node computes: exporters and quantisers write the same small subgraph for each of its readers. */
#include <ortcore/passes/rewrite.h>
#include <string.h>

enum { REACH = 256 };                                       /* nodes looked back at: twins are written close to each other */

static bool same_bytes(const void *a, const void *b, size_t bytes) { return !bytes || !memcmp(a, b, bytes); }
static bool same_text(text a, text b) { return a.bytes == b.bytes && same_bytes(a.data, b.data, a.bytes); }

static bool same_tensor(const tensor *a, const tensor *b) {
  return a->type == b->type && a->type != ORTC_STRING && dims_equal(a->rank, a->dims, b->rank, b->dims) && same_bytes(a->data, b->data, tensor_bytes(a));
}

static bool same_attr(const attr *a, const attr *b) {
  if (a->kind != b->kind || a->count != b->count || strcmp(a->name, b->name)) return false;
  switch (a->kind) {
    case ATTR_FLOAT: return same_bytes(&a->f, &b->f, sizeof a->f);
    case ATTR_INT: return a->i == b->i;
    case ATTR_STRING: return same_text(a->s, b->s);
    case ATTR_TENSOR: return same_tensor(a->t, b->t);
    case ATTR_FLOATS: return same_bytes(a->floats, b->floats, (size_t)a->count * sizeof *a->floats);
    case ATTR_INTS: return same_bytes(a->ints, b->ints, (size_t)a->count * sizeof *a->ints);
    default: return false;
  }
}

/* Attributes in one order: twins come from one writer. */
static bool same_work(const node *a, const node *b) {
  if (a->op != b->op || a->opset != b->opset || a->input_count != b->input_count || a->attr_count != b->attr_count) return false;
  if (memcmp(a->inputs, b->inputs, (size_t)a->input_count * sizeof *a->inputs)) return false;
  for (int32_t i = 0; i < a->attr_count; ++i)
    if (!same_attr(&a->attrs[i], &b->attrs[i])) return false;
  return true;
}

status pass_common(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  if (!n->input_count || n->capture_count || (n->op->flags & (OP_NONDETERMINISTIC | OP_SUBGRAPHS | OP_VALUES))) return OK;
  for (int32_t i = index - 1; i >= 0 && i >= index - REACH; --i) {
    const node *earlier = w->g->nodes[i];
    if (!earlier || !same_work(n, earlier)) continue;
    rewrite_forward_all(w, index, earlier);
    return OK;
  }
  return OK;
}
