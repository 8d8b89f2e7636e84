/* The k largest of each line. An element becomes an item, an unsigned code of the same order above the complement of its index, so that all items
 * differ and the first of equal elements is the largest. Lines are cut into tiles that a block sorts in shared memory; each tile leaves its k
 * best, and the lists of neighbours are merged, again and again, until one is left. A line of one tile is done in one launch. */
#include <type_traits>

#include "common.cuh"
#include "topk.h"

using namespace ortcore;

namespace {

constexpr int kMostTile = 2048;                            /* items that a block sorts, a power of two */

/* ---- Items ---- */

struct narrow_item {                                       /* of types of up to 32 bits */
  uint64_t bits;
  using code = uint32_t;
  ON_GPU static narrow_item of(uint32_t code, uint32_t index) { return {static_cast<uint64_t>(code) << 32 | static_cast<uint32_t>(~index)}; }
  ON_GPU bool above(const narrow_item &other) const { return bits > other.bits; }
  ON_GPU uint32_t index() const { return ~static_cast<uint32_t>(bits); }
};

struct wide_item {
  uint64_t high;
  uint32_t low, unused;
  using code = uint64_t;
  ON_GPU static wide_item of(uint64_t code, uint32_t index) { return {code, ~index, 0}; }
  ON_GPU bool above(const wide_item &other) const { return high > other.high || (high == other.high && low > other.low); }
  ON_GPU uint32_t index() const { return ~low; }
};

template <class T> using item_of = std::conditional_t<sizeof(T) == 8, wide_item, narrow_item>;

ON_GPU uint32_t code_of(uint8_t x) { return x; }
ON_GPU uint32_t code_of(int8_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
ON_GPU uint32_t code_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
ON_GPU uint64_t code_of(int64_t x) { return static_cast<uint64_t>(x) ^ 1ull << 63; }
ON_GPU uint32_t code_of(float x) {
  uint32_t u = __float_as_uint(x == 0 ? 0.0f : x);
  return x != x ? UINT32_MAX : u >> 31 ? ~u : u | 0x80000000u;
}
ON_GPU uint64_t code_of(double x) {
  uint64_t u = static_cast<uint64_t>(__double_as_longlong(x == 0 ? 0.0 : x));
  return x != x ? UINT64_MAX : u >> 63 ? ~u : u | 1ull << 63;
}
ON_GPU uint32_t code_of(__half x) { return code_of(load(x)); }
ON_GPU uint32_t code_of(__nv_bfloat16 x) { return code_of(load(x)); }

/* ---- Lists ---- */

/* `count` sorted lists for each line, of `full` items but for the last one. */
template <class ITEM> struct lists { ITEM *at; int64_t count, full, last; };

template <class T> struct result { const T *x; T *values; int64_t *indices; int64_t n, k, inner; };

/* The i-th best item of a line, as the operator's outputs have it. */
template <class T, class ITEM> ON_GPU void put_result(const result<T> &r, int64_t line, int64_t i, const ITEM &item) {
  int64_t outer = line / r.inner, column = line % r.inner, index = item.index(), to = (outer * r.k + i) * r.inner + column;
  if (r.values) r.values[to] = r.x[(outer * r.n + index) * r.inner + column];
  if (r.indices) r.indices[to] = index;
}

/* Sorts n items, a power of two, in descending order: the bitonic network, each of whose steps compares disjoint pairs. */
template <class ITEM> ON_GPU void sort_items(ITEM *items, int n) {
  for (int size = 2; size <= n; size *= 2) {
    for (int far = size / 2; far > 0; far /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
        int low = (i / far) * 2 * far + i % far, high = low + far;
        bool descending = (low & size) == 0;
        ITEM a = items[low], b = items[high];
        if (b.above(a) == descending) items[low] = b, items[high] = a;
      }
    }
  }
  __syncthreads();
}

/* One tile of one line to a block. to.at NULL: the lines have one tile, whose best are the results. */
template <class T>
__global__ void __launch_bounds__(512) tiles_kernel(result<T> r, bool largest, int64_t lines, int tile, int64_t tiles, lists<item_of<T>> to) {
  using ITEM = item_of<T>;
  __shared__ ITEM items[kMostTile];
  for (int64_t job = blockIdx.x; job < lines * tiles; job += gridDim.x) {
    int64_t line = job / tiles, first = job % tiles * tile, left = r.n - first, outer = line / r.inner, column = line % r.inner;
    for (int i = threadIdx.x; i < tile; i += blockDim.x) {
      typename ITEM::code code = 0;
      if (i < left) code = code_of(r.x[(outer * r.n + first + i) * r.inner + column]);
      /* What fills up the tile comes after all elements: its code is the least, and its index larger than theirs. */
      items[i] = ITEM::of(i < left && !largest ? ~code : code, static_cast<uint32_t>(first + i));
    }
    sort_items(items, tile);
    int64_t best = left < tile ? left : tile;
    for (int64_t i = threadIdx.x; i < (best < r.k ? best : r.k); i += blockDim.x) {
      if (to.at) to.at[job * to.full + i] = items[i];
      else put_result(r, line, i, items[i]);
    }
    __syncthreads();
  }
}

/* How many of n items in descending order are above `item`. */
template <class ITEM> ON_GPU int64_t count_above(const ITEM *items, int64_t n, const ITEM &item) {
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (items[middle].above(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* List 2i and list 2i + 1 of each line become list i: an item's place is its own among its neighbours plus how many of the other list are above
 * it. to.at NULL: the two are all there are, and the results. */
template <class T>
__global__ void __launch_bounds__(threads_per_block) merge_kernel(result<T> r, int64_t lines, lists<item_of<T>> from, lists<item_of<T>> to) {
  for (int64_t i = first_index(); i < lines * from.count * from.full; i += index_step()) {
    int64_t all = i / from.full, at = i % from.full, line = all / from.count, list = all % from.count, other = list ^ 1;
    auto size = [&](int64_t l) { return l >= from.count ? 0 : l == from.count - 1 ? from.last : from.full; };
    if (at >= size(list)) continue;
    item_of<T> item = from.at[i];
    at += count_above(from.at + (line * from.count + other) * from.full, size(other), item);
    if (at >= r.k) continue;
    if (to.at) to.at[(line * to.count + list / 2) * to.full + at] = item;
    else put_result(r, line, at, item);
  }
}

/* ---- Launches ---- */

int tile_for(int64_t n) {
  int tile = 64;
  while (tile < n && tile < kMostTile) tile *= 2;
  return tile;
}

int64_t at_most(int64_t n, int64_t k) { return n < k ? n : k; }

/* The lists that the tiles leave, and those that a round of merges makes of them. */
template <class ITEM> lists<ITEM> first_lists(const cuda_topk &t) {
  int64_t tile = tile_for(t.n), count = (t.n + tile - 1) / tile;
  return {nullptr, count, at_most(tile, t.k), at_most(t.n - (count - 1) * tile, t.k)};
}
template <class ITEM> lists<ITEM> next_lists(const cuda_topk &t, const lists<ITEM> &from) {
  return {nullptr, (from.count + 1) / 2, at_most(2 * from.full, t.k), at_most(from.count % 2 ? from.last : from.full + from.last, t.k)};
}

/* Items of a line that the largest set of lists has. */
template <class ITEM> int64_t most_items(const cuda_topk &t) {
  int64_t most = 0;
  for (lists<ITEM> l = first_lists<ITEM>(t); l.count > 1; l = next_lists(t, l)) most = l.count * l.full > most ? l.count * l.full : most;
  return most;
}

/* Each round reads one half of the scratch memory and writes the other; the last one writes the results. */
template <class T> int run_type(const cuda_topk &t, result<T> r, void *scratch, cudaStream_t stream) {
  using ITEM = item_of<T>;
  int tile = tile_for(t.n), half = 0;
  int64_t lines = t.outer * t.inner;
  ITEM *halves[2] = {static_cast<ITEM *>(scratch), static_cast<ITEM *>(scratch) + lines * most_items<ITEM>(t)};
  lists<ITEM> from = first_lists<ITEM>(t);
  if (from.count > 1) from.at = halves[half];
  unsigned blocks = static_cast<unsigned>(at_most(lines * from.count, most_blocks));
  tiles_kernel<<<blocks, static_cast<int>(at_most(tile / 2, 512)), 0, stream>>>(r, t.largest, lines, tile, from.count, from);
  while (from.count > 1) {
    lists<ITEM> to = next_lists(t, from);
    half ^= 1;
    if (to.count > 1) to.at = halves[half];
    merge_kernel<<<blocks_for(lines * from.count * from.full), threads_per_block, 0, stream>>>(r, lines, from, to);
    from = to;
  }
  return cudaGetLastError();
}

template <class F> int with_comparable(dtype type, F f) {
  switch (type) {
    case ORTC_UINT8: return f(static_cast<uint8_t *>(nullptr));
    case ORTC_INT8: return f(static_cast<int8_t *>(nullptr));
    case ORTC_INT32: return f(static_cast<int32_t *>(nullptr));
    case ORTC_INT64: return f(static_cast<int64_t *>(nullptr));
    default: return with_float(type, f);
  }
}

}  // namespace

bool cuda_topk_serves(dtype type) { return typeset_has(TS_FLOAT | TS(UINT8) | TS(INT8) | TS(INT32) | TS(INT64), type); }

size_t cuda_topk_scratch_bytes(const cuda_topk *t) {
  size_t item = typeset_has(TS(DOUBLE) | TS(INT64), t->type) ? sizeof(wide_item) : sizeof(narrow_item);
  return 2 * static_cast<size_t>(t->outer * t->inner * most_items<narrow_item>(*t)) * item;
}

int cuda_topk_run(const cuda_topk *t, const void *x, void *values, int64_t *indices, void *scratch, void *stream) {
  if (t->outer == 0 || t->inner == 0 || t->k == 0) return cudaSuccess;
  return with_comparable(t->type, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return run_type<T>(*t, {static_cast<const T *>(x), static_cast<T *>(values), indices, t->n, t->k, t->inner}, scratch, as_stream(stream));
  });
}
