/* Products with a few rows, which read B once and compute little: every thread has its columns of all rows. Where B runs along the inner
 * index a warp takes one column, else a warp takes some rows of B at all of its lanes' columns. */
#include "product_routes.cuh"
#include "product_tiles.cuh"

using namespace ortcore;

namespace {

constexpr int most_rows = 8, warp = 32, warps = threads_per_block / warp;

struct vector_dims {
  int m, n, k, split_depth, a_row, a_inner, b_inner, b_column, blocks;   /* blocks: for the columns of one matrix */
  cuda_batch batch;
};

/* WIDTH neighbours, read at once. */
template <class T, int WIDTH> struct alignas(WIDTH * sizeof(T)) run { T at[WIDTH]; };
template <class T, int WIDTH> ON_GPU run<T, WIDTH> read(const T *from) { return *reinterpret_cast<const run<T, WIDTH> *>(from); }

/* Sums of `count` <= end_width columns of a row, to C or to where parts are collected. */
template <class END>
ON_GPU void deliver(const END &end, const vector_dims &d, int64_t index, int row, int column, const float *x, int count) {
  if (end.partial) {
    float *to = end.partial + ((blockIdx.y * d.batch.count + index) * d.m + row) * d.n + column;
    for (int j = 0; j < count; ++j) to[j] = x[j];
  } else {
    end.store(row, column, x, count);
  }
}

/* B runs along the inner index: a warp for a column. */
template <class T, int WIDTH>
__global__ void __launch_bounds__(threads_per_block) column_kernel(const T *a, const T *b, plain_end<T, float> end, vector_dims d) {
  const int lane = threadIdx.x % warp, column = static_cast<int>(blockIdx.x % d.blocks) * warps + threadIdx.x / warp;
  const int64_t index = blockIdx.x / d.blocks;
  const batch_place place = place_of(d.batch, index);
  if (column >= d.n) return;
  a += place.a;
  b += place.b + static_cast<int64_t>(column) * d.b_column;
  end.open(place);
  const int begin = blockIdx.y * d.split_depth, stop = min(begin + d.split_depth, d.k);
  float sums[most_rows] = {};
  for (int k = begin + lane * WIDTH; k < stop; k += warp * WIDTH) {
    const run<T, WIDTH> right = read<T, WIDTH>(b + static_cast<int64_t>(k) * d.b_inner);
#pragma unroll
    for (int i = 0; i < most_rows; ++i) {
      if (i >= d.m) break;
      const run<T, WIDTH> left = read<T, WIDTH>(a + static_cast<int64_t>(i) * d.a_row + static_cast<int64_t>(k) * d.a_inner);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) sums[i] += load(left.at[j]) * load(right.at[j]);
    }
  }
  float own = 0;                                            /* lane i gets the sum of row i */
#pragma unroll
  for (int i = 0; i < most_rows; ++i) {
    if (i >= d.m) break;
    for (int apart = warp / 2; apart > 0; apart /= 2) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], apart);
    if (lane == i) own = sums[i];
  }
  if (lane < d.m) deliver(end, d, index, lane, column, &own, 1);
}

/* B runs along the columns: a block has 32 * WIDTH of them, its warps take turns along the inner index. */
template <class T, int WIDTH>
__global__ void __launch_bounds__(threads_per_block) row_kernel(const T *a, const T *b, plain_end<T, float> end, vector_dims d) {
  constexpr int columns = warp * WIDTH;
  __shared__ float parts[warps][most_rows][columns];
  const int lane = threadIdx.x % warp, own_warp = threadIdx.x / warp, first = static_cast<int>(blockIdx.x % d.blocks) * columns,
            column = first + lane * WIDTH;
  const int64_t index = blockIdx.x / d.blocks;
  const batch_place place = place_of(d.batch, index);
  a += place.a;
  b += place.b + static_cast<int64_t>(column) * d.b_column;
  end.open(place);
  const int begin = blockIdx.y * d.split_depth, stop = column < d.n ? min(begin + d.split_depth, d.k) : 0;
  float sums[most_rows][WIDTH] = {};
#pragma unroll 4
  for (int k = begin + own_warp; k < stop; k += warps) {
    const run<T, WIDTH> right = read<T, WIDTH>(b + static_cast<int64_t>(k) * d.b_inner);
#pragma unroll
    for (int i = 0; i < most_rows; ++i) {
      if (i >= d.m) break;
      float left = load(a[static_cast<int64_t>(i) * d.a_row + static_cast<int64_t>(k) * d.a_inner]);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) sums[i][j] += left * load(right.at[j]);
    }
  }
#pragma unroll
  for (int i = 0; i < most_rows; ++i) {
    if (i >= d.m) break;
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) parts[own_warp][i][lane * WIDTH + j] = sums[i][j];
  }
  __syncthreads();
  for (int i = threadIdx.x * end_width; i < d.m * columns; i += threads_per_block * end_width) {
    int row = i / columns, within = i % columns, count = min(d.n - first - within, end_width);
    if (count <= 0) continue;
    float x[end_width] = {};
    for (int w = 0; w < warps; ++w)
#pragma unroll
      for (int j = 0; j < end_width; ++j) x[j] += parts[w][row][within + j];
    deliver(end, d, index, row, first + within, x, count);
  }
}

bool steps_fit(const cuda_batch &batch, const int64_t *steps, int width) {
  for (int d = 0; d < batch.rank; ++d)
    if (steps[d] % width) return false;
  return true;
}

template <class T> int launch(const cuda_product &p, const cuda_operands &o, void *stream) {
  constexpr int width = 4, bytes = width * sizeof(T);
  auto end = end_of<T, float>(p, o);
  const T *a = static_cast<const T *>(o.a), *b = static_cast<const T *>(o.b);
  bool by_column = p.b_inner == 1 && p.b_column != 1;
  int depth = tiles_of(tiles_of(p.k, p.splits), width) * width;
  vector_dims d = {static_cast<int>(p.m),       static_cast<int>(p.n),       static_cast<int>(p.k),        depth, static_cast<int>(p.a_row),
                   static_cast<int>(p.a_inner), static_cast<int>(p.b_inner), static_cast<int>(p.b_column), 0,     p.batch};
  bool wide = reinterpret_cast<uintptr_t>(b) % bytes == 0 && steps_fit(p.batch, p.batch.b, width);
  if (by_column) {
    wide = wide && p.b_column % width == 0 && p.k % width == 0 && p.a_inner == 1 && p.a_row % width == 0 &&
           reinterpret_cast<uintptr_t>(a) % bytes == 0 && steps_fit(p.batch, p.batch.a, width);
    d.blocks = tiles_of(p.n, warps);
  } else {
    wide = wide && p.b_column == 1 && p.b_inner % width == 0 && p.n % width == 0;
    d.blocks = tiles_of(p.n, warp * (wide ? width : 1));
  }
  dim3 grid(static_cast<unsigned>(d.blocks * p.batch.count), static_cast<unsigned>(p.splits));
  auto kernel = by_column ? (wide ? column_kernel<T, width> : column_kernel<T, 1>) : (wide ? row_kernel<T, width> : row_kernel<T, 1>);
  kernel<<<grid, threads_per_block, 0, as_stream(stream)>>>(a, b, end, d);
  return finish(p, end, stream);
}

}  // namespace

int ortcore::product_vector(const cuda_product &p, const cuda_operands &o, void *stream) {
  switch (p.type) {
    case ORTC_FLOAT: return launch<float>(p, o, stream);
    case ORTC_FLOAT16: return launch<__half>(p, o, stream);
    case ORTC_BFLOAT16: return launch<__nv_bfloat16>(p, o, stream);
    default: return cudaErrorInvalidValue;
  }
}
