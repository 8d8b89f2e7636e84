/* Reductions. A line that lies in one piece is read by neighbouring threads, 16 bytes at a time where that is possible; lines that lie side by
 * side are read by rows of 32 threads. Results meet in a fixed order, so that a run can be repeated to the bit. */
#include <ortcore/kernels/cuda/reduce.cuh>

using namespace ortcore;

namespace {

constexpr int most_threads = 512;

/* Each accumulator starts as the result over nothing. */
template <class A> struct sum_of {
  A value = 0;
  ON_GPU void add(A x, reduce_map map) { value = plain_add(value, map == MAP_SQUARE ? x * x : map == MAP_ABSOLUTE && x < 0 ? -x : x); }
  static ON_GPU A plain_add(A a, A b) {
    if constexpr (std::is_integral_v<A>) return static_cast<A>(static_cast<std::make_unsigned_t<A>>(a) + static_cast<std::make_unsigned_t<A>>(b));
    else return a + b;
  }
  static ON_GPU sum_of join(sum_of a, sum_of b) { return {plain_add(a.value, b.value)}; }
  ON_GPU A result() const { return value; }
};

template <class A> struct product_of {
  A value = 1;
  ON_GPU void add(A x, reduce_map) { value *= x; }
  static ON_GPU product_of join(product_of a, product_of b) { return {a.value * b.value}; }
  ON_GPU A result() const { return value; }
};

template <class A> ON_GPU A lowest() {
  if constexpr (std::is_integral_v<A>) return sizeof(A) == 8 ? static_cast<A>(INT64_MIN) : static_cast<A>(INT32_MIN);
  else return -INFINITY;
}
template <class A> ON_GPU A highest() {
  if constexpr (std::is_integral_v<A>) return sizeof(A) == 8 ? static_cast<A>(INT64_MAX) : static_cast<A>(INT32_MAX);
  else return INFINITY;
}

template <class A> struct largest_of {
  A value = lowest<A>();
  ON_GPU void add(A x, reduce_map) { value = is_nan(value) || value > x ? value : x; }
  static ON_GPU largest_of join(largest_of a, largest_of b) {
    a.add(b.value, MAP_NOTHING);
    return a;
  }
  ON_GPU A result() const { return value; }
};

template <class A> struct smallest_of {
  A value = highest<A>();
  ON_GPU void add(A x, reduce_map) { value = is_nan(value) || value < x ? value : x; }
  static ON_GPU smallest_of join(smallest_of a, smallest_of b) {
    a.add(b.value, MAP_NOTHING);
    return a;
  }
  ON_GPU A result() const { return value; }
};

/* log(sum of e^x) about the largest x, so that nothing overflows; an infinite x is the result itself. */
template <class A> struct log_sum_exp_of {
  A most = -INFINITY, sum = 0;
  static ON_GPU A shift(A most) { return isinf(most) ? 0 : most; }
  ON_GPU void add(A x, reduce_map) {
    A now = fmax(most, x);
    sum = sum * exp(most - shift(now)) + exp(x - shift(now));
    most = now;
  }
  static ON_GPU log_sum_exp_of join(log_sum_exp_of a, log_sum_exp_of b) {
    A both = fmax(a.most, b.most);
    return {both, a.sum * exp(a.most - shift(both)) + b.sum * exp(b.most - shift(both))};
  }
  ON_GPU A result() const { return log(sum) + shift(most); }
};

template <class A> ON_GPU void write(const cuda_reduction &r, int64_t at, A value) {
  if constexpr (std::is_floating_point_v<A>) {
    if (r.finish == FINISH_MEAN) value /= static_cast<A>(r.whole);
    if (r.finish == FINISH_ROOT) value = sqrt(value);
    if (r.finish == FINISH_LOGARITHM) value = log(value);
  }
  if constexpr (std::is_same_v<A, float>) {
    if (r.to == ORTC_FLOAT16) static_cast<__half *>(r.y)[at] = store<__half>(value);
    else if (r.to == ORTC_BFLOAT16) static_cast<__nv_bfloat16 *>(r.y)[at] = store<__nv_bfloat16>(value);
    else static_cast<float *>(r.y)[at] = value;
  } else {
    if (r.to == ORTC_UINT8 || r.to == ORTC_BOOL) static_cast<uint8_t *>(r.y)[at] = static_cast<uint8_t>(value);
    else static_cast<A *>(r.y)[at] = value;
  }
}

/* Lines in one piece (inner is 1): blockDim.x threads for each part of a line, blockDim.y parts a block. */
template <template <class> class JOIN, class T> __global__ void __launch_bounds__(most_threads) rows_kernel(cuda_reduction r, bool by_packs) {
  using A = accumulated_t<T>;
  using J = JOIN<A>;
  constexpr int size = pack<T>::size;
  __shared__ alignas(16) unsigned char memory[most_warps * sizeof(J)];
  auto join = [](const J &a, const J &b) { return J::join(a, b); };
  int64_t rows = r.outer * r.parts;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y; first < rows; first += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    int64_t row = first + threadIdx.y, begin = row % r.parts * r.chunk, end = begin + r.chunk < r.n ? begin + r.chunk : r.n;
    const T *x = static_cast<const T *>(r.x) + row / r.parts * r.n;
    if (row >= rows) end = begin;
    J total;
    if (by_packs) {
      for (int64_t i = begin + threadIdx.x * size; i < end; i += blockDim.x * size) {
        pack<T> values = *reinterpret_cast<const pack<T> *>(x + i);
#pragma unroll
        for (int j = 0; j < size; ++j) total.add(take(values.at[j]), r.map);
      }
    } else {
      for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) total.add(take(x[i]), r.map);
    }
    total = row_reduce(total, reinterpret_cast<J *>(memory), join);
    if (threadIdx.x == 0 && row < rows) write(r, row, total.result());
  }
}

/* Lines side by side: columns_at_once of them a block, each read by blockDim.y threads. */
template <template <class> class JOIN, class T> __global__ void __launch_bounds__(most_threads) columns_kernel(cuda_reduction r) {
  using A = accumulated_t<T>;
  using J = JOIN<A>;
  __shared__ alignas(16) unsigned char memory[most_threads * sizeof(J)];
  J *shared = reinterpret_cast<J *>(memory);
  const T *x = static_cast<const T *>(r.x);
  int64_t lines = r.outer * r.parts * r.inner;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * columns_at_once; first < lines; first += static_cast<int64_t>(gridDim.x) * columns_at_once) {
    int64_t line = first + threadIdx.x, part = line / r.inner % r.parts, at = line / r.inner / r.parts * r.n * r.inner + line % r.inner;
    int64_t begin = part * r.chunk, end = begin + r.chunk < r.n ? begin + r.chunk : r.n;
    if (line >= lines) end = begin;
    J total;
    for (int64_t i = begin + threadIdx.y; i < end; i += blockDim.y) total.add(take(x[at + i * r.inner]), r.map);
    shared[threadIdx.y * columns_at_once + threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y == 0) {
      for (int other = 1; other < blockDim.y; ++other) total = J::join(total, shared[other * columns_at_once + threadIdx.x]);
      if (line < lines) write(r, line, total.result());
    }
    __syncthreads();
  }
}

template <template <class> class JOIN, class T> int launch(const cuda_reduction &r, cudaStream_t stream) {
  if (r.inner == 1) {
    bool by_packs = aligned16(r.x) && r.n % pack<T>::size == 0 && r.chunk % pack<T>::size == 0;
    dim3 block = block_for_rows(threads_for_row(r.chunk, by_packs ? 2 * pack<T>::size : 4, most_threads));
    rows_kernel<JOIN, T><<<blocks_for(r.outer * r.parts, block.y), block, 0, stream>>>(r, by_packs);
  } else {
    dim3 block(columns_at_once, threads_for_row(r.chunk, 8, most_threads / columns_at_once));
    columns_kernel<JOIN, T><<<blocks_for(r.outer * r.parts * r.inner, columns_at_once), block, 0, stream>>>(r);
  }
  return cudaGetLastError();
}

}  // namespace

int cuda_reduce(const cuda_reduction *r, void *stream) {
  if (r->outer * r->parts * r->inner == 0) return cudaSuccess;
  return with_reducible(r->from, [&](auto *element) -> int {
    using T = std::remove_pointer_t<decltype(element)>;
    if (r->join == JOIN_MAX) return launch<largest_of, T>(*r, as_stream(stream));
    if (r->join == JOIN_MIN) return launch<smallest_of, T>(*r, as_stream(stream));
    if constexpr (!std::is_same_v<T, uint8_t>) {
      if (r->join == JOIN_SUM) return launch<sum_of, T>(*r, as_stream(stream));
      if (r->join == JOIN_PRODUCT) return launch<product_of, T>(*r, as_stream(stream));
    }
    if constexpr (!std::is_integral_v<T>) {
      if (r->join == JOIN_LOG_SUM_EXP) return launch<log_sum_exp_of, T>(*r, as_stream(stream));
    }
    return cudaErrorInvalidValue;
  });
}

/* Some hundred blocks keep any GPU busy; a part below some thousand elements is not worth the second launch. */
int64_t cuda_reduce_parts(int64_t outer, int64_t n, int64_t inner) {
  constexpr int64_t wanted_blocks = 256, least = 4096, most = 256;
  int64_t blocks = inner == 1 ? outer : (outer * inner + columns_at_once - 1) / columns_at_once;
  int64_t parts = blocks > 0 ? wanted_blocks / blocks : 1, useful = inner == 1 ? n / least : n * columns_at_once / least;
  parts = parts < useful ? parts : useful;
  return parts < 1 ? 1 : parts < most ? parts : most;
}
