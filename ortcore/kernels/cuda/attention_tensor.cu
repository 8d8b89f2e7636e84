/* Attention of halves by tensor cores. A block has 64 queries of one head, a warp 16 of them, whose products with a tile of 64 keys stay in
 * registers: they become the left side of the product with the values. Values arrive while scores are computed, the next keys meanwhile. */
#include <ortcore/kernels/cuda/attention.cuh>

using namespace ortcore;

namespace {

constexpr int tile = 64;                                   /* queries of a block, and keys of a tile */
constexpr int threads = 128;

ON_GPU uint32_t pair_of(float low, float high, __half) {
  __half2 both = __floats2half2_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&both);
}
ON_GPU uint32_t pair_of(float low, float high, __nv_bfloat16) {
  __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&both);
}

/* Rows are eight elements longer than a head, so that the rows of a small matrix lie in different banks. */
template <class T, int HEAD> using vectors = T[tile][HEAD + 8];

/* Vectors [row, row + tile) of a head, zeros after `end` and after `size`; complete once the group of copies is. */
template <class T, int HEAD>
ON_GPU void fetch(const cuda_heads &from, int b, int h, int row, int end, int size, bool by_packs, vectors<T, HEAD> &to) {
  constexpr int width = pack<T>::size, packs = HEAD / width;
  if (by_packs) {
    for (int i = threadIdx.x; i < tile * packs; i += threads) {
      int r = i / packs, column = i % packs * width;
      bool there = row + r < end && column < size;
      copy_16(&to[r][column], vector_at<T>(from, b, h, there ? row + r : 0) + (there ? column : 0), there ? 16 : 0);
    }
  } else {
    for (int i = threadIdx.x; i < tile * HEAD; i += threads) {
      int r = i / HEAD, column = i % HEAD;
      to[r][column] = row + r < end && column < size ? vector_at<T>(from, b, h, row + r)[column] : store<T>(0.0f);
    }
  }
  copies_close();
}

/* The two rows of a 16-row tile of which a thread has two columns in eight: what their softmax knows so far. */
struct running { float most = -INFINITY, sum = 0; };

template <class T, int HEAD> struct query_tile {
  uint32_t q[HEAD / 16][4];
  float y[HEAD / 8][4] = {};
  running rows[2];

  ON_GPU void take_queries(const vectors<T, HEAD> &from, int top, int lane) {
#pragma unroll
    for (int k = 0; k < HEAD / 16; ++k) load_matrices<false>(&from[top + lane % 16][k * 16 + lane / 16 * 8], q[k]);
  }

  ON_GPU void multiply_keys(const vectors<T, HEAD> &keys, int lane, float (&s)[tile / 8][4]) const {
    const int line = lane % 8, second = lane / 8 % 2 * 8, third = lane / 16 * 8;
#pragma unroll
    for (int j = 0; j < tile / 8; ++j) s[j][0] = s[j][1] = s[j][2] = s[j][3] = 0;
#pragma unroll
    for (int j = 0; j < tile / 16; ++j)
#pragma unroll
      for (int k = 0; k < HEAD / 16; ++k) {
        uint32_t b[4];
        load_matrices<false>(&keys[j * 16 + third + line][k * 16 + second], b);
        multiply_add(s[2 * j], q[k], b[0], b[1], T());
        multiply_add(s[2 * j + 1], q[k], b[2], b[3], T());
      }
  }

  /* Scores become exponentials about the largest so far; what was summed about a smaller one shrinks. */
  ON_GPU void exponentiate(float (&s)[tile / 8][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = rows[half].most, sum = 0;
#pragma unroll
      for (int j = 0; j < tile / 8; ++j) most = fmaxf(most, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
      most = fmaxf(most, __shfl_xor_sync(whole_warp, most, 1));
      most = fmaxf(most, __shfl_xor_sync(whole_warp, most, 2));
      float shift = shift_of(most), shrink = exp_fast(rows[half].most - shift);
#pragma unroll
      for (int j = 0; j < tile / 8; ++j)
#pragma unroll
        for (int c = 2 * half; c < 2 * half + 2; ++c) {
          s[j][c] = exp_fast(s[j][c] - shift);
          sum += s[j][c];
        }
      rows[half].most = most;
      rows[half].sum = rows[half].sum * shrink + sum;
#pragma unroll
      for (int n = 0; n < HEAD / 8; ++n) {
        y[n][2 * half] *= shrink;
        y[n][2 * half + 1] *= shrink;
      }
    }
  }

  ON_GPU void add_values(const vectors<T, HEAD> &values, int lane, const float (&p)[tile / 8][4]) {
    const int line = lane % 8, second = lane / 8 % 2 * 8, third = lane / 16 * 8;
#pragma unroll
    for (int k = 0; k < tile / 16; ++k) {
      const float(&left)[4] = p[2 * k], (&right)[4] = p[2 * k + 1];
      uint32_t weights[4] = {pair_of(left[0], left[1], T()), pair_of(left[2], left[3], T()), pair_of(right[0], right[1], T()),
                             pair_of(right[2], right[3], T())};
#pragma unroll
      for (int n = 0; n < HEAD / 16; ++n) {
        uint32_t b[4];
        load_matrices<true>(&values[k * 16 + second + line][n * 16 + third], b);
        multiply_add(y[2 * n], weights, b[0], b[1], T());
        multiply_add(y[2 * n + 1], weights, b[2], b[3], T());
      }
    }
  }

  ON_GPU void write(const cuda_attention &a, const block_of_queries &at, int query, int lane) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = rows[half].sum;
      sum += __shfl_xor_sync(whole_warp, sum, 1);
      sum += __shfl_xor_sync(whole_warp, sum, 2);
      float factor = sum == 0 ? 0 : 1 / sum;
      int i = query + half * 8;
      if (i >= a.q_len) continue;
      T *to = const_cast<T *>(vector_at<T>(a.y, at.batch, at.head, i));
#pragma unroll
      for (int n = 0; n < HEAD / 8; ++n)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          int column = n * 8 + lane % 4 * 2 + c;
          if (column < a.v_size) to[column] = store<T>(y[n][2 * half + c] * factor);
        }
    }
  }
};

/* The scores of one query that a thread holds, half of each fragment: keys first, first + 1, first + 8, first + 9... */
ON_GPU void finish_scores(const cuda_attention &a, const block_of_queries &at, int query, int first, const key_range &seen, int half,
                          float (&s)[tile / 8][4]) {
#pragma unroll
  for (int j = 0; j < tile / 8; ++j)
#pragma unroll
    for (int c = 0; c < 2; ++c) s[j][2 * half + c] = score_of(a, s[j][2 * half + c], first + j * 8 + c, seen);
  if (!a.mask) return;
  with_mask(a, at.batch, at.head, query, [&](auto *mask) {
#pragma unroll
    for (int j = 0; j < tile / 8; ++j)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float &score = s[j][2 * half + c];
        if (score != -INFINITY) score = masked(score, mask[first + j * 8 + c]);
      }
  });
}

template <class T, int HEAD> __global__ void __launch_bounds__(threads) tensor_kernel(cuda_attention a, bool by_packs) {
  __shared__ alignas(16) vectors<T, HEAD> keys, values;
  const int lane = threadIdx.x % warp_threads, top = threadIdx.x / warp_threads * 16;
  const block_of_queries at(a, tile);
  const keys_of_batch all(a, at.batch);
  const int query = at.first + top + lane / 4;             /* of this thread's first row; the second is 8 further */
  const key_range seen[2] = {key_range(a, all, query), key_range(a, all, query + 8)};
  const int begin = key_range(a, all, at.first).first / tile * tile, end = key_range(a, all, min(at.first + tile, a.q_len) - 1).end;
  query_tile<T, HEAD> mine;
  fetch<T, HEAD>(a.q, at.batch, at.head, at.first, a.q_len, a.size, by_packs, keys);
  copies_wait<0>();
  __syncthreads();
  mine.take_queries(keys, top, lane);
  __syncthreads();
  fetch<T, HEAD>(a.k, at.batch, at.kv_head, begin, end, a.size, by_packs, keys);
  for (int key = begin; key < end; key += tile) {
    float s[tile / 8][4];
    fetch<T, HEAD>(a.v, at.batch, at.kv_head, key, end, a.v_size, by_packs, values);
    copies_wait<1>();
    __syncthreads();
    mine.multiply_keys(keys, lane, s);
    __syncthreads();
    fetch<T, HEAD>(a.k, at.batch, at.kv_head, key + tile, end, a.size, by_packs, keys);
#pragma unroll
    for (int half = 0; half < 2; ++half) finish_scores(a, at, query + half * 8, key + lane % 4 * 2, seen[half], half, s);
    mine.exponentiate(s);
    copies_wait<1>();
    __syncthreads();
    mine.add_values(values, lane, s);
    __syncthreads();
  }
  copies_wait<0>();
  mine.write(a, at, query, lane);
}

template <class T> void launch(const cuda_attention &a, cudaStream_t stream) {
  unsigned blocks = static_cast<unsigned>((a.q_len + tile - 1) / tile) * a.q_heads * a.batch;
  bool by_packs = all_go_by_packs<T>(a);
  if (a.size <= 64 && a.v_size <= 64) tensor_kernel<T, 64><<<blocks, threads, 0, stream>>>(a, by_packs);
  else tensor_kernel<T, 128><<<blocks, threads, 0, stream>>>(a, by_packs);
}

}  // namespace

int ortcore::attention_by_tensor_cores(const cuda_attention &a, cudaStream_t stream) {
  if (a.type == ORTC_FLOAT16) launch<__half>(a, stream);
  else launch<__nv_bfloat16>(a, stream);
  return cudaGetLastError();
}
