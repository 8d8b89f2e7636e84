#include "attention.h"
#include "epilogue.h"
#include "softmax.h"

#include <ortcore/base/checked.h>
#include <ortcore/base/half.h>
#include <ortcore/base/threads.h>
#include <math.h>
#include <string.h>

enum { ROWS = 64 };

/* What a mask adds: a bool that is false hides the key. */
static double mask_at(const tensor *m, int64_t i) {
  switch (m->type) {
    case ORTC_BOOL: return ((const uint8_t *)m->data)[i] ? 0 : -INFINITY;
    case ORTC_FLOAT: return ((const float *)m->data)[i];
    case ORTC_DOUBLE: return ((const double *)m->data)[i];
    case ORTC_FLOAT16: return f16_to_f32(((const f16 *)m->data)[i]);
    case ORTC_BFLOAT16: return bf16_to_f32(((const bf16 *)m->data)[i]);
    case ORTC_INT8: return ((const int8_t *)m->data)[i];
    case ORTC_UINT8: return ((const uint8_t *)m->data)[i];
    case ORTC_INT16: return ((const int16_t *)m->data)[i];
    case ORTC_UINT16: return ((const uint16_t *)m->data)[i];
    case ORTC_INT32: return ((const int32_t *)m->data)[i];
    case ORTC_UINT32: return ((const uint32_t *)m->data)[i];
    case ORTC_INT64: return (double)((const int64_t *)m->data)[i];
    case ORTC_UINT64: return (double)((const uint64_t *)m->data)[i];
    default: return 0;
  }
}

#define T float
#define TANH tanhf
#define NAME(x) f32_##x
#include "attention_rows.h"
#define T double
#define TANH tanh
#define NAME(x) f64_##x
#include "attention_rows.h"

static int64_t block_rows(const attention *a) { return a->q_len < ROWS ? a->q_len : ROWS; }

static size_t scores_bytes(const attention *a) { return align_up((size_t)(block_rows(a) * a->kv_len) * (size_t)dtype_width(a->type), 64); }

static size_t share_bytes(const attention *a) {
  gemm_acc acc = gemm_acc_of(a->type);
  size_t first = gemm_scratch_bytes(acc, 1, block_rows(a), a->kv_len, a->size), second = gemm_scratch_bytes(acc, 1, block_rows(a), a->v_size,
                                                                                                            a->kv_len);
  return scores_bytes(a) + (first > second ? first : second);
}

size_t attention_scratch_bytes(const attention *a, int threads) { return share_bytes(a) * (size_t)threads; }

typedef struct attention_work { const attention *a; int64_t blocks, tasks; int shares; char *scratch; } attention_work;

static void *at(const head_view *v, dtype type, int64_t b, int64_t h, int64_t row) {
  return (char *)v->data + (b * v->batch + h * v->head + row * v->row) * dtype_width(type);
}

/* Rows of one head: scores, probabilities, result. */
static void run_block(const attention *a, int64_t task, int64_t blocks, char *scratch) {
  int64_t row = task % blocks * ROWS, h = task / blocks % a->q_heads, b = task / (blocks * a->q_heads), kv_head = h / (a->q_heads / a->kv_heads);
  int64_t rows = a->q_len - row < ROWS ? a->q_len - row : ROWS;
  gemm_acc acc = gemm_acc_of(a->type);
  gemm_matrix left, right;
  epilogue end;
  gemm_matrix_init(&left, a->type);
  gemm_matrix_init(&right, a->type);
  epilogue_init(&end, a->type);
  left.data = at(&a->q, a->type, b, h, row), left.outer_stride = a->q.row, left.inner_stride = 1;
  right.data = at(&a->k, a->type, b, kv_head, 0), right.outer_stride = a->k.row, right.inner_stride = 1;
  end.out = scratch, end.row_stride = a->kv_len;
  gemm_problem scores = {acc, 1, rows, a->kv_len, a->size, &left.side, &right.side, &end.sink};
  gemm_run(&scores, 1, scratch + scores_bytes(a));
  softmax_fn softmax = softmax_for(a->type);
  for (int64_t i = 0; i < rows; ++i) {
    if (a->type == ORTC_DOUBLE) f64_row(a, b, h, row + i, (double *)scratch + i * a->kv_len, softmax);
    else f32_row(a, b, h, row + i, (float *)scratch + i * a->kv_len, softmax);
  }
  left.data = scratch, left.outer_stride = a->kv_len;
  right.data = at(&a->v, a->type, b, kv_head, 0), right.outer_stride = 1, right.inner_stride = a->v.row;
  end.out = at(&a->y, a->type, b, h, row), end.row_stride = a->y.row;
  gemm_problem result = {acc, 1, rows, a->v_size, a->kv_len, &left.side, &right.side, &end.sink};
  gemm_run(&result, 1, scratch + scores_bytes(a));
}

static void run_shares(void *context, int64_t begin, int64_t end) {
  const attention_work *w = context;
  for (int64_t share = begin; share < end; ++share)
    for (int64_t task = w->tasks * share / w->shares; task < w->tasks * (share + 1) / w->shares; ++task)
      run_block(w->a, task, w->blocks, w->scratch + (size_t)share * share_bytes(w->a));
}

void attention_run(const attention *a, int threads, void *scratch) {
  attention_work w = {a, (a->q_len + ROWS - 1) / ROWS, 0, threads, scratch};
  w.tasks = w.blocks * a->q_heads * a->batch;
  if ((double)w.tasks * (double)block_rows(a) * (double)a->kv_len * (double)(a->size + a->v_size) < 5e5) w.shares = 1;
  if (w.shares > w.tasks) w.shares = (int)w.tasks;
  if (w.tasks) parallel_for(w.shares, w.shares, 1, run_shares, &w);
}
