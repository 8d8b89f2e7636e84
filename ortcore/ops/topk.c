/* TopK. Every element becomes an unsigned code of the same order (the reverse order for the smallest), and the k largest codes are kept in a
 * heap. Equal values come in the order of their indices; NaN counts as larger than every number; -0 equals 0. */
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/topk.h>

#include <inttypes.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/order.h>

enum { TOPK_CHUNK = 256, TOPK_STEP = 16 };                 /* codes made at a time; looked at together */

typedef struct topk_row {
  const char *from;
  int64_t stride, n;                                       /* stride in elements */
  bool largest;
} topk_row;

typedef void (*load_fn)(const topk_row *r, int64_t begin, int64_t end, void *codes);

#define LOADER(name, T, CODE, expression) \
  MULTIVERSION static void load_##name(const topk_row *r, int64_t begin, int64_t end, void *codes) { \
    CODE *restrict to = codes, flip = r->largest ? 0 : (CODE)-1; \
    const T *from = (const T *)r->from + begin * r->stride; \
    if (r->stride == 1) \
      for (int64_t i = 0; i < end - begin; ++i) { T x = from[i]; to[i] = (CODE)(expression) ^ flip; } \
    else \
      for (int64_t i = 0; i < end - begin; ++i) { T x = from[i * r->stride]; to[i] = (CODE)(expression) ^ flip; } \
  }
LOADER(i8, int8_t, uint32_t, code_i32(x))
LOADER(i16, int16_t, uint32_t, code_i32(x))
LOADER(i32, int32_t, uint32_t, code_i32(x))
LOADER(u8, uint8_t, uint32_t, x)
LOADER(u16, uint16_t, uint32_t, x)
LOADER(u32, uint32_t, uint32_t, x)
LOADER(f16, f16, uint32_t, code_f32(f16_to_f32(x)))
LOADER(bf16, bf16, uint32_t, code_f32(bf16_to_f32(x)))
LOADER(f32, float, uint32_t, code_f32(x))
LOADER(i64, int64_t, uint64_t, code_i64(x))
LOADER(u64, uint64_t, uint64_t, x)
LOADER(f64, double, uint64_t, code_f64(x))

typedef uint64_t item;
#define ITEM item
#define CODE uint32_t
#define CODE_BITS 32
#include <ortcore/kernels/cpu/topk_item.h>
typedef unsigned __int128 wide_item;                       /* of 64-bit types */
#define ITEM wide_item
#define CODE uint64_t
#define CODE_BITS 64
#include <ortcore/kernels/cpu/topk_item.h>

static load_fn loader_for(dtype type) {
  switch (type) {
    case ORTC_INT8: return load_i8;
    case ORTC_INT16: return load_i16;
    case ORTC_INT32: return load_i32;
    case ORTC_INT64: return load_i64;
    case ORTC_UINT8: return load_u8;
    case ORTC_UINT16: return load_u16;
    case ORTC_UINT32: return load_u32;
    case ORTC_UINT64: return load_u64;
    case ORTC_FLOAT16: return load_f16;
    case ORTC_BFLOAT16: return load_bf16;
    case ORTC_FLOAT: return load_f32;
    default: return load_f64;
  }
}

static status topk_prepare(prepare_ctx *c, void **out_params) {
  topk_params *p = ZONE_NEW(c->memory, topk_params);
  if (!p) return status_out_of_memory();
  p->axis = attr_int_or(c->node, "axis", -1);
  p->k = attr_int_or(c->node, "k", 0);
  p->largest = attr_int_or(c->node, "largest", 1) != 0;
  p->sorted = attr_int_or(c->node, "sorted", 1) != 0;
  *out_params = p;
  return OK;
}

static status topk_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  integers k = {.count = 1};
  int axis;
  dim dims[MAX_RANK];
  if (x->rank == RANK_UNKNOWN) return OK;
  TRY(axis_normalise(attr_int_or(c->node, "axis", -1), x->rank, "axis", &axis));
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[axis] = DIM_UNKNOWN;
  if (c->op->since < 10) k.at[0] = attr_int_or(c->node, "k", 0);
  if (c->op->since < 10 || (integers_from_fact(c->in[1], &k) && k.count == 1)) {
    TRY(topk_check(k.at[0], x->dims[axis], axis));
    dims[axis] = k.at[0];
  }
  for (int i = 0; i < c->out_count; ++i)
    if (c->out[i]) fact_set_shape(c->out[i], x->rank, dims);
  return OK;
}

/* The rows are dealt out to `slots`, each with a heap of its own. */
typedef struct topk_job {
  const char *from;
  char *values;
  int64_t *indices;                                        /* either output may be NULL */
  load_fn load;
  bool wide, largest, sorted;
  int64_t k, n, inner, rows, width, slots, heap_bytes;
  char *heaps;
} topk_job;

static void topk_slots(void *context, int64_t begin, int64_t end) {
  const topk_job *j = context;
  for (int64_t slot = begin; slot < end; ++slot) {
    void *heap = j->heaps + slot * j->heap_bytes;
    for (int64_t row = slot * j->rows / j->slots; row < (slot + 1) * j->rows / j->slots; ++row) {
      int64_t outer = row / j->inner, column = row % j->inner;
      topk_row r = {j->from + (outer * j->n * j->inner + column) * j->width, j->inner, j->n, j->largest};
      if (j->wide) topk_row_wide_item(j->load, &r, j->k, j->sorted, heap);
      else topk_row_item(j->load, &r, j->k, j->sorted, heap);
      for (int64_t i = 0; i < j->k; ++i) {
        int64_t index = j->wide ? item_index_wide_item(((wide_item *)heap)[i]) : item_index_item(((item *)heap)[i]);
        int64_t at = (outer * j->k + i) * j->inner + column;
        if (j->indices) j->indices[at] = index;
        if (j->values) move_block(j->values + at * j->width, r.from + index * j->inner * j->width, j->width);
      }
    }
  }
}

static status topk_run(kernel_ctx *k) {
  const topk_params *p = k->params;
  const tensor *x = k->in[0], *count = kernel_in(k, 1);
  topk_job j = {.from = x->data, .load = loader_for(x->type), .largest = p->largest, .sorted = p->sorted, .k = p->k,
                .width = tensor_width(x)};
  int64_t dims[MAX_RANK];
  int axis;
  tensor *values, *indices = NULL;
  TRY(axis_normalise(p->axis, x->rank, "axis", &axis));
  if (count && count->count != 1) return ERROR(INVALID_ARGUMENT, "'K' must be one number, but has %" PRId64 " elements", count->count);
  if (count) j.k = integer_at(count, 0);
  j.n = x->dims[axis];
  TRY(topk_check(j.k, j.n, axis));
  if (j.n > UINT32_MAX)
    return ERROR(NOT_IMPLEMENTED, "axis %d has %" PRId64 " elements; at most %" PRIu32 " are supported", axis, j.n, UINT32_MAX);
  for (int d = 0; d < x->rank; ++d) dims[d] = d == axis ? j.k : x->dims[d];
  TRY(kernel_output(k, 0, x->rank, dims, &values));
  if (k->out_count > 1) TRY(kernel_output(k, 1, x->rank, dims, &indices));
  j.inner = dims_product(x->dims, axis + 1, x->rank);
  j.rows = dims_product(x->dims, 0, axis) * j.inner;
  if (j.rows == 0 || j.k == 0) return OK;
  j.values = values ? values->data : NULL;
  j.indices = indices ? indices->data : NULL;
  j.wide = j.width == 8;
  j.slots = j.rows * j.n < 16384 ? 1 : j.rows < k->threads ? j.rows : k->threads;
  j.heap_bytes = j.k * (int64_t)(j.wide ? sizeof(wide_item) : sizeof(item));
  TRY(kernel_scratch(k, (size_t)(j.slots * j.heap_bytes), (void **)&j.heaps));
  parallel_for(k->threads, j.slots, 1, topk_slots, &j);
  return OK;
}

#define TOPK .T = TS_NUMERIC, .infer = topk_infer, .prepare = topk_prepare, .run = topk_run

OP_FAMILY(topk) = {
  {.name = "TopK", .since = 1, .signature = "X:T -> Values:T Indices:i64", TOPK},
  {.name = "TopK", .since = 10, .signature = "X:T K:i64 -> Values:T Indices:i64", TOPK},
  {.name = "TopK", .since = 11, .signature = "X:T K:i64 -> Values:T Indices:i64", TOPK},
  {.name = "TopK", .since = 24, .signature = "X:T K:i64 -> Values:T Indices:i64", TOPK},
  {0}};
