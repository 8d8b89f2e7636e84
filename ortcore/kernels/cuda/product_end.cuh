/* The end of every product on a GPU: where a sum is written, and what is done to it before. An end is a kernel argument; `open` points it at
 * one matrix of the batch. */
#ifndef ORTCORE_KERNELS_CUDA_PRODUCT_END_CUH
#define ORTCORE_KERNELS_CUDA_PRODUCT_END_CUH

#include "divide.cuh"
#include "product.h"

namespace ortcore {

/* Offsets of one matrix of a batch in each operand. */
struct batch_place { int64_t a, b, c, bias; };

ON_GPU batch_place place_of(const cuda_batch &batch, int64_t index) {
  batch_place place = {0, 0, 0, 0};
  for (int d = batch.rank - 1; d >= 0; --d) {
    int64_t along = index % batch.dims[d];
    index /= batch.dims[d];
    place.a += along * batch.a[d];
    place.b += along * batch.b[d];
    place.c += along * batch.c[d];
    place.bias += along * batch.bias[d];
  }
  return place;
}

/* Comparisons are written so that NaN stays NaN. */
template <class N> ON_GPU N activated(const activation &f, N x) {
  const N a = static_cast<N>(f.a), b = static_cast<N>(f.b), one = 1;
  switch (f.kind) {
    case ACTIVATION_RELU: return x < 0 ? 0 : x;
    case ACTIVATION_LEAKY_RELU: return x < 0 ? x * a : x;
    case ACTIVATION_CLIP: x = x < a ? a : x; return x > b ? b : x;
    case ACTIVATION_SIGMOID: return one / (one + exp(-x));
    case ACTIVATION_HARD_SWISH: { N v = x / 6 + N(0.5); v = v < 0 ? 0 : v; return x * (v > 1 ? one : v); }
    case ACTIVATION_HARD_SIGMOID: { N v = x * a + b; v = v < 0 ? 0 : v; return v > 1 ? one : v; }
    case ACTIVATION_SILU: return x / (one + exp(-x));
    case ACTIVATION_TANH: return tanh(x);
    case ACTIVATION_GELU: return N(0.5) * x * (one + erf(x * N(0.70710678118654752)));
    case ACTIVATION_ELU: return x < 0 ? a * expm1(x) : x;
    default: return x;
  }
}

/* Columns may be several images side by side: column c lies at c / columns_of_image * image_step + c % columns_of_image * column_step. */
struct output_places {
  int64_t row_step, column_step, image_step;
  divisor columns_of_image;                                 /* d 0: one image */
  ON_GPU int64_t at(int row, int column) const {
    int64_t place = row * row_step;
    if (columns_of_image.d) {
      uint32_t image = columns_of_image.quotient(column);
      place += image * image_step;
      column -= image * columns_of_image.d;
    }
    return place + column * column_step;
  }
};

constexpr int end_width = 4;                               /* columns that are finished at a time */

/* T is stored, N is what sums are made in: the same for integers. */
template <class T, class N> struct plain_end {
  using sum = N;
  T *out;
  const T *bias, *residual;                                 /* NULL: none */
  N *partial;                                               /* where parts of k are summed apart: [split, batch, m, n] */
  output_places places;
  int64_t bias_row, bias_column;
  N alpha, beta;
  activation act;
  bool vectors;                                             /* end_width columns from a multiple of it on are neighbours, and aligned */

  ON_GPU void open(const batch_place &at) {
    out += at.c;
    if (residual) residual += at.c;
    if (bias) bias += at.bias;
  }
  ON_GPU N finished(N x, int row, int column, N more) const {
    x *= alpha;
    if (bias) x += beta * number(bias[row * bias_row + column * bias_column]);
    x += more;
    if constexpr (is_float) return act.kind ? activated(act, x) : x;
    return x;
  }
  /* `count` finished sums of a row, at most end_width, from a multiple of end_width on. */
  ON_GPU void store(int row, int column, const N *x, int count) const {
    if (vectors && count == end_width) {
      int64_t place = places.at(row, column);
      group more = {}, y;
      if (residual) more = *reinterpret_cast<const group *>(residual + place);
#pragma unroll
      for (int i = 0; i < end_width; ++i) y.at[i] = stored(finished(x[i], row, column + i, number(more.at[i])));
      *reinterpret_cast<group *>(out + place) = y;
      return;
    }
#pragma unroll
    for (int i = 0; i < end_width; ++i) {
      if (i >= count) break;
      int64_t place = places.at(row, column + i);
      out[place] = stored(finished(x[i], row, column + i, residual ? number(residual[place]) : N(0)));
    }
  }

private:
  struct alignas(end_width * sizeof(T)) group { T at[end_width]; };
  static constexpr bool is_float = !std::is_integral<N>::value;
  static ON_GPU N number(T x) {
    if constexpr (is_float) return load(x);
    else return x;
  }
  static ON_GPU T stored(N x) {
    if constexpr (is_float) return ortcore::store<T>(x);
    else return x;
  }
};

/* A factor in the type of the sums; for integers it is a whole number, and may be negative where they are unsigned. */
template <class N> N factor_of(float x) {
  if constexpr (std::is_integral<N>::value) return static_cast<N>(static_cast<int64_t>(x));
  else return x;
}

template <class T, class N> plain_end<T, N> end_of(const cuda_product &p, const cuda_operands &o) {
  plain_end<T, N> e = {};
  e.out = static_cast<T *>(o.c);
  e.bias = p.end.beta != 0 ? static_cast<const T *>(o.bias) : nullptr;
  e.residual = static_cast<const T *>(o.residual);
  e.partial = p.splits > 1 ? static_cast<N *>(o.scratch) : nullptr;
  e.places = {p.c_row, p.c_column, p.c_image, p.image_columns ? divide_by(p.image_columns) : divisor{0, 0, 0}};
  e.bias_row = p.end.bias_row, e.bias_column = p.end.bias_column;
  e.alpha = factor_of<N>(p.end.alpha), e.beta = factor_of<N>(p.end.beta);
  e.act = p.end.act;
  bool regular = p.c_column == 1 && p.c_row % end_width == 0 && p.image_columns % end_width == 0 && p.c_image % end_width == 0;
  for (int d = 0; d < p.batch.rank; ++d) regular = regular && p.batch.c[d] % end_width == 0;
  uintptr_t places = reinterpret_cast<uintptr_t>(o.c) | reinterpret_cast<uintptr_t>(o.residual);
  e.vectors = regular && places % (end_width * sizeof(T)) == 0;
  return e;
}

}  // namespace ortcore

#endif
