/* Elements arranged by a rule: Pad, Trilu, ReverseSequence, OneHot. */
#include <ortcore/kernels/cuda/elements.cuh>
#include <ortcore/kernels/cuda/movement.cuh>
#include <ortcore/kernels/pad.h>

namespace ortcore {
namespace {

struct pad_map {
  cuda_pad p;
  ON_GPU move_pair operator()(int64_t i) const {
    int64_t rest = i, from = 0;
#pragma unroll 1
    for (int d = p.rank - 1; d >= 0; --d) {
      int64_t source = pad_source(static_cast<pad_mode>(p.mode), next_coordinate(rest, p.out[d]) - p.before[d], p.n[d]);
      if (source < 0) return {from_value, i};
      from += (p.first[d] + source) * p.strides[d];
    }
    return {from, i};
  }
};

struct triangle_map {
  cuda_triangle t;
  ON_GPU move_pair operator()(int64_t i) const {
    int64_t row = i, column = next_coordinate(row, t.columns), edge = row % t.rows + t.diagonal;
    return {(t.upper ? column >= edge : column <= edge) ? i : from_value, i};
  }
};

struct reverse_map {
  cuda_reverse r;
  ON_GPU move_pair operator()(int64_t i) const {
    int64_t outer = i, b = next_coordinate(outer, r.block), inner = next_coordinate(outer, r.batch_first ? r.steps : r.samples);
    int64_t step = r.batch_first ? inner : outer, sample = r.batch_first ? outer : inner;
    int64_t length = index_at(r.lengths, sample);
    if (length < 0 || length > r.steps) tell_fault(r.lengths.fault, GPU_FAULT_LENGTH);
    else if (step < length) step = length - 1 - step;
    return {(r.batch_first ? sample * r.steps + step : step * r.samples + sample) * r.block + b, i};
  }
};

struct onehot_map {
  cuda_onehot o;
  bool real;                                               /* the indices are floats */
  ON_GPU move_pair operator()(int64_t i) const {
    int64_t outer = i, inner = next_coordinate(outer, o.inner), at = next_coordinate(outer, o.depth);
    int64_t place = outer * o.inner + inner, index;
    if (real)      {                                          /* fractions are cut off */
      double x[1];
      read_elements(o.type, o.indices, place, 1, true, x);
      index = to_int64(x[0]);
    } else {
      int64_t x[1];
      read_elements(o.type, o.indices, place, 1, true, x);
      index = x[0];
    }
    return {at == (index < 0 ? index + o.depth : index) ? 1 : 0, i};
  }
};

}  // namespace
}  // namespace ortcore

using namespace ortcore;

int cuda_move_padded(const cuda_move *m, const cuda_pad *p, void *stream) { return move_launch(m, pad_map{*p}, stream); }
int cuda_move_triangle(const cuda_move *m, const cuda_triangle *t, void *stream) { return move_launch(m, triangle_map{*t}, stream); }
int cuda_move_reversed(const cuda_move *m, const cuda_reverse *r, void *stream) { return move_launch(m, reverse_map{*r}, stream); }
int cuda_move_onehot(const cuda_move *m, const cuda_onehot *o, void *stream) { return move_launch<1>(m, onehot_map{*o, typeset_has(TS_FLOAT, o->type)}, stream); }
