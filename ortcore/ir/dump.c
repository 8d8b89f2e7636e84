/* A graph as text, for people who debug passes. */
#include <ortcore/ir/graph.h>
#include <inttypes.h>
#include <stdio.h>

static void indent(FILE *out, int depth) { fprintf(out, "%*s", depth * 2, ""); }

static void dump_fact(FILE *out, const model *m, const fact *f) {
  static const char *const kinds[] = {"?", "", "seq ", "map ", "sparse "};
  const char *type = f->type ? dtype_name(f->type) : "?";
  fprintf(out, ":%s%s%s[", f->optional ? "optional " : "", kinds[f->kind], type);
  for (int d = 0; d < f->rank; ++d) {
    const char *symbol = model_symbol_name(m, f->dims[d]);
    if (symbol) fprintf(out, "%s%s", d ? "," : "", symbol);
    else if (dim_known(f->dims[d])) fprintf(out, "%s%" PRId64, d ? "," : "", f->dims[d]);
    else fprintf(out, "%s?", d ? "," : "");
  }
  fprintf(out, "%s]%s", f->rank < 0 ? "..." : "", f->value ? " constant" : "");
}

static void dump_value(FILE *out, const graph *g, int32_t v) {
  if (v == NO_VALUE) {
    fprintf(out, "_");
    return;
  }
  fprintf(out, "%s", g->values[v].name);
  dump_fact(out, g->owner, &g->values[v].fact);
}

static void dump_values(FILE *out, const graph *g, const char *what, int32_t count, const int32_t *list) {
  fprintf(out, "%s(", what);
  for (int32_t i = 0; i < count; ++i) {
    if (i) fprintf(out, ", ");
    dump_value(out, g, list[i]);
  }
  fprintf(out, ")");
}

static void dump_attr(FILE *out, const attr *a) {
  switch (a->kind) {
    case ATTR_FLOAT: fprintf(out, " %s=%g", a->name, (double)a->f); break;
    case ATTR_INT: fprintf(out, " %s=%" PRId64, a->name, a->i); break;
    case ATTR_STRING: fprintf(out, " %s=\"%.*s\"", a->name, (int)(a->s.bytes < 60 ? a->s.bytes : 60), a->s.data); break;
    case ATTR_INTS:
      fprintf(out, " %s=[", a->name);
      for (int64_t i = 0; i < a->count && i < 16; ++i) fprintf(out, "%s%" PRId64, i ? "," : "", a->ints[i]);
      fprintf(out, a->count > 16 ? ",...]" : "]");
      break;
    default: fprintf(out, " %s=...", a->name); break;
  }
}

static void dump_graph(FILE *out, const graph *g, int depth) {
  indent(out, depth);
  dump_values(out, g, "graph ", g->input_count, g->inputs);
  fprintf(out, "\n");
  for (int32_t i = 0; i < g->node_count; ++i) {
    const node *n = g->nodes[i];
    if (!n) continue;
    indent(out, depth + 1);
    dump_values(out, g, "", n->output_count, n->outputs);
    fprintf(out, " = %s%s", *n->domain ? n->domain : "", *n->domain ? "." : "");
    dump_values(out, g, n->op_type, n->input_count, n->inputs);
    for (int32_t a = 0; a < n->attr_count; ++a) dump_attr(out, &n->attrs[a]);
    fprintf(out, "   # %s\n", n->name);
    for (int32_t a = 0; a < n->attr_count; ++a)
      if (n->attrs[a].kind == ATTR_GRAPH) dump_graph(out, n->attrs[a].g, depth + 2);
  }
  indent(out, depth);
  dump_values(out, g, "return ", g->output_count, g->outputs);
  fprintf(out, "\n");
}

void graph_dump(const graph *g, void *stdio_file) { dump_graph(stdio_file, g, 0); }
