/* The blocked matrix product against three loops: every accumulator, packed and not, sizes around the edges of tiles and panels. */
#include "check.h"

#include <math.h>
#include <ortcore/base/half.h>
#include <ortcore/kernels/cpu/epilogue.h>
#include <ortcore/kernels/cpu/gemm.h>

static uint32_t state = 1;
static uint32_t next_random(void) { return state = state * 1664525u + 1013904223u; }

static void fill(void *data, dtype type, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    int32_t v = (int32_t)(next_random() >> 24) - 128;
    switch (type) {
      case ORTC_FLOAT: ((float *)data)[i] = (float)v / 64; break;
      case ORTC_DOUBLE: ((double *)data)[i] = v / 64.0; break;
      case ORTC_BFLOAT16: ((bf16 *)data)[i] = f32_to_bf16((float)v / 64); break;
      case ORTC_INT32: ((int32_t *)data)[i] = v * 100003; break;
      case ORTC_INT64: ((int64_t *)data)[i] = (int64_t)v * 1000000007; break;
      default: ((uint8_t *)data)[i] = (uint8_t)v; break;
    }
  }
}

static double number(const void *data, dtype type, int64_t i) {
  switch (type) {
    case ORTC_FLOAT: return ((const float *)data)[i];
    case ORTC_DOUBLE: return ((const double *)data)[i];
    case ORTC_BFLOAT16: return bf16_to_f32(((const bf16 *)data)[i]);
    default: return 0;
  }
}

static int64_t integer(const void *data, dtype type, int64_t i) {
  switch (type) {
    case ORTC_INT32: return ((const int32_t *)data)[i];
    case ORTC_INT64: return ((const int64_t *)data)[i];
    case ORTC_INT8: return ((const int8_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
  }
}

static dtype result_type(dtype type) { return type == ORTC_INT8 || type == ORTC_UINT8 ? ORTC_INT32 : type; }

static void compare(dtype a_type, dtype b_type, const void *a, const void *b, const void *y, int64_t m, int64_t n, int64_t k, const int8_t *a_zero, const uint8_t *b_zero) {
  dtype type = result_type(a_type);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      uint64_t exact = 0;
      for (int64_t x = 0; x < k; ++x) {
        sum += number(a, a_type, i * k + x) * number(b, b_type, x * n + j);
        exact += (uint64_t)(integer(a, a_type, i * k + x) - (a_zero ? *a_zero : 0)) * (uint64_t)(integer(b, b_type, x * n + j) - (b_zero ? b_zero[j] : 0));
      }
      if (type == ORTC_INT32) CHECK_INT(((const int32_t *)y)[i * n + j], (int32_t)exact);
      else if (type == ORTC_INT64) CHECK_INT(((const int64_t *)y)[i * n + j], (int64_t)exact);
      else CHECKF(fabs(number(y, type, i * n + j) - sum) <= (type == ORTC_BFLOAT16 ? 1e-2 : 1e-5) * (fabs(sum) + 10), "at %d,%d", (int)i, (int)j);
    }
}

enum { GUARD = 4096 };

/* Scratch is planned for most threads that a run may have; another run beside it may leave this one with fewer. */
static void one_product(dtype a_type, dtype b_type, int64_t m, int64_t n, int64_t k, int planned, int threads, bool packed) {
  bool bytes = a_type == ORTC_INT8;
  gemm_acc acc = gemm_acc_of_pair(a_type, b_type);
  void *a = malloc((size_t)(m * k) * 8 + 8), *b = malloc((size_t)(k * n) * 8 + 8), *y = malloc((size_t)(m * n) * 8 + 8);
  size_t scratch_bytes = gemm_scratch_bytes(acc, planned, m, n, k);
  uint8_t *scratch = aligned_alloc(64, (scratch_bytes + GUARD + 63) & ~(size_t)63);
  memset(scratch + scratch_bytes, 0xa5, GUARD);
  void *panels = packed ? aligned_alloc(64, (gemm_packed_bytes(acc, n, k) + 127) & ~(size_t)63) : NULL;
  int8_t a_zero = -7;
  uint8_t *b_zero = malloc((size_t)n);
  fill(a, a_type, m * k);
  fill(b, b_type, k * n);
  fill(b_zero, ORTC_UINT8, n);
  gemm_matrix left, right;
  epilogue end;
  CHECK(gemm_matrix_init(&left, a_type) && gemm_matrix_init(&right, b_type) && epilogue_init(&end, result_type(a_type)));
  left.data = a, left.outer_stride = k, left.inner_stride = 1;
  right.data = b, right.outer_stride = 1, right.inner_stride = n;
  if (bytes) left.zero_points = &a_zero, right.zero_points = b_zero, right.zero_point_period = n;
  if (packed) {
    gemm_pack_side(acc, &right.side, n, k, panels);
    right.side.packed = panels;
  }
  end.out = y, end.row_stride = n;
  gemm_problem p = {acc, 1, m, n, k, &left.side, &right.side, &end.sink};
  gemm_run(&p, threads, scratch);
  for (int i = 0; i < GUARD; ++i)
    if (!CHECKF(scratch[scratch_bytes + (size_t)i] == 0xa5, "%d threads of %d wrote behind their scratch", threads, planned)) break;
  compare(a_type, b_type, a, b, y, m, n, k, bytes ? &a_zero : NULL, bytes ? b_zero : NULL);
  free(a), free(b), free(y), free(scratch), free(panels), free(b_zero);
}

static void test_products(void) {
  static const int64_t sizes[][3] = {{1, 1, 1}, {6, 16, 4}, {7, 17, 5}, {5, 33, 257}, {145, 40, 300}, {13, 300, 0}, {30, 270, 1030}, {8, 600, 40}, {9, 530, 1024},
                                     {150, 530, 36}};
  static const dtype types[][2] = {{ORTC_FLOAT, ORTC_FLOAT}, {ORTC_DOUBLE, ORTC_DOUBLE}, {ORTC_BFLOAT16, ORTC_BFLOAT16},
                                   {ORTC_INT32, ORTC_INT32}, {ORTC_INT64, ORTC_INT64}, {ORTC_INT8, ORTC_UINT8}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
      for (int way = 0; way < 4; ++way)
        one_product(types[t][0], types[t][1], sizes[s][0], sizes[s][1], sizes[s][2], 2, 1 + (way & 1), way & 2);
}

static void test_fewer_threads_than_planned(void) {
  for (int planned = 1; planned <= 16; ++planned)
    for (int threads = 1; threads <= planned; ++threads)
      for (int64_t n = 40; n < 1000; n = n * 3 / 2) {
        one_product(ORTC_FLOAT, ORTC_FLOAT, 4, n, 96, planned, threads, false);
        one_product(ORTC_INT8, ORTC_UINT8, 9, n, 64, planned, threads, false);
      }
}

static void one_row(int n, int k, int threads) {
  float *x = malloc(((size_t)k + 1) * 4), *b = malloc(((size_t)k * (size_t)n + 1) * 4), *transposed = malloc(((size_t)k * (size_t)n + 1) * 4);
  float *y = malloc((size_t)n * 4), *z = malloc((size_t)n * 4);
  fill(x, ORTC_FLOAT, k);
  fill(b, ORTC_FLOAT, (int64_t)k * n);
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < n; ++j) transposed[j * k + i] = b[i * n + j];
  gemv_f32(threads, n, k, x, b, n, 1, y);
  gemv_f32(threads, n, k, x, transposed, 1, k, z);
  for (int j = 0; j < n; ++j) {
    double sum = 0;
    for (int i = 0; i < k; ++i) sum += (double)x[i] * (double)b[i * n + j];
    CHECKF(fabs((double)y[j] - sum) < 1e-4 && fabs((double)z[j] - sum) < 1e-4, "%d x %d, column %d: %g and %g for %g", n, k, j, (double)y[j], (double)z[j], sum);
  }
  free(x), free(b), free(transposed), free(y), free(z);
}

/* Strips of columns and vectors of the sum that are whole, and what is left of them. */
static void test_single_rows(void) {
  static const int sizes[][2] = {{300, 130}, {1, 1}, {1, 200}, {5, 15}, {16, 16}, {17, 63}, {768, 64}, {769, 79}, {1600, 81}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
    for (int threads = 1; threads < 3; ++threads) one_row(sizes[s][0], sizes[s][1], threads);
}

int main(void) {
  RUN(test_products);
  RUN(test_fewer_threads_than_planned);
  RUN(test_single_rows);
  return check_result();
}
