/* Attention by multiplications of floats, for what tensor cores do not take: floats, and heads longer than 128. A block has 16 groups of eight
 * threads; a group owns a few queries, of which each thread computes some scores and some columns of the result. */
#include <ortcore/kernels/cuda/attention.cuh>

using namespace ortcore;

namespace {

constexpr int groups = 16, group_threads = 8, threads = groups * group_threads;

/* Four neighbouring numbers. */
struct alignas(16) four { float at[4]; };
template <class T> struct alignas(4 * sizeof(T)) four_stored { T at[4]; };

/* Rows are four floats longer than a head, so that equal columns of eight rows lie in different banks. */
template <int ROWS, int HEAD> using vectors = float[ROWS][HEAD + 4];

/* Vectors [row, row + ROWS) of a head as floats, zeros after `end` and after `size`. */
template <class T, int ROWS, int HEAD>
ON_GPU void fetch(const cuda_heads &from, int b, int h, int row, int end, int size, bool by_packs, vectors<ROWS, HEAD> &to) {
  for (int i = threadIdx.x; i < ROWS * HEAD / 4; i += threads) {
    int r = i / (HEAD / 4), column = i % (HEAD / 4) * 4;
    four values = {};
    if (row + r < end) {
      const T *vector = vector_at<T>(from, b, h, row + r) + column;
      if (by_packs && column < size) {
        four_stored<T> stored = *reinterpret_cast<const four_stored<T> *>(vector);
#pragma unroll
        for (int j = 0; j < 4; ++j) values.at[j] = load(stored.at[j]);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (column + j < size) values.at[j] = load(vector[j]);
      }
    }
    *reinterpret_cast<four *>(&to[r][column]) = values;
  }
}

ON_GPU float group_max(float x) { return lanes_reduce(x, group_threads, [](float a, float b) { return fmaxf(a, b); }); }
ON_GPU float group_sum(float x) { return lanes_reduce(x, group_threads, plus()); }

/* QUERIES of a group, of which each thread has KEYS scores in a tile: key number n stands at n * group_threads + the thread. */
template <class T, int HEAD, int QUERIES, int KEYS> struct query_group {
  static constexpr int rows = groups * QUERIES, tile = group_threads * KEYS, wide = HEAD / 4 / group_threads;
  using query_vectors = vectors<rows, HEAD>;
  using tile_vectors = vectors<tile, HEAD>;
  using tile_weights = float[rows][tile + 4];

  float y[QUERIES][wide][4] = {}, most[QUERIES], sum[QUERIES] = {};
  const int thread = threadIdx.x % group_threads, top = threadIdx.x / group_threads * QUERIES;

  ON_GPU query_group() {
#pragma unroll
    for (int i = 0; i < QUERIES; ++i) most[i] = -INFINITY;
  }

  ON_GPU void multiply_keys(const query_vectors &queries, const tile_vectors &keys, float (&s)[QUERIES][KEYS]) const {
#pragma unroll
    for (int i = 0; i < QUERIES; ++i)
#pragma unroll
      for (int j = 0; j < KEYS; ++j) s[i][j] = 0;
#pragma unroll 4
    for (int d = 0; d < HEAD; d += 4) {
      four k[KEYS];
#pragma unroll
      for (int j = 0; j < KEYS; ++j) k[j] = *reinterpret_cast<const four *>(&keys[j * group_threads + thread][d]);
#pragma unroll
      for (int i = 0; i < QUERIES; ++i) {
        four q = *reinterpret_cast<const four *>(&queries[top + i][d]);
#pragma unroll
        for (int j = 0; j < KEYS; ++j)
#pragma unroll
          for (int c = 0; c < 4; ++c) s[i][j] += q.at[c] * k[j].at[c];
      }
    }
  }

  ON_GPU void finish_scores(const cuda_attention &a, const keys_of_batch &all, const block_of_queries &at, int i, int key, float (&s)[KEYS]) const {
    const int query = at.first + top + i;
    const key_range seen(a, all, query);
#pragma unroll
    for (int j = 0; j < KEYS; ++j) s[j] = score_of(a, s[j], key + j * group_threads + thread, seen);
    if (!a.mask) return;
    with_mask(a, at.batch, at.head, query, [&](auto *mask) {
#pragma unroll
      for (int j = 0; j < KEYS; ++j)
        if (s[j] != -INFINITY) s[j] = masked(s[j], mask[key + j * group_threads + thread]);
    });
  }

  /* Scores of query i become exponentials about its largest so far; what was summed about a smaller one shrinks. */
  ON_GPU void exponentiate(int i, const float (&s)[KEYS], tile_weights &weights) {
    float now = most[i], part = 0;
#pragma unroll
    for (int j = 0; j < KEYS; ++j) now = fmaxf(now, s[j]);
    now = group_max(now);
    const float shift = shift_of(now), shrink = exp_fast(most[i] - shift);
#pragma unroll
    for (int j = 0; j < KEYS; ++j) {
      float weight = exp_fast(s[j] - shift);
      weights[top + i][j * group_threads + thread] = weight;
      part += weight;
    }
    most[i] = now;
    sum[i] = sum[i] * shrink + group_sum(part);
#pragma unroll
    for (int n = 0; n < wide; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c) y[i][n][c] *= shrink;
  }

  ON_GPU void add_values(const tile_weights &weights, const tile_vectors &values) {
#pragma unroll 4
    for (int j = 0; j < tile; ++j) {
      float weight[QUERIES];
#pragma unroll
      for (int i = 0; i < QUERIES; ++i) weight[i] = weights[top + i][j];
#pragma unroll
      for (int n = 0; n < wide; ++n) {
        four v = *reinterpret_cast<const four *>(&values[j][(n * group_threads + thread) * 4]);
#pragma unroll
        for (int i = 0; i < QUERIES; ++i)
#pragma unroll
          for (int c = 0; c < 4; ++c) y[i][n][c] += weight[i] * v.at[c];
      }
    }
  }

  ON_GPU void write(const cuda_attention &a, const block_of_queries &at) const {
#pragma unroll
    for (int i = 0; i < QUERIES; ++i) {
      const int query = at.first + top + i;
      if (query >= a.q_len) continue;
      T *to = const_cast<T *>(vector_at<T>(a.y, at.batch, at.head, query));
      const float factor = sum[i] == 0 ? 0 : 1 / sum[i];
#pragma unroll
      for (int n = 0; n < wide; ++n)
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          int column = (n * group_threads + thread) * 4 + c;
          if (column < a.v_size) to[column] = store<T>(y[i][n][c] * factor);
        }
    }
  }
};

template <class T, int HEAD, int QUERIES, int KEYS> __global__ void __launch_bounds__(threads, 1) float_kernel(cuda_attention a, bool by_packs) {
  using group = query_group<T, HEAD, QUERIES, KEYS>;
  constexpr int rows = group::rows, tile = group::tile;
  __shared__ alignas(16) typename group::query_vectors queries;
  __shared__ alignas(16) typename group::tile_vectors others;   /* keys, then values */
  __shared__ alignas(16) typename group::tile_weights weights;
  const block_of_queries at(a, rows);
  const keys_of_batch all(a, at.batch);
  const int begin = key_range(a, all, at.first).first / tile * tile, end = key_range(a, all, min(at.first + rows, a.q_len) - 1).end;
  group mine;
  fetch<T, rows, HEAD>(a.q, at.batch, at.head, at.first, a.q_len, a.size, by_packs, queries);
  for (int key = begin; key < end; key += tile) {
    float s[QUERIES][KEYS];
    __syncthreads();
    fetch<T, tile, HEAD>(a.k, at.batch, at.kv_head, key, end, a.size, by_packs, others);
    __syncthreads();
    mine.multiply_keys(queries, others, s);
#pragma unroll
    for (int i = 0; i < QUERIES; ++i) {
      mine.finish_scores(a, all, at, i, key, s[i]);
      mine.exponentiate(i, s[i], weights);
    }
    __syncthreads();
    fetch<T, tile, HEAD>(a.v, at.batch, at.kv_head, key, end, a.v_size, by_packs, others);
    __syncthreads();
    mine.add_values(weights, others);
  }
  mine.write(a, at);
}

template <class T, int HEAD, int QUERIES, int KEYS> void launch(const cuda_attention &a, cudaStream_t stream) {
  constexpr int rows = groups * QUERIES;
  unsigned blocks = static_cast<unsigned>((a.q_len + rows - 1) / rows) * a.q_heads * a.batch;
  float_kernel<T, HEAD, QUERIES, KEYS><<<blocks, threads, 0, stream>>>(a, all_go_by_packs<T>(a));
}

}  // namespace

int ortcore::attention_by_floats(const cuda_attention &a, cudaStream_t stream) {
  int longer = a.size > a.v_size ? a.size : a.v_size;
  if (a.type == ORTC_FLOAT16) launch<__half, 256, 1, 2>(a, stream);
  else if (a.type == ORTC_BFLOAT16) launch<__nv_bfloat16, 256, 1, 2>(a, stream);
  else if (longer <= 64) launch<float, 64, 4, 4>(a, stream);
  else if (longer <= 128) launch<float, 128, 2, 4>(a, stream);
  else launch<float, 256, 1, 2>(a, stream);
  return cudaGetLastError();
}
