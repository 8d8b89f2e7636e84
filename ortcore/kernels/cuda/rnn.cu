/* Recurrent layers, after one product has projected the inputs of all steps. A warp makes one hidden unit of a step for a few sequences: the
 * products of its gates' weights with the states, and the cell, in which four lanes serve a sequence, one for each gate. States alternate
 * between two places, by the parity of the step.
 *
 * Where a direction's recurrent weights are few, one block makes all units of its sequences and all steps in a single launch, meeting at a
 * barrier; the weights stay in the caches. Otherwise many blocks share the units of a step, and each step is a launch. */
#include "rnn_sequence.cuh"

#include <type_traits>

using namespace ortcore;

namespace {

constexpr int kRows = 8;                                   /* sequences that share a warp's loads of the weights; or one alone */
constexpr int kWarp = 32, kStepBlock = 256;                /* threads: of a warp, and of a block that shares a step */
constexpr int block_threads(int rows) { return rows == 1 ? 512 : 256; }   /* most of any block, by its registers */
constexpr int64_t kCachedBytes = 256 << 10;                /* recurrent weights of a direction that one block may read again each step */

/* ---- Steps ----------------------------------------------------------------------------------------------------------------------------- */

/* Lanes are in groups of N, a power of two: the i-th lane of a group gets the sum of the group's at[i]. */
template <int N, class A> ON_GPU A sum_across(const A (&at)[N]) {
  if constexpr (N == 1) {
    return at[0];
  } else {
    constexpr int half = N / 2;
    bool upper = threadIdx.x & half;
    A kept[half];
#pragma unroll
    for (int i = 0; i < half; ++i) {
      A low = at[i], high = at[i + half], other = __shfl_xor_sync(~0u, upper ? low : high, half);
      kept[i] = (upper ? high : low) + other;
    }
    return sum_across(kept);
  }
}

/* One row of COLUMNS matrices of the recurrent weights, `distance` elements apart, times the states of ROWS sequences, of which the last one
 * there is taken for those beyond it. Lane 4 * r + c gets the product of sequence r with matrix c. */
template <int COLUMNS, int ROWS, class T>
ON_GPU computed_t<T> products(const T *__restrict__ weights, int64_t distance, const computed_t<T> *states, int last, int n, bool packs) {
  using A = computed_t<T>;
  constexpr int size = pack<T>::size;
  int lane = threadIdx.x % kWarp, done = 0;
  A sums[4 * ROWS] = {};
  if (packs) {
    done = n / (kWarp * size) * (kWarp * size);
#pragma unroll 1
    for (int k = lane * size; k < done; k += kWarp * size) {
      pack<T> row[COLUMNS];
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c) row[c] = *reinterpret_cast<const pack<T> *>(weights + c * distance + k);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const A *state = states + (r < last ? r : last) * n + k;
#pragma unroll
        for (int j = 0; j < size; ++j)
#pragma unroll
          for (int c = 0; c < COLUMNS; ++c) sums[4 * r + c] += state[j] * load(row[c].at[j]);
      }
    }
  }
#pragma unroll 1
  for (int k = done + lane; k < n; k += kWarp) {
    A row[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) row[c] = load(weights[c * distance + k]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c) sums[4 * r + c] += states[(r < last ? r : last) * n + k] * row[c];
  }
  A sum = sum_across(sums);
#pragma unroll
  for (int far = 4 * ROWS; far < kWarp; far *= 2) sum += __shfl_xor_sync(~0u, sum, far);
  return sum;
}

/* One lane's part of a step: a gate of one unit of one sequence. */
struct lane_job : cell_job { int lane, gate; };

/* Where the next step finds the states: they alternate. */
template <class T> ON_GPU computed_t<T> *next_states(const sequence<T> &s, const lane_job &j) {
  return s.h + (j.step + 1) % 2 * (s.layer.directions * s.shape.batch * s.layer.hidden);
}
/* A value of the lane that has gate g of the same sequence. */
template <class A> ON_GPU A from_gate(const lane_job &j, A value, int g) { return __shfl_sync(~0u, value, (j.lane & ~3) + g); }

/* Gates: input, output, forget, cell. The output gate sees the new cell, so that it comes second, beside the cell's own function. */
template <class T> ON_GPU void lstm_cell(const sequence<T> &s, const lane_job &j, computed_t<T> z) {
  using A = computed_t<T>;
  A clip = s.layer.clip, c = j.runs ? s.c[j.state] : A(0);
  if (j.runs) z += input_of(s, j, j.gate) + bias_of(s, j, j.gate);
  if (j.gate == 0) z += peephole_of(s, j, 0) * c;
  if (j.gate == 2) z += peephole_of(s, j, 2) * c;
  A first = activated(function_of(s, j, j.gate == 3), clipped(z, clip)), input = from_gate(j, first, 0);
  A forget = from_gate(j, first, 2), fresh = from_gate(j, first, 3);
  c = (s.layer.input_forget ? 1 - input : forget) * c + input * fresh;
  A second = activated(function_of(s, j, j.gate == 1 ? 0 : 2), j.gate == 1 ? clipped(z + peephole_of(s, j, 1) * c, clip) : c);
  A h = from_gate(j, second, 1) * from_gate(j, second, 0);
  if (j.runs && j.gate == 0) put_state(s, j, next_states(s, j), h, c);
}

/* Gates: update, reset, candidate. The reset gate scales the state before the candidate's product, which then is a phase of its own, or the
 * product itself (linear_before_reset). */
template <class T> ON_GPU void gru_cell(const sequence<T> &s, const lane_job &j, int phase, computed_t<T> z, computed_t<T> h) {
  using A = computed_t<T>;
  bool linear = s.layer.linear_before_reset;
  A clip = s.layer.clip, x = 0, update = 0;
  if (phase == 0) {
    if (j.runs) x = input_of(s, j, j.gate), z += bias_of(s, j, j.gate);
    A first = activated(function_of(s, j, 0), clipped(x + z, clip));
    update = from_gate(j, first, 0);
    z *= from_gate(j, first, 1);
    if (!linear && j.runs && j.gate == 0) s.update[j.state] = first;
    if (!linear && j.runs && j.gate == 1) s.candidate[j.state] = first * h;
    if (!linear) return;
  } else if (j.runs) {
    x = input_of(s, j, 2) + bias_of(s, j, 2);
    update = s.update[j.state];
  }
  A fresh = activated(function_of(s, j, 1), clipped(x + z, clip));
  if (j.runs && j.gate == (linear ? 2 : 0)) put_state<T>(s, j, next_states(s, j), (1 - update) * fresh + update * h, 0);
}

template <class T> ON_GPU void simple_cell(const sequence<T> &s, const lane_job &j, computed_t<T> z) {
  if (j.runs) put_state<T>(s, j, next_states(s, j), activated(function_of(s, j, 0), clipped(z + input_of(s, j, 0) + bias_of(s, j, 0), computed_t<T>(s.layer.clip))), 0);
}

/* One unit of the sequences from `first` on. */
template <rnn_kind KIND, int ROWS, class T>
ON_GPU void make_unit(const sequence<T> &s, int d, int64_t first, int64_t unit, int64_t step, int phase, bool packs) {
  using A = computed_t<T>;
  int64_t n = s.layer.hidden, batch = s.shape.batch, left = batch - first;
  int last = static_cast<int>(left < ROWS ? left : ROWS) - 1, lane = threadIdx.x % kWarp, columns = KIND == RNN_LSTM ? 4 : 1;
  const T *weights = s.r + (d * s.layer.gates * n + unit) * n;
  const A *states = s.h + step % 2 * (s.layer.directions * batch * n), *mine = states + (d * batch + first) * n;
  A z;
  if (KIND == RNN_GRU && phase == 1) {
    z = products<1, ROWS>(weights + 2 * n * n, n * n, s.candidate + (d * batch + first) * n, last, static_cast<int>(n), packs);
  } else {
    z = products<KIND == RNN_LSTM ? 4 : KIND == RNN_GRU ? 3 : 1, ROWS>(weights, n * n, mine, last, static_cast<int>(n), packs);
    if (KIND == RNN_GRU) columns = s.layer.linear_before_reset ? 3 : 2;
  }
  lane_job j = {{d, unit, first + lane / 4, step, (d * batch + first + lane / 4) * n + unit, false}, lane, lane % 4};
  bool here = lane / 4 <= last && j.gate < columns;
  j.runs = here && step < length_of(s, j.row);
  if (here && !j.runs && s.y) *result_of(s, j) = store<T>(0);
  if constexpr (KIND == RNN_LSTM) lstm_cell(s, j, z);
  else if constexpr (KIND == RNN_GRU) gru_cell(s, j, phase, z, j.runs ? states[j.state] : A(0));
  else simple_cell(s, j, z);
}

/* Steps and phases from `begin` on, before `end`. `sharing` blocks have the units of the same sequences: then it is one phase of one step. */
struct steps_range { int64_t begin, end; int first_phase, end_phase; };

template <rnn_kind KIND, int ROWS, class T>
__global__ void __launch_bounds__(block_threads(ROWS), 1) steps_kernel(sequence<T> s, steps_range range, int sharing, bool packs) {
  int group = blockIdx.x / sharing, warps = blockDim.x / kWarp;
  for (int64_t step = range.begin; step < range.end; ++step) {
    for (int phase = range.first_phase; phase < range.end_phase; ++phase) {
      for (int64_t unit = (blockIdx.x - group * sharing) * warps + threadIdx.x / kWarp; unit < s.layer.hidden; unit += sharing * warps)
        make_unit<KIND, ROWS>(s, blockIdx.y, static_cast<int64_t>(group) * ROWS, unit, step, phase, packs);
      __syncthreads();
    }
  }
}

template <rnn_kind KIND, int ROWS, class T> cudaError_t launch_steps(const sequence<T> &s, cudaStream_t stream) {
  int64_t n = s.layer.hidden, groups = (s.shape.batch + ROWS - 1) / ROWS;
  int phases = KIND == RNN_GRU && !s.layer.linear_before_reset ? 2 : 1;
  bool packs = n % pack<T>::size == 0 && aligned16(s.r);
  if (s.layer.gates * n * n * static_cast<int64_t>(sizeof(T)) <= kCachedBytes) {
    int threads = n * kWarp < block_threads(ROWS) ? static_cast<int>(n) * kWarp : block_threads(ROWS);
    steps_kernel<KIND, ROWS><<<dim3(groups, s.layer.directions), threads, 0, stream>>>(s, {0, s.shape.steps, 0, phases}, 1, packs);
    return cudaGetLastError();
  }
  int sharing = static_cast<int>((n * kWarp + kStepBlock - 1) / kStepBlock);
  for (int64_t step = 0; step < s.shape.steps; ++step) {
    for (int phase = 0; phase < phases; ++phase)
      steps_kernel<KIND, ROWS><<<dim3(groups * sharing, s.layer.directions), kStepBlock, 0, stream>>>(s, {step, step + 1, phase, phase + 1}, sharing,
                                                                                                      packs);
    cudaError_t error = cudaGetLastError();
    if (error) return error;
  }
  return cudaSuccess;
}

template <rnn_kind KIND, class T> cudaError_t launch_rows(const sequence<T> &s, cudaStream_t stream) {
  return s.shape.batch == 1 ? launch_steps<KIND, 1>(s, stream) : launch_steps<KIND, kRows>(s, stream);
}

template <class T> int run_type(const cuda_rnn &run, char *memory, cudaStream_t stream) {
  using A = computed_t<T>;
  const rnn_layer &l = *run.layer;
  int64_t states = l.directions * run.shape->batch * l.hidden;
  scratch_parts scratch = {memory};
  sequence<T> s = sequence_of<T>(run, &scratch, stream);
  s.h = scratch.take<A>(2 * states);
  if (l.kind == RNN_LSTM) s.c = scratch.take<A>(states);
  if (l.kind == RNN_GRU) {
    s.update = scratch.take<A>(states);
    s.candidate = scratch.take<A>(states);
  }
  if (states == 0) return cudaSuccess;
  begin_states<<<blocks_for(states), threads_per_block, 0, stream>>>(s, static_cast<const T *>(run.initial_h), static_cast<const T *>(run.initial_c));
  cudaError_t error = cudaGetLastError();
  if (error || run.shape->steps == 0) return error;
  if (l.kind == RNN_LSTM) return launch_rows<RNN_LSTM>(s, stream);
  return l.kind == RNN_GRU ? launch_rows<RNN_GRU>(s, stream) : launch_rows<RNN_SIMPLE>(s, stream);
}

}  // namespace

size_t cuda_rnn_scratch_bytes(const rnn_layer *l, int64_t batch, dtype type) {
  size_t width = type == ORTC_DOUBLE ? sizeof(double) : sizeof(float);
  int64_t states = l->directions * batch * l->hidden;
  return part_bytes(2 * states, width) + 2 * part_bytes(states, width) + part_bytes(batch, sizeof(int32_t));
}

int cuda_rnn_run(const cuda_rnn *run, void *scratch, void *stream) {
  return with_float(run->type, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return run_type<T>(*run, static_cast<char *>(scratch), as_stream(stream));
  });
}
