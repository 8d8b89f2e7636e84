/* Unique: the different elements of a tensor, or the different slices along an axis. NaNs equal each other and come last; -0 equals 0. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/kernels/cpu/order.h>

typedef struct unique_params { bool has_axis, sorted; int64_t axis; } unique_params;

static status unique_prepare(prepare_ctx *c, void **out_params) {
  unique_params *p = ZONE_NEW(c->memory, unique_params);
  if (!p) return status_out_of_memory();
  p->has_axis = attr_find(c->node, "axis") != NULL;
  p->axis = attr_int_or(c->node, "axis", 0);
  p->sorted = attr_int_or(c->node, "sorted", 1) != 0;
  *out_params = p;
  return OK;
}

static status unique_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  dim dims[MAX_RANK] = {DIM_UNKNOWN};
  for (int i = 1; i < c->out_count; ++i)
    if (c->out[i]) fact_set_shape(c->out[i], 1, dims);
  if (!c->out[0]) return OK;
  if (!attr_find(c->node, "axis")) {
    fact_set_shape(c->out[0], 1, dims);
    return OK;
  }
  if (x->rank == RANK_UNKNOWN) return OK;
  int axis;
  TRY(axis_normalise(attr_int_or(c->node, "axis", 0), x->rank, "axis", &axis));
  for (int d = 0; d < x->rank; ++d) dims[d] = d == axis ? DIM_UNKNOWN : x->dims[d];
  fact_set_shape(c->out[0], x->rank, dims);
  return OK;
}

/* ---- Order of elements and slices ---- */

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Element i of a type of up to 64 bits as a code of the same order; a complex number has two, `part` 0 and 1. */
static uint64_t code_at(dtype type, const void *data, int64_t i, int part) {
  switch (type) {
    case ORTC_INT8: return code_i32(((const int8_t *)data)[i]);
    case ORTC_INT16: return code_i32(((const int16_t *)data)[i]);
    case ORTC_INT32: return code_i32(((const int32_t *)data)[i]);
    case ORTC_INT64: return code_i64(((const int64_t *)data)[i]);
    case ORTC_UINT16: return ((const uint16_t *)data)[i];
    case ORTC_UINT32: return ((const uint32_t *)data)[i];
    case ORTC_UINT64: return ((const uint64_t *)data)[i];
    case ORTC_FLOAT16: return code_f32(f16_to_f32(((const f16 *)data)[i]));
    case ORTC_BFLOAT16: return code_f32(bf16_to_f32(((const bf16 *)data)[i]));
    case ORTC_FLOAT: return code_f32(((const float *)data)[i]);
    case ORTC_DOUBLE: return code_f64(((const double *)data)[i]);
    case ORTC_COMPLEX64: return code_f32(((const float *)data)[2 * i + part]);
    case ORTC_COMPLEX128: return code_f64(((const double *)data)[2 * i + part]);
    default: return ((const uint8_t *)data)[i];
  }
}

static int order_text(const rcstr *a, const rcstr *b) {
  size_t n = rcstr_bytes(a), m = rcstr_bytes(b);
  int order = memcmp(rcstr_text(a), rcstr_text(b), n < m ? n : m);
  return order ? order : ORDER(n, m);
}

static int order_elements(dtype type, const void *data, int64_t i, int64_t j) {
  if (type == ORTC_STRING) return order_text(((rcstr *const *)data)[i], ((rcstr *const *)data)[j]);
  int parts = type == ORTC_COMPLEX64 || type == ORTC_COMPLEX128 ? 2 : 1, order = 0;
  for (int part = 0; part < parts && !order; ++part) {
    uint64_t a = code_at(type, data, i, part), b = code_at(type, data, j, part);
    order = ORDER(a, b);
  }
  return order;
}

/* The tensor as [outer, n, inner]; without an axis outer and inner are 1, and then the elements' codes are made once if they have one each. */
typedef struct slices {
  const tensor *x;
  int64_t outer, n, inner;
  const uint64_t *codes;
} slices;

static int order_slices(const slices *s, int64_t i, int64_t j) {
  if (s->codes) return ORDER(s->codes[i], s->codes[j]);
  for (int64_t o = 0; o < s->outer; ++o) {
    for (int64_t e = 0; e < s->inner; ++e) {
      int order = order_elements(s->x->type, s->x->data, (o * s->n + i) * s->inner + e, (o * s->n + j) * s->inner + e);
      if (order) return order;
    }
  }
  return 0;
}

/* Stable merge sort of slice numbers; `spare` is as long. The result is in `list`. */
static void sort_slices(const slices *s, int64_t *list, int64_t *spare, int64_t n) {
  if (n < 2) return;
  int64_t half = n / 2, i = 0, j = half, at = 0;
  sort_slices(s, list, spare, half);
  sort_slices(s, list + half, spare, n - half);
  while (i < half && j < n) spare[at++] = order_slices(s, list[i], list[j]) <= 0 ? list[i++] : list[j++];
  while (i < half) spare[at++] = list[i++];
  while (j < n) spare[at++] = list[j++];
  memcpy(list, spare, (size_t)n * sizeof *list);
}

/* ---- Running ---- */

typedef struct groups {
  int64_t count;
  int64_t *first, *size, *of;                              /* of each group: first slice, how many; of each slice: its group */
} groups;

/* Groups equal slices; in order of value, or of first occurrence. `memory` holds 5 n numbers. */
static groups group_slices(const slices *s, bool sorted, int64_t *memory) {
  int64_t n = s->n, *list = memory, *spare = memory + n;
  groups g = {0, memory + 2 * n, memory + 3 * n, memory + 4 * n};
  for (int64_t i = 0; i < n; ++i) list[i] = i;
  sort_slices(s, list, spare, n);
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || order_slices(s, list[i - 1], list[i]) != 0) {
      g.first[g.count] = list[i];
      g.size[g.count++] = 0;
    }
    ++g.size[g.count - 1];
    g.of[list[i]] = g.count - 1;
  }
  if (sorted) return g;
  /* Renumbered by first occurrence: walk the slices and hand out numbers; `list` maps old to new, `spare` keeps sizes. */
  int64_t next = 0;
  for (int64_t i = 0; i < g.count; ++i) list[i] = -1, spare[i] = g.size[i];
  for (int64_t i = 0; i < n; ++i) {
    int64_t old = g.of[i];
    if (list[old] < 0) {
      list[old] = next;
      g.first[next] = i;
      g.size[next++] = spare[old];
    }
    g.of[i] = list[old];
  }
  return g;
}

static status put_list(kernel_ctx *k, int32_t i, const int64_t *list, int64_t n) {
  tensor *out = NULL;
  if (i < k->out_count) TRY(kernel_output(k, i, 1, &n, &out));
  if (out && n) memcpy(out->data, list, (size_t)n * sizeof *list);
  return OK;
}

static status unique_run(kernel_ctx *k) {
  const unique_params *p = k->params;
  const tensor *x = k->in[0];
  int axis = 0, rank = p->has_axis ? x->rank : 1;
  slices s = {x, 1, x->count, 1, NULL};
  if (p->has_axis) {
    TRY(axis_normalise(p->axis, x->rank, "axis", &axis));
    s = (slices){x, dims_product(x->dims, 0, axis), x->dims[axis], dims_product(x->dims, axis + 1, x->rank), NULL};
  }
  int64_t *memory, dims[MAX_RANK];
  TRY(kernel_scratch(k, (size_t)s.n * 6 * sizeof *memory, (void **)&memory));
  if (s.outer * s.inner == 1 && x->type != ORTC_STRING && !typeset_has(TS_COMPLEX, x->type)) {
    uint64_t *codes = (uint64_t *)memory + 5 * s.n;
    for (int64_t i = 0; i < s.n; ++i) codes[i] = code_at(x->type, x->data, i, 0);
    s.codes = codes;
  }
  groups g = group_slices(&s, p->sorted, memory);
  for (int d = 0; d < rank; ++d) dims[d] = d == axis ? g.count : x->dims[d];
  tensor *y;
  TRY(kernel_output(k, 0, rank, dims, &y));
  TRY(put_list(k, 1, g.first, g.count));
  TRY(put_list(k, 2, g.of, s.n));
  TRY(put_list(k, 3, g.size, g.count));
  if (!y || y->count == 0) return OK;
  int64_t block = s.inner * tensor_width(x);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < g.count; ++i)
      move_block((char *)y->data + (o * g.count + i) * block, (const char *)x->data + (o * s.n + g.first[i]) * block, block);
  tensor_moved(y);
  return OK;
}

OP_FAMILY(unique) = {
  {.name = "Unique", .since = 11, .signature = "X:T -> Y:T indices:i64? inverse_indices:i64? counts:i64?",
   .T = TS_NUMERIC | TS_COMPLEX | TS(BOOL) | TS(STRING), .infer = unique_infer, .prepare = unique_prepare, .run = unique_run},
  {0}};
