/* Exporters compute the target of a Reshape from the dims of its own input: Concat(Unsqueeze(Gather(Shape(x), 0)), ..., 12, 32). As constants
 * these are 0, which takes over the dim, so that the arithmetic goes and inference sees what becomes of every dim. */
#include <ortcore/passes/rewrite.h>

/* An element of a list of integers: a number, or dim number `number` of the tensor `of`. */
typedef struct item { int32_t of; int64_t number; } item;
typedef struct items { int count; item at[MAX_RANK]; } items;

static bool put(items *list, item one) {
  if (list->count == MAX_RANK) return false;
  list->at[list->count++] = one;
  return true;
}

static bool put_constants(const fact *f, items *list) {
  int64_t numbers[MAX_RANK], count = fact_integers(f, numbers, MAX_RANK);
  for (int64_t i = 0; i < count; ++i)
    if (!put(list, (item){NO_VALUE, numbers[i]})) return false;
  return count >= 0;
}

/* Shape, with the range of axes that it has since opset 15. */
static bool put_shape(const rewriter *w, const node *n, items *list) {
  int64_t rank = rewrite_fact(w, n->inputs[0])->rank, begin = attr_int_or(n, "start", 0), end = attr_int_or(n, "end", rank);
  if (rank < 0) return false;
  begin = begin < 0 ? begin + rank : begin;
  end = end < 0 ? end + rank : end > rank ? rank : end;
  for (int64_t d = begin < 0 ? 0 : begin; d < end; ++d)
    if (!put(list, (item){n->inputs[0], d})) return false;
  return true;
}

enum { DEEPEST = 8 };

/* Appends the elements of v, which has rank 0 or 1, if they can be told. */
static bool read_items(const rewriter *w, int32_t v, int depth, items *list) {
  const node *n = rewrite_producer(w, v, NULL);
  if (v == NO_VALUE || depth == DEEPEST) return false;
  if (rewrite_fact(w, v)->value) return put_constants(rewrite_fact(w, v), list);
  if (node_is(n, "Shape")) return put_shape(w, n, list);
  if (node_is(n, "Unsqueeze") || node_is(n, "Squeeze")) {
    int before = list->count;
    return rewrite_fact(w, v)->rank <= 1 && read_items(w, n->inputs[0], depth + 1, list) && list->count == before + 1;
  }
  if (node_is(n, "Concat")) {
    for (int32_t i = 0; i < n->input_count; ++i)
      if (!read_items(w, n->inputs[i], depth + 1, list)) return false;
    return true;
  }
  if (!node_is(n, "Gather")) return false;
  items from = {0}, which = {0};
  if (!read_items(w, n->inputs[0], depth + 1, &from) || !put_constants(rewrite_fact(w, n->inputs[1]), &which)) return false;
  for (int i = 0; i < which.count; ++i) {
    int64_t at = which.at[i].number < 0 ? which.at[i].number + from.count : which.at[i].number;
    if (at < 0 || at >= from.count || !put(list, from.at[at])) return false;
  }
  return true;
}

/* What a Reshape of x must say at place k for that element: a number, or 0 if it is dim k of x. */
static bool as_target(const rewriter *w, const fact *x, int32_t x_value, int k, item e, double *out) {
  *out = (double)e.number;
  if (e.of == NO_VALUE) return true;
  dim d = rewrite_fact(w, e.of)->dims[e.number];
  *out = dim_known(d) ? (double)d : 0;
  return d > 0 || (k < x->rank && ((e.of == x_value && e.number == k) || (d != DIM_UNKNOWN && d == x->dims[k])));
}

status pass_reshape_dims(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  items list = {0};
  double target[MAX_RANK];
  int32_t inputs[2];
  node *made;
  if (!node_is(n, "Reshape") || !node_has(n, 1) || attr_int_or(n, "allowzero", 0) || rewrite_fact(w, n->inputs[1])->value) return OK;
  inputs[0] = n->inputs[0];
  if (rewrite_fact(w, inputs[0])->rank < 0 || rewrite_fact(w, n->inputs[1])->rank != 1 || !read_items(w, n->inputs[1], 0, &list)) return OK;
  for (int k = 0; k < list.count; ++k)
    if (!as_target(w, rewrite_fact(w, inputs[0]), inputs[0], k, list.at[k], &target[k])) return OK;
  TRY(rewrite_constant(w, ORTC_INT64, 1, (int64_t[]){list.count}, target, &inputs[1]));
  return rewrite_replace(w, index, "Reshape", "", n->opset, 2, inputs, &made);
}
