/* Updates written to, or combined with, the elements that indices name. */
#include <ortcore/kernels/arithmetic.h>
#include <ortcore/kernels/cpu/combine.h>
#include <ortcore/kernels/cuda/movement.cuh>

namespace ortcore {
namespace {

struct elements_map {
  cuda_by_index s;
  ON_GPU move_pair operator()(int64_t i) const { return {i, indexed_place(s, i)}; }
};

struct nd_map {
  cuda_nd s;
  ON_GPU move_pair operator()(int64_t i) const { return {i, nd_place(s, i)}; }
};

/* ---- Reductions: the element is replaced if nobody was faster, else it is tried again with what is there now ---- */

template <class T> using word_of = std::conditional_t<sizeof(T) == 2, unsigned short, std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>;

template <class T> struct number { using type = T; };
template <> struct number<__half> { using type = float; };
template <> struct number<__nv_bfloat16> { using type = float; };

template <class T> ON_GPU typename number<T>::type number_of(T x) {
  if constexpr (std::is_arithmetic_v<T>) return x;
  else return load(x);
}
template <class T> ON_GPU T rounded(typename number<T>::type x) {
  if constexpr (std::is_arithmetic_v<T>) return x;
  else return store<T>(x);
}

/* Signed integers wrap: their sums and products are those of unsigned ones. */
template <class A> ON_GPU A combined(int how, A a, A b) {
  using W = std::conditional_t<std::is_integral_v<A>, unsigned long long, A>;
  switch (how) {
    case COMBINE_ADD: return static_cast<A>(static_cast<W>(a) + static_cast<W>(b));
    case COMBINE_MUL: return static_cast<A>(static_cast<W>(a) * static_cast<W>(b));
    case COMBINE_MAX: return ARITHMETIC_MAXIMUM(a, b);
    default: return ARITHMETIC_MINIMUM(a, b);
  }
}

template <class T> ON_GPU void combine_at(T *place, T x, int how) {
  if constexpr (std::is_same_v<T, float>) {
    if (how == COMBINE_ADD) {
      atomicAdd(place, x);
      return;
    }
  }
  using WORD = word_of<T>;
  WORD *word = reinterpret_cast<WORD *>(place), seen = *word, expected;
  do {
    expected = seen;
    T old;
    __builtin_memcpy(&old, &expected, sizeof old);
    T next = rounded<T>(combined(how, number_of(old), number_of(x)));
    WORD replacement;
    __builtin_memcpy(&replacement, &next, sizeof next);
    seen = atomicCAS(word, expected, replacement);
  } while (seen != expected);
}

template <class T, class MAP> __global__ void __launch_bounds__(threads_per_block, 1) combine_kernel(T *to, const T *from, int64_t count, const MAP map, int how) {
  for (int64_t i = first_index(); i < count; i += index_step()) combine_at(to + map(i).to, from[i], how);
}

template <class MAP> int scatter(const cuda_move *m, const MAP &map, int how, dtype type, void *stream) {
  if (how == COMBINE_NONE || m->count == 0) return move_launch(m, map, stream);
  auto launch = [&](auto *unit) {
    using T = std::remove_pointer_t<decltype(unit)>;
    combine_kernel<<<blocks_for(m->count), threads_per_block, 0, as_stream(stream)>>>(static_cast<T *>(m->to), static_cast<const T *>(m->from), m->count, map, how);
    return static_cast<int>(cudaGetLastError());
  };
  switch (type) {
    case ORTC_INT32: return launch(static_cast<int32_t *>(nullptr));
    case ORTC_INT64: return launch(static_cast<int64_t *>(nullptr));
    default: return with_float(type, launch);
  }
}

}  // namespace
}  // namespace ortcore

using namespace ortcore;

int cuda_scatter_elements(const cuda_move *m, const cuda_by_index *s, int how, dtype type, void *stream) {
  return scatter(m, elements_map{*s}, how, type, stream);
}

int cuda_scatter_nd(const cuda_move *given, const cuda_nd *s, int how, dtype type, void *stream) {
  cuda_move m = *given;
  nd_map map = {*s};
  if (how == COMBINE_NONE) widen_blocks(&m, &map.s);
  return scatter(&m, map, how, type, stream);
}
