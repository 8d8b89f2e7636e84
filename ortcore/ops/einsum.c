/* Einsum: operands are taken in one by one, each step a batched matrix product over strides.
 *
 * In a step labels fall into four groups: in both operands and needed later (batch), in both and not needed (summed), and the others of the
 * left (rows) and of the right (columns). Labels that only one operand has and nobody needs are summed away before. */
#include "einsum_equation.h"

#include <ortcore/base/checked.h>
#include <ortcore/kernels/cpu/epilogue.h>
#include <ortcore/kernels/cpu/strided_sum.h>
#include <string.h>

/* An operand: strides by label, -1 where it does not have the label. */
typedef struct operand { const void *data; dtype type; int64_t strides[LABELS]; } operand;

typedef struct group { int count, labels[LABELS]; } group;

static int64_t group_size(const einsum *e, const group *g) {
  int64_t n = 1;
  for (int i = 0; i < g->count; ++i) n *= e->dims[g->labels[i]];
  return n;
}

static status einsum_infer(infer_ctx *c) {
  int ranks[EINSUM_INPUTS];
  const dim *dims[EINSUM_INPUTS];
  dim out[LABELS];
  einsum e;
  if (c->in_count > EINSUM_INPUTS) return ERROR(NOT_IMPLEMENTED, "%d inputs; Einsum takes up to %d", c->in_count, EINSUM_INPUTS);
  for (int i = 0; i < c->in_count; ++i) {
    if (c->in[i]->rank == RANK_UNKNOWN) return OK;
    ranks[i] = c->in[i]->rank, dims[i] = c->in[i]->dims;
  }
  TRY(einsum_read(attr_string_or(c->node, "equation", "").data, c->in_count, ranks, dims, &e));
  if (e.out.rank > MAX_RANK) return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", e.out.rank, MAX_RANK);
  for (int i = 0; i < e.out.rank; ++i) out[i] = e.dims[e.out.labels[i]];
  if (c->out[0]) fact_set_shape(c->out[0], e.out.rank, out);
  return OK;
}

/* The type that sums are kept in between steps. */
static dtype sum_type(dtype type) {
  static const dtype types[] = {[GEMM_F32] = ORTC_FLOAT, [GEMM_F64] = ORTC_DOUBLE, [GEMM_I32] = ORTC_UINT32, [GEMM_I64] = ORTC_UINT64};
  return types[gemm_acc_of(type)];
}

static operand operand_of(const einsum *e, int input, const tensor *t) {
  operand o = {t->data, t->type, {0}};
  int64_t stride = 1;
  memset(o.strides, -1, sizeof o.strides);
  for (int i = t->rank - 1; i >= 0; --i) {
    int label = e->in[input].labels[i];
    /* A repeated label walks the diagonal; a dim of 1 stands still. */
    if (o.strides[label] < 0) o.strides[label] = 0;
    if (t->dims[i] != 1) o.strides[label] += stride;
    stride *= t->dims[i];
  }
  return o;
}

/* Strides of a dense result whose labels are these groups, one after the other. */
static void dense_strides(const einsum *e, const group *const *groups, int count, int64_t strides[LABELS]) {
  int64_t stride = 1;
  memset(strides, -1, LABELS * sizeof *strides);
  for (int g = count - 1; g >= 0; --g)
    for (int i = groups[g]->count - 1; i >= 0; --i) {
      strides[groups[g]->labels[i]] = stride;
      stride *= e->dims[groups[g]->labels[i]];
    }
}

/* Intermediate results and offsets lie one after the other in pieces of the kernel's scratch. */
typedef struct workspace { kernel_ctx *k; char *at; size_t left; } workspace;

static status take(workspace *w, size_t bytes, void **out) {
  enum { PIECE = 1 << 16 };
  bytes = align_up(bytes, 64);
  if (bytes > w->left) {
    void *piece;
    size_t size = bytes > PIECE ? bytes : PIECE;
    TRY(kernel_scratch(w->k, size, &piece));
    if (bytes > PIECE) {
      *out = piece;
      return OK;
    }
    w->at = piece, w->left = size;
  }
  *out = w->at;
  w->at += bytes, w->left -= bytes;
  return OK;
}

static status room(workspace *w, int64_t count, dtype type, void **out) {
  size_t bytes;
  if (!dtype_bytes(type, count, &bytes)) return ERROR(INVALID_ARGUMENT, "an intermediate result of the equation is too large");
  return take(w, bytes, out);
}

/* Sums away the labels of `o` that are not kept, into a dense operand. */
static status sum_away(workspace *w, const einsum *e, const bool *keep, operand *o) {
  strided_loop l = {0};
  group kept = {0};
  int64_t count = 1;
  bool overflow = false;
  for (int i = 0; i < LABELS; ++i) {
    if (o->strides[i] < 0) continue;
    if (keep[i]) {
      kept.labels[kept.count++] = i;
      l.kept_dims[l.kept] = e->dims[i], l.kept_strides[l.kept++] = o->strides[i];
      overflow = overflow || checked_mul(count, e->dims[i], &count);
    } else {
      l.summed_dims[l.summed] = e->dims[i], l.summed_strides[l.summed++] = o->strides[i];
    }
  }
  if (l.summed == 0) return OK;
  void *out;
  TRY(room(w, overflow ? -1 : count, sum_type(o->type), &out));
  strided_sum_load(&l, o->type, o->data, out);
  o->data = out, o->type = sum_type(o->type);
  dense_strides(e, (const group *const[]){&kept}, 1, o->strides);
  return OK;
}

/* One stride that walks the whole group, if there is one. */
static bool merged_stride(const einsum *e, const group *g, const int64_t *strides, int64_t *out) {
  int64_t size = 1;
  *out = 0;
  for (int i = g->count - 1; i >= 0; --i) {
    int64_t d = e->dims[g->labels[i]], s = strides[g->labels[i]];
    if (d == 1) continue;
    if (size == 1) *out = s;
    else if (s != *out * size) return false;
    size *= d;
  }
  return true;
}

/* Copies an operand into the order batch, outer, inner. */
static status make_dense(workspace *w, const einsum *e, const group *const groups[3], operand *o) {
  strided_loop l = {0};
  int64_t count = 1;
  for (int g = 0; g < 3; ++g)
    for (int i = 0; i < groups[g]->count; ++i) {
      int label = groups[g]->labels[i];
      l.kept_dims[l.kept] = e->dims[label], l.kept_strides[l.kept++] = o->strides[label];
      if (checked_mul(count, e->dims[label], &count)) count = -1;
    }
  void *out;
  TRY(room(w, count, sum_type(o->type), &out));
  strided_sum_load(&l, o->type, o->data, out);
  o->data = out, o->type = sum_type(o->type);
  dense_strides(e, groups, 3, o->strides);
  return OK;
}

static status batch_offsets(workspace *w, const einsum *e, const group *batch, const int64_t *strides, int64_t count, int64_t **out) {
  void *memory;
  TRY(room(w, count, ORTC_INT64, &memory));
  *out = memory;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, offset = 0;
    for (int j = batch->count - 1; j >= 0; --j) {
      offset += rest % e->dims[batch->labels[j]] * strides[batch->labels[j]];
      rest /= e->dims[batch->labels[j]];
    }
    (*out)[i] = offset;
  }
  return OK;
}

static status make_side(workspace *w, const einsum *e, const group *batch, const group *outer, const group *inner, operand *o, gemm_matrix *out) {
  int64_t outer_stride = 0, inner_stride = 0, *offsets;
  if (!merged_stride(e, outer, o->strides, &outer_stride) || !merged_stride(e, inner, o->strides, &inner_stride)) {
    TRY(make_dense(w, e, (const group *const[]){batch, outer, inner}, o));
    (void)(merged_stride(e, outer, o->strides, &outer_stride) && merged_stride(e, inner, o->strides, &inner_stride));
  }
  TRY(batch_offsets(w, e, batch, o->strides, group_size(e, batch), &offsets));
  gemm_matrix_init(out, o->type);
  out->data = o->data, out->offsets = offsets, out->outer_stride = outer_stride, out->inner_stride = inner_stride;
  return OK;
}

/* Where a step's result goes: the output itself if it can be written in place, else dense sums in scratch. */
static status make_sink(workspace *w, const einsum *e, const group *batch, const group *rows, const group *columns, const operand *out, dtype type,
                        operand *result, epilogue *end) {
  int64_t count = group_size(e, batch) * group_size(e, rows) * group_size(e, columns), *offsets;
  *result = (operand){.type = sum_type(type)};
  if (out && epilogue_init(end, out->type) && merged_stride(e, rows, out->strides, &end->row_stride) &&
      merged_stride(e, columns, out->strides, &end->column_stride)) {
    *result = *out;
  } else {
    void *memory;
    TRY(room(w, count, result->type, &memory));
    result->data = memory;
    dense_strides(e, (const group *const[]){batch, rows, columns}, 3, result->strides);
    epilogue_init(end, result->type);
    (void)(merged_stride(e, rows, result->strides, &end->row_stride) && merged_stride(e, columns, result->strides, &end->column_stride));
  }
  TRY(batch_offsets(w, e, batch, result->strides, group_size(e, batch), &offsets));
  end->offsets = offsets;
  end->out = (void *)result->data;
  return OK;
}

/* left := left x right. `keep` are the labels that later operands or the output have; `out` is the output if this is the last step. */
static status contract(workspace *w, const einsum *e, const bool *keep, const operand *out, operand *left, operand *right) {
  group batch = {0}, rows = {0}, columns = {0}, inner = {0};
  bool needed[2][LABELS];
  for (int i = 0; i < LABELS; ++i) needed[0][i] = keep[i] || right->strides[i] >= 0, needed[1][i] = keep[i] || left->strides[i] >= 0;
  TRY(sum_away(w, e, needed[0], left));
  TRY(sum_away(w, e, needed[1], right));
  /* The output's order first, so that it can be written in place. */
  int order[2 * LABELS], count = 0;
  for (int i = 0; i < e->out.rank; ++i) order[count++] = e->out.labels[i];
  for (int i = 0; i < LABELS; ++i) {
    bool listed = false;
    for (int j = 0; j < e->out.rank; ++j) listed = listed || e->out.labels[j] == i;
    if (!listed) order[count++] = i;
  }
  for (int i = 0; i < count; ++i) {
    int label = order[i];
    bool in_left = left->strides[label] >= 0, in_right = right->strides[label] >= 0;
    if (!in_left && !in_right) continue;
    group *g = in_left && in_right ? (keep[label] ? &batch : &inner) : in_left ? &rows : &columns;
    g->labels[g->count++] = label;
  }
  gemm_matrix a, b;
  epilogue end;
  operand result;
  dtype type = left->type;
  TRY(make_side(w, e, &batch, &rows, &inner, left, &a));
  TRY(make_side(w, e, &batch, &columns, &inner, right, &b));
  TRY(make_sink(w, e, &batch, &rows, &columns, out, type, &result, &end));
  int64_t m = group_size(e, &rows), n = group_size(e, &columns), depth = group_size(e, &inner);
  void *scratch;
  gemm_acc acc = gemm_acc_of(type);
  TRY(take(w, gemm_scratch_bytes(acc, w->k->threads, m, n, depth), &scratch));
  gemm_problem problem = {acc, group_size(e, &batch), m, n, depth, &a.side, &b.side, &end.sink};
  gemm_run(&problem, w->k->threads, scratch);
  *left = result;
  return OK;
}

/* What is left is the output but for order, sums and type. */
static status finish(workspace *w, const einsum *e, operand *o, const operand *out) {
  bool keep[LABELS] = {false};
  for (int i = 0; i < e->out.rank; ++i) keep[e->out.labels[i]] = true;
  TRY(sum_away(w, e, keep, o));
  strided_loop l = {0};
  int64_t count = 1;
  for (int i = 0; i < e->out.rank; ++i) {
    int label = e->out.labels[i];
    l.kept_dims[l.kept] = e->dims[label], l.kept_strides[l.kept++] = o->strides[label];
    count *= e->dims[label];
  }
  if (o->type != sum_type(o->type)) {
    void *memory;
    TRY(room(w, count, sum_type(o->type), &memory));
    strided_sum_load(&l, o->type, o->data, memory);
    o->data = memory;
    for (int64_t i = l.kept - 1, stride = 1; i >= 0; stride *= l.kept_dims[i--]) l.kept_strides[i] = stride;
  }
  strided_sum_store(&l, out->type, o->data, (void *)out->data);
  return OK;
}

static status einsum_run(kernel_ctx *k) {
  int ranks[EINSUM_INPUTS];
  const dim *dims[EINSUM_INPUTS];
  int64_t out_dims[MAX_RANK];
  workspace w = {k, NULL, 0};
  einsum e;
  for (int i = 0; i < k->in_count; ++i) ranks[i] = k->in[i]->rank, dims[i] = k->in[i]->dims;
  TRY(einsum_read(attr_string_or(k->node, "equation", "").data, k->in_count, ranks, dims, &e));
  for (int i = 0; i < e.out.rank; ++i) out_dims[i] = e.dims[e.out.labels[i]];
  tensor *y;
  TRY(kernel_output(k, 0, e.out.rank, out_dims, &y));
  if (!y || y->count == 0) return OK;
  group all = {.count = e.out.rank};
  memcpy(all.labels, e.out.labels, sizeof e.out.labels);
  operand left = operand_of(&e, 0, k->in[0]), out = {y->data, y->type, {0}};
  dense_strides(&e, (const group *const[]){&all}, 1, out.strides);
  for (int i = 1; i < k->in_count; ++i) {
    bool keep[LABELS] = {false};
    for (int j = 0; j < e.out.rank; ++j) keep[e.out.labels[j]] = true;
    for (int j = i + 1; j < k->in_count; ++j)
      for (int d = 0; d < e.in[j].rank; ++d) keep[e.in[j].labels[d]] = true;
    operand right = operand_of(&e, i, k->in[i]);
    TRY(contract(&w, &e, keep, i + 1 == k->in_count ? &out : NULL, &left, &right));
  }
  return left.data == y->data ? OK : finish(&w, &e, &left, &out);
}

OP_FAMILY(einsum) = {
  {.name = "Einsum", .since = 12, .signature = "Inputs:T* -> Output:T", .T = TS_NUMERIC, .infer = einsum_infer, .run = einsum_run},
  {0}};
