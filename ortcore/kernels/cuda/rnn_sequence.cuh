/* What kernels of recurrent layers share: the numbers of a run as every thread knows them, and the places that a cell reads and writes. */
#ifndef ORTCORE_KERNELS_CUDA_RNN_SEQUENCE_CUH
#define ORTCORE_KERNELS_CUDA_RNN_SEQUENCE_CUH

#include "common.cuh"
#include "rnn.h"
#include "rnn_cells.cuh"

#include <string.h>

namespace ortcore {

/* What every thread knows of a run. States are computed numbers, `hidden` of them for each direction and sequence. */
template <class T> struct sequence {
  using A = computed_t<T>;
  rnn_layer layer;
  rnn_shape shape;
  const T *projected, *r, *b, *peepholes;
  A *h, *c;                                                /* [directions][batch][hidden]; of h there may be two. c only for LSTM */
  A *update, *candidate;                                   /* GRU's gate, and what its candidate's weights multiply; as c */
  const int32_t *lengths;
  T *y, *last_h, *last_c;
};

/* ---- Before the first step ----------------------------------------------------------------------------------------------------------- */

/* Lengths travel as arguments of a kernel, so that no host memory has to outlive the launch. */
enum { kLengths = 900 };
struct some_lengths { int32_t count, at[kLengths]; };
static __global__ void put_lengths(some_lengths from, int32_t *to) {
  for (int i = threadIdx.x; i < from.count; i += blockDim.x) to[i] = from.at[i];
}

/* States as the first step finds them. A sequence without steps ends with them. */
template <class T> __global__ void __launch_bounds__(threads_per_block) begin_states(sequence<T> s, const T *initial_h, const T *initial_c) {
  int64_t n = s.layer.hidden, count = s.layer.directions * s.shape.batch * n;
  for (int64_t i = first_index(); i < count; i += index_step()) {
    int64_t row = i / n % s.shape.batch, from = i / n / s.shape.batch * s.shape.state_direction + row * s.shape.state_row + i % n;
    T h = initial_h ? initial_h[from] : store<T>(0), c = initial_c ? initial_c[from] : store<T>(0);
    s.h[i] = load(h);
    if (s.c) s.c[i] = load(c);
    if (s.lengths ? s.lengths[row] > 0 : s.shape.steps > 0) continue;
    if (s.last_h) s.last_h[from] = h;
    if (s.last_c) s.last_c[from] = c;
  }
}

/* Memory for n numbers, 256-byte aligned like all of it. */
inline size_t part_bytes(int64_t n, size_t width) { return (static_cast<size_t>(n) * width + 255) / 256 * 256; }

/* Scratch memory that is handed out in parts. */
struct scratch_parts {
  char *rest;
  template <class V> V *take(int64_t count) {
    char *part = rest;
    rest += part_bytes(count, sizeof(V));
    return reinterpret_cast<V *>(part);
  }
};

/* The run's tensors, with the lengths on the device; whoever calls it adds the states. */
template <class T> sequence<T> sequence_of(const cuda_rnn &run, scratch_parts *scratch, cudaStream_t stream) {
  auto typed = [](const void *data) { return static_cast<const T *>(data); };
  sequence<T> s = {*run.layer, *run.shape, typed(run.projected), typed(run.r), typed(run.b), typed(run.peepholes)};
  s.y = static_cast<T *>(run.y);
  s.last_h = static_cast<T *>(run.last_h);
  s.last_c = static_cast<T *>(run.last_c);
  if (!run.lengths) return s;
  int64_t batch = run.shape->batch;
  int32_t *lengths = scratch->take<int32_t>(batch);
  s.lengths = lengths;
  for (int64_t first = 0; first < batch; first += kLengths) {
    some_lengths some = {static_cast<int32_t>(batch - first < kLengths ? batch - first : kLengths), {}};
    memcpy(some.at, run.lengths + first, some.count * sizeof(int32_t));
    put_lengths<<<1, threads_per_block, 0, stream>>>(some, lengths + first);
  }
  return s;
}

/* ---- Steps ----------------------------------------------------------------------------------------------------------------------------- */

/* One unit of one sequence in one step. */
struct cell_job {
  int d;
  int64_t unit, row, step, state;                          /* state: its place in c, update, candidate and each h */
  bool runs;                                               /* the sequence is there and has not ended */
};

template <class T> ON_GPU int64_t length_of(const sequence<T> &s, int64_t row) { return s.lengths ? s.lengths[row] : s.shape.steps; }
template <class T> ON_GPU rnn_activation function_of(const sequence<T> &s, const cell_job &j, int f) {
  return j.d ? s.layer.activations[1][f] : s.layer.activations[0][f];
}
/* Which of a sequence's inputs and results this step reads and makes: reversed ones begin at their end. */
template <class T> ON_GPU int64_t time_of(const sequence<T> &s, const cell_job &j) {
  bool reverse = j.d ? s.layer.reverse[1] : s.layer.reverse[0];
  return reverse && j.runs ? length_of(s, j.row) - 1 - j.step : j.step;
}
template <class T> ON_GPU T *result_of(const sequence<T> &s, const cell_job &j) {
  return s.y + time_of(s, j) * s.shape.y_step + j.row * s.shape.y_row + j.d * s.shape.y_direction + j.unit;
}

/* The new state goes to `next`, where the next step reads it, and to the outputs. */
template <class T> ON_GPU void put_state(const sequence<T> &s, const cell_job &j, computed_t<T> *next, computed_t<T> h, computed_t<T> c) {
  next[j.state] = h;
  if (s.c) s.c[j.state] = c;
  if (s.y) *result_of(s, j) = store<T>(h);
  if (j.step + 1 < length_of(s, j.row)) return;
  int64_t last = j.d * s.shape.state_direction + j.row * s.shape.state_row + j.unit;
  if (s.last_h) s.last_h[last] = store<T>(h);
  if (s.last_c) s.last_c[last] = store<T>(c);
}

/* The projected input of gate g, and its recurrent bias; the other bias is part of the projected input. */
template <class T> ON_GPU computed_t<T> input_of(const sequence<T> &s, const cell_job &j, int g) {
  int64_t place = j.d * s.shape.steps * s.shape.batch + time_of(s, j) * s.shape.x_step + j.row * s.shape.x_row;
  return load(s.projected[(place * s.layer.gates + g) * s.layer.hidden + j.unit]);
}
template <class T> ON_GPU computed_t<T> bias_of(const sequence<T> &s, const cell_job &j, int g) {
  return s.b ? load(s.b[((2 * j.d + 1) * s.layer.gates + g) * s.layer.hidden + j.unit]) : computed_t<T>(0);
}
template <class T> ON_GPU computed_t<T> peephole_of(const sequence<T> &s, const cell_job &j, int p) {
  return s.peepholes && j.runs ? load(s.peepholes[(3 * j.d + p) * s.layer.hidden + j.unit]) : computed_t<T>(0);
}

}  // namespace ortcore

#endif
