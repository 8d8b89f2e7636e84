/* The kernel of all products that go through shared memory. What it multiplies with is a TILE: registers of one thread, and how they take up
 * a tile of each side (product_simt.cuh with ordinary arithmetic, product_mma.cuh with tensor cores).
 *
 *   rows, columns, depth     of C's block, and how many inner indices are taken at a time
 *   threads, stages          of a block; tiles of each side in shared memory
 *   blocks                   that share a multiprocessor: what bounds the registers
 *   a_inner, b_inner         does the inner index run fastest in shared memory?
 *   multiply(a, b)           adds the product of two tiles
 *   passes, pass_rows        the finished block goes out through shared memory in so many parts
 *   put(pass, out)           writes this thread's sums of a part
 *   row_of(pass, r)          the block's row that is row r of a part */
#ifndef ORTCORE_KERNELS_CUDA_PRODUCT_TILES_CUH
#define ORTCORE_KERNELS_CUDA_PRODUCT_TILES_CUH

#include "product_end.cuh"
#include "product_side.cuh"

namespace ortcore {

struct product_dims {
  int m, n, k, split_depth;                                 /* inner indices of each split */
  int tile_rows, tile_columns;                              /* tiles of C */
  cuda_batch batch;
};

/* Blocks that run at about the same time share rows and columns: they go down eight rows of tiles before they go right. */
ON_GPU void tile_at(const product_dims &d, int index, int *out_row, int *out_column) {
  int band = 8 * d.tile_columns, first = index / band * 8, height = min(d.tile_rows - first, 8), within = index % band;
  *out_row = first + within % height;
  *out_column = within / height;
}

/* Adds the products of all inner indices of [begin, end): while one tile is multiplied, the next ones are on their way. */
template <class TILE, class LOADER_A, class LOADER_B, class SHARED>
ON_GPU void multiply_tiles(TILE &sums, LOADER_A &a, LOADER_B &b, SHARED &s, int begin, int end) {
  constexpr int stages = TILE::stages, depth = TILE::depth;
  const int tiles = (end - begin + depth - 1) / depth;
  auto plan = [&](int t) {
    a.plan(s.a_table[t & 1], begin + t * depth);
    b.plan(s.b_table[t & 1], begin + t * depth);
  };
  auto fetch = [&](int t) {
    a.fetch(s.a[t % stages], begin + t * depth, s.a_table[t & 1]);
    b.fetch(s.b[t % stages], begin + t * depth, s.b_table[t & 1]);
  };
  plan(0);
#pragma unroll
  for (int t = 0; t < stages - 1; ++t) {
    __syncthreads();
    plan(t + 1);
    if (t < tiles) fetch(t);
    copies_close();
  }
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    int next = t + stages - 1;
    copies_wait<stages - 2>();
    __syncthreads();
    if (next < tiles) fetch(next);
    plan(next + 1);
    copies_close();
    sums.multiply(s.a[t % stages], s.b[t % stages]);
  }
}

template <class TILE, class A, class B, class END>
__global__ void __launch_bounds__(TILE::threads, TILE::blocks) product_kernel(const A a, const B b, END end, const product_dims d) {
  using sum = typename END::sum;
  using loader_a = tile_loader<A, TILE::rows, TILE::depth, TILE::threads, TILE::a_inner>;
  using loader_b = tile_loader<B, TILE::columns, TILE::depth, TILE::threads, TILE::b_inner>;
  struct sides {
    typename loader_a::tile a[TILE::stages];
    typename loader_b::tile b[TILE::stages];
    typename loader_a::table a_table[2];
    typename loader_b::table b_table[2];
  };
  using part = sum[TILE::pass_rows][TILE::columns + end_width];
  __shared__ __align__(16) unsigned char memory[sizeof(sides) > sizeof(part) ? sizeof(sides) : sizeof(part)];

  int tiles = d.tile_rows * d.tile_columns, tile_row, tile_column;
  tile_at(d, blockIdx.x % tiles, &tile_row, &tile_column);
  int64_t index = blockIdx.x / tiles;
  batch_place place = place_of(d.batch, index);
  end.open(place);
  const int row = tile_row * TILE::rows, column = tile_column * TILE::columns;
  const int begin = blockIdx.y * d.split_depth, stop = min(begin + d.split_depth, d.k);
  TILE sums;
  loader_a rows(a, place.a, row);
  loader_b columns(b, place.b, column);
  multiply_tiles(sums, rows, columns, *reinterpret_cast<sides *>(memory), begin, stop);

  part &out = *reinterpret_cast<part *>(memory);
#pragma unroll 1
  for (int pass = 0; pass < TILE::passes; ++pass) {
    __syncthreads();
    sums.put(pass, out);
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x * end_width; i < TILE::pass_rows * TILE::columns; i += TILE::threads * end_width) {
      int r = i / TILE::columns, c = i % TILE::columns, at_row = row + TILE::row_of(pass, r), at_column = column + c;
      if (at_row >= d.m || at_column >= d.n) continue;
      int count = min(d.n - at_column, end_width);
      if (end.partial) {
        sum *to = end.partial + ((blockIdx.y * d.batch.count + index) * d.m + at_row) * d.n + at_column;
        for (int j = 0; j < count; ++j) to[j] = out[r][c + j];
      } else {
        end.store(at_row, at_column, &out[r][c], count);
      }
    }
  }
}

inline int tiles_of(int64_t extent, int size) { return static_cast<int>((extent + size - 1) / size); }

/* The sums of all splits of a product, finished. */
template <class END>
__global__ void __launch_bounds__(threads_per_block) finish_kernel(END end, int m, int n, int splits, cuda_batch batch) {
  using sum = typename END::sum;
  int groups = (n + end_width - 1) / end_width;
  int64_t count = batch.count * m * groups, matrix = static_cast<int64_t>(m) * n;
  for (int64_t i = first_index(); i < count; i += index_step()) {
    int column = static_cast<int>(i % groups) * end_width, row = static_cast<int>(i / groups % m), width = min(n - column, end_width);
    int64_t index = i / groups / m;
    const sum *from = end.partial + index * matrix + static_cast<int64_t>(row) * n + column;
    sum x[end_width] = {};
    for (int s = 0; s < splits; ++s, from += batch.count * matrix) {
#pragma unroll
      for (int j = 0; j < end_width; ++j)
        if (j < width) x[j] += from[j];
    }
    END here = end;
    here.open(place_of(batch, index));
    here.store(row, column, x, width);
  }
}

template <class END> int finish(const cuda_product &p, const END &end, void *stream) {
  if (p.splits > 1) {
    int64_t groups = p.batch.count * p.m * ((p.n + end_width - 1) / end_width);
    finish_kernel<END><<<blocks_for(groups), threads_per_block, 0, as_stream(stream)>>>(end, static_cast<int>(p.m), static_cast<int>(p.n),
                                                                                        p.splits, p.batch);
  }
  return cudaGetLastError();
}

template <class TILE> product_dims dims_of(const cuda_product &p, dim3 *out_grid) {
  int depth = tiles_of(tiles_of(p.k, p.splits), TILE::depth) * TILE::depth;
  product_dims d = {static_cast<int>(p.m),
                    static_cast<int>(p.n),
                    static_cast<int>(p.k),
                    depth,
                    tiles_of(p.m, TILE::rows),
                    tiles_of(p.n, TILE::columns),
                    p.batch};
  *out_grid =
      dim3(static_cast<unsigned>(d.tile_rows * static_cast<int64_t>(d.tile_columns) * p.batch.count), static_cast<unsigned>(p.splits));
  return d;
}

/* Enqueues a product whose route is tiles of TILE's size. */
template <class TILE, class A, class B, class END>
int multiply(const cuda_product &p, const A &a, const B &b, const END &end, void *stream) {
  dim3 grid;
  product_dims d = dims_of<TILE>(p, &grid);
  product_kernel<TILE, A, B, END><<<grid, TILE::threads, 0, as_stream(stream)>>>(a, b, end, d);
  return finish(p, end, stream);
}

/* One side as it lies in memory. 16 bytes are moved at a time where every step between matrices, rows or columns is a multiple of them. */
template <class T>
matrix_source<T> matrix_of(const void *data, int64_t outers, int64_t inners, int64_t outer, int64_t inner, int batch_rank, const int64_t *steps) {
  constexpr int per_copy = 16 / sizeof(T);
  bool along_inner = inner == 1 && (outer != 1 || inners > outers);
  bool regular = aligned16(data) && (along_inner ? inner : outer) == 1 && (along_inner ? outer : inner) % per_copy == 0;
  for (int d = 0; d < batch_rank; ++d) regular = regular && steps[d] % per_copy == 0;
  return {static_cast<const T *>(data), static_cast<int>(outers), static_cast<int>(inners), static_cast<int>(outer), static_cast<int>(inner),
          regular, along_inner};
}

template <class T> matrix_source<T> left_of(const cuda_product &p, const void *a) {
  return matrix_of<T>(a, p.m, p.k, p.a_row, p.a_inner, p.batch.rank, p.batch.a);
}
template <class T> matrix_source<T> right_of(const cuda_product &p, const void *b) {
  return matrix_of<T>(b, p.n, p.k, p.b_column, p.b_inner, p.batch.rank, p.batch.b);
}

}  // namespace ortcore

#endif
