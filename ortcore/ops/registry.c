/* All operators, and the check of nodes against their signatures. */
#include <ortcore/base/mem.h>
#include <ortcore/ops/signature.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(family) extern const op_def ops_##family[];
#include <ortcore/ops/op_families.h>
#undef X

static const op_def *const families[] = {
#define X(family) ops_##family,
#include <ortcore/ops/op_families.h>
#undef X
  NULL};

/* ---- Lookup: rows sorted by domain, name and since ---------------------------------------------------------------------------- */

static struct { pthread_once_t once; size_t count; const op_def **rows; } registry = {.once = PTHREAD_ONCE_INIT};

static const char *domain_of(const op_def *op) { return op->domain ? op->domain : ""; }

static int by_name(const void *a, const void *b) {
  const op_def *x = *(const op_def *const *)a, *y = *(const op_def *const *)b;
  int order = strcmp(domain_of(x), domain_of(y));
  if (!order) order = strcmp(x->name, y->name);
  return order ? order : x->since - y->since;
}

static void build_registry(void) {
  size_t count = 0;
  for (const op_def *const *f = families; *f; ++f)
    for (const op_def *op = *f; op->name; ++op) ++count;
  registry.rows = mem_alloc((count + 1) * sizeof *registry.rows);
  if (!registry.rows) return;
  for (const op_def *const *f = families; *f; ++f)
    for (const op_def *op = *f; op->name; ++op) registry.rows[registry.count++] = op;
  qsort(registry.rows, count, sizeof *registry.rows, by_name);
}

const op_def *op_at(size_t index) {
  pthread_once(&registry.once, build_registry);
  return index < registry.count ? registry.rows[index] : NULL;
}

const op_def *op_find(const char *domain, const char *name, int64_t opset) {
  pthread_once(&registry.once, build_registry);
  if (!strcmp(domain, "ai.onnx")) domain = "";
  size_t low = 0, high = registry.count;
  while (low < high) {                                       /* the first row that is past (domain, name, opset) */
    size_t middle = (low + high) / 2;
    const op_def *op = registry.rows[middle];
    int order = strcmp(domain_of(op), domain);
    if (!order) order = strcmp(op->name, name);
    if (order < 0 || (!order && op->since <= opset)) low = middle + 1;
    else high = middle;
  }
  const op_def *op = low ? registry.rows[low - 1] : NULL;
  return op && !strcmp(domain_of(op), domain) && !strcmp(op->name, name) ? op : NULL;
}

/* ---- Checking a node ----------------------------------------------------------------------------------------------------------- */

static void list_types(typeset set, char *buffer, size_t capacity) {
  size_t used = 0;
  buffer[0] = 0;
  for (int t = 1; t < ORTC_ELEMENT_TYPE_COUNT && used < capacity; ++t)
    if (typeset_has(set, (dtype)t)) used += (size_t)snprintf(buffer + used, capacity - used, "%s%s", used ? ", " : "", dtype_name((dtype)t));
}

static status check_count(const op_def *op, int32_t count, int32_t given, const parameter *list, const char *what) {
  bool repeats = count && list[count - 1].repeat;
  int32_t least = 0;
  for (int32_t i = 0; i < count; ++i)
    if (!list[i].may_be_absent && list[i].repeat != '%') least = i + 1;
  if (given >= least && (given <= count || repeats)) return OK;
  return ERROR(INVALID_GRAPH, "%s takes %d to %d %s, but the node has %d", op->name, least, repeats ? INT32_MAX : count, what, given);
}

static const char *kind_name(value_kind kind) {
  static const char *const names[] = {"unknown", "a tensor", "a sequence", "a map", "a sparse tensor"};
  return names[kind];
}

static status check_input(const op_def *op, const node *n, const parameter *p, int32_t i, const fact *f, dtype *bound) {
  if (!f) {
    return p->may_be_absent ? OK : ERROR(INVALID_GRAPH, "input %d ('%s') of %s is required", i, p->name, op->name);
  }
  if (p->kind == KIND_UNKNOWN || f->kind == KIND_UNKNOWN) return OK;
  if (f->kind != p->kind && !(p->optional_type && f->optional))
    return ERROR(INVALID_GRAPH, "input '%s' of %s must be %s, but is %s", p->name, op->name, kind_name(p->kind), kind_name(f->kind));
  if (f->type == ORTC_UNDEFINED) return OK;
  if (p->variable < 0) {
    if (p->fixed == f->type) return OK;
    return ERROR(INVALID_GRAPH, "input '%s' of %s must be %s, but is %s", p->name, op->name, dtype_name(p->fixed), dtype_name(f->type));
  }
  typeset allowed = op_variable_types(op, p->variable);
  if (!typeset_has(allowed, f->type)) {
    char types[400];
    list_types(allowed, types, sizeof types);
    return ERROR(INVALID_GRAPH, "Type '%s' of input '%s' of %s (opset %lld) is not allowed; allowed are %s", dtype_name(f->type), p->name, op->name,
                 (long long)n->opset, types);
  }
  if (p->repeat == '%') return OK;
  if (bound[p->variable] && bound[p->variable] != f->type)
    return ERROR(INVALID_GRAPH, "input '%s' of %s is %s, but another input of the same type parameter %s is %s; they must agree", p->name, op->name, dtype_name(f->type),
                 variable_name(p->variable), dtype_name(bound[p->variable]));
  bound[p->variable] = f->type;
  return OK;
}

static void preset_output(const parameter *p, const dtype *bound, fact *out) {
  if (p->kind == KIND_UNKNOWN) return;
  dtype type = p->variable < 0 ? p->fixed : bound[p->variable];
  out->kind = p->kind;
  out->optional = p->optional_type;
  if (type) out->type = type;
}

status op_check(const op_def *op, const node *n, int32_t in_count, const fact *const *in, int32_t out_count, fact **out) {
  signature s;
  if (!signature_parse(op->signature, &s)) return ERROR(ENGINE_ERROR, "the signature of %s is malformed: %s", op->name, op->signature);
  TRY(check_count(op, s.in_count, in_count, s.in, "inputs"));
  TRY(check_count(op, s.out_count, out_count, s.out, "outputs"));
  dtype bound[TYPE_VARIABLES] = {0};
  for (int32_t i = 0; i < (in_count > s.in_count ? in_count : s.in_count); ++i) {
    const parameter *p = &s.in[i < s.in_count ? i : s.in_count - 1];
    if (i >= in_count && (p->may_be_absent || p->repeat)) continue;
    TRY(check_input(op, n, p, i, i < in_count ? in[i] : NULL, bound));
  }
  for (int32_t i = 0; i < out_count; ++i)
    if (out[i]) preset_output(&s.out[i < s.out_count ? i : s.out_count - 1], bound, out[i]);
  return OK;
}
