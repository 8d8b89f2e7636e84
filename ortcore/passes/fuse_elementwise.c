/* Elementwise nodes that nobody else reads become part of the node that reads them: one pass over memory instead of one each. At a node, its
 * inputs' producers are taken in as long as all readers of theirs have been taken in as well, and the shapes are equal, so that nothing is
 * computed more often than before. */
#include <ortcore/base/mem.h>
#include <ortcore/passes/chain.h>
#include <stdio.h>
#include <string.h>

/* Takes in the producer of input i, if that goes. */
static status take_in(rewriter *w, const node *n, chain *c, int i, bool *out_taken) {
  const node *producer = rewrite_producer(w, c->inputs[i], NULL);
  chain before;
  bool is;
  *out_taken = false;
  if (!producer || w->uses[c->inputs[i]] != c->reads[i] || !facts_same_shape(rewrite_fact(w, c->inputs[i]), rewrite_fact(w, n->outputs[0]))) return OK;
  TRY(chain_of(w, producer, &before, &is));
  chain joined = *c;
  program p;
  if (!is || !chain_prepend(&joined, i, &before) || !chain_program(&joined, &p)) return OK;
  *c = joined;
  *out_taken = true;
  return OK;
}

/* The program as attributes (ops/fused_elementwise.c). */
static status write_program(rewriter *w, node *made, const program *p, dtype type) {
  char names[PROGRAM_STEPS * 24] = "";
  int64_t arguments[PROGRAM_STEPS * 3], kept[PROGRAM_STEPS];
  float numbers[PROGRAM_STEPS * 2];
  size_t used = 0;
  for (int i = 0; i < p->count; ++i) {
    const program_step *s = &p->steps[i];
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? " " : "", program_name((program_op)s->op));
    for (int j = 0; j < 3; ++j) arguments[3 * i + j] = s->from[j];
    kept[i] = s->keep;
    numbers[2 * i] = (float)s->p;
    numbers[2 * i + 1] = (float)s->q;
  }
  TRY(node_set_attr_string(w->g, made, "operators", names));
  TRY(node_set_attr_ints(w->g, made, "arguments", 3 * p->count, arguments));
  TRY(node_set_attr_ints(w->g, made, "kept", p->count, kept));
  TRY(node_set_attr_floats(w->g, made, "numbers", 2 * p->count, numbers));
  return node_set_attr_int(w->g, made, "dtype", type);
}

status pass_fuse_elementwise(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  chain c;
  bool is, taken, any = false;
  TRY(chain_of(w, n, &c, &is));
  if (!is) return OK;
  do {
    taken = false;
    for (int i = 0; i < c.input_count && !taken; ++i) TRY(take_in(w, n, &c, i, &taken));
    any |= taken;
  } while (taken);
  program p;
  if (!any || !chain_program(&c, &p) || c.input_count == 0) return OK;
  dtype type = rewrite_fact(w, n->outputs[0])->type;
  node *made;
  TRY(rewrite_replace(w, index, "FusedElementwise", "ortcore", 1, c.input_count, c.inputs, &made));
  return write_program(w, made, &p, type);
}
