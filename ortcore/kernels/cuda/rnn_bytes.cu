/* DynamicQuantizeLSTM: before each step the states of a direction's sequences are rounded to bytes by one scale and zero point, and multiplied
 * with recurrent weights that are bytes, in integers.
 *
 * A block makes 32 neighbouring units for a few sequences. A warp reads its rows of the weights' 4 * 32 columns, four of them a lane; the warps
 * share the rows, and their sums meet in shared memory, where a thread finds the four gates of its unit. Bytes are signed: 128 less than they
 * are where they are not, and so are their zero points.
 *
 * Where units and sequences are few, one block a direction makes all steps in a single launch. Otherwise a step is two launches: one rounds the
 * states, one makes the new ones. */
#include "block.cuh"
#include "range.cuh"
#include "rnn_sequence.cuh"

using namespace ortcore;

namespace {

constexpr int kUnits = 32, kGates = 4, kRows = 4;          /* of a block at a time: hidden units, their gates, sequences */
constexpr int kWarps = 16, kThreads = kWarps * warp_threads;
constexpr int kQuad = 4;                                   /* bytes of a word: columns that a lane reads, rows that one instruction adds */
constexpr int64_t kFewTiles = 4;                           /* that one block makes step by step */
constexpr unsigned kOnes = 0x01010101, kSigns = 0x80808080;

struct bytes_run {
  sequence<float> s;
  const uint8_t *weights, *w_zero;
  const float *w_scale;
  bool is_signed, by_column, whole_words;                  /* whole_words: quads of columns lie on multiples of their size */
  int width;                                               /* of a row of states: hidden, filled up to a quad */
  int8_t *states;                                          /* [directions][batch][width]: h, rounded */
  byte_scale *scales;                                      /* of each direction's states */
};

/* Rounds the states of a direction, by one block. */
ON_GPU void round_states(const bytes_run &b, int d) {
  __shared__ range shared[kWarps];
  const int64_t n = b.s.layer.hidden, batch = b.s.shape.batch;
  const float *h = b.s.h + d * batch * n;
  int8_t *to = b.states + d * batch * b.width;
  range r = {0.0f, 0.0f};
  for (int64_t i = threadIdx.x; i < batch * n; i += kThreads) r = wider()(r, range_of(h[i], true));
  byte_scale by = scale_of(row_reduce(r, shared, wider()));
  for (int64_t i = threadIdx.x; i < batch * b.width; i += kThreads) {
    int64_t row = i / b.width, k = i - row * b.width;
    to[i] = static_cast<int8_t>(k < n ? to_byte(h[row * n + k], by) - 128 : 0);
  }
  if (threadIdx.x == 0) b.scales[d] = by;
}

/* Up to four columns of one row of the weights, `left` of which there are. */
ON_GPU unsigned columns_of(const bytes_run &b, const uint8_t *at, int64_t left) {
  unsigned word = 0;
  if (left <= 0) return 0;
  if (b.whole_words) word = *reinterpret_cast<const unsigned *>(at);
  else
    for (int j = 0; j < kQuad && j < left; ++j) word |= static_cast<unsigned>(at[j]) << 8 * j;
  return b.is_signed ? word : word ^ kSigns;
}

/* From words of rows to words of columns. */
ON_GPU void transpose(const unsigned (&row)[kQuad], int (&column)[kQuad]) {
  unsigned low01 = __byte_perm(row[0], row[1], 0x5140), low23 = __byte_perm(row[2], row[3], 0x5140);
  unsigned high01 = __byte_perm(row[0], row[1], 0x7362), high23 = __byte_perm(row[2], row[3], 0x7362);
  column[0] = static_cast<int>(__byte_perm(low01, low23, 0x5410)), column[1] = static_cast<int>(__byte_perm(low01, low23, 0x7632));
  column[2] = static_cast<int>(__byte_perm(high01, high23, 0x5410)), column[3] = static_cast<int>(__byte_perm(high01, high23, 0x7632));
}

ON_GPU int64_t column_scale_at(const bytes_run &b, int d, int64_t column) { return b.by_column ? d * kGates * b.s.layer.hidden + column : d; }
ON_GPU int column_zero(const bytes_run &b, int d, int64_t column) {
  if (!b.w_zero) return b.is_signed ? 0 : -128;
  uint8_t zero = b.w_zero[column_scale_at(b, d, column)];
  return b.is_signed ? static_cast<int8_t>(zero) : zero - 128;
}

/* A block's sums: of each warp, by sequence, gate and unit. */
using warp_sums = int[kRows][kGates][kUnits];

/* This warp's share of the products of the rows from `first` on with the columns of the units from `unit` on, less the zero points. */
ON_GPU void multiply(const bytes_run &b, int d, int64_t first, int rows, int64_t unit, warp_sums &out) {
  const int64_t n = b.s.layer.hidden;
  const int lane = threadIdx.x % warp_threads, gate = lane / (kUnits / kQuad), quad = lane % (kUnits / kQuad) * kQuad;
  const int64_t column = gate * n + unit + quad, left = n - unit - quad;
  const uint8_t *weights = b.weights + d * n * kGates * n + column;
  const int8_t *states = b.states + (d * b.s.shape.batch + first) * b.width;
  int sums[kRows][kQuad] = {}, of_columns[kQuad] = {}, of_rows[kRows] = {}, count = 0;
#pragma unroll 1
  for (int k = threadIdx.x / warp_threads * kQuad; k < n; k += kWarps * kQuad) {
    unsigned words[kQuad];
    int columns[kQuad];
#pragma unroll
    for (int j = 0; j < kQuad; ++j) words[j] = k + j < n ? columns_of(b, weights + (k + j) * kGates * n, left) : 0;
    transpose(words, columns);
    count += n - k < kQuad ? static_cast<int>(n - k) : kQuad;
#pragma unroll
    for (int c = 0; c < kQuad; ++c) of_columns[c] = __dp4a(columns[c], static_cast<int>(kOnes), of_columns[c]);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= rows) continue;
      int state = *reinterpret_cast<const int *>(states + r * b.width + k);
      of_rows[r] = __dp4a(state, static_cast<int>(kOnes), of_rows[r]);
#pragma unroll
      for (int c = 0; c < kQuad; ++c) sums[r][c] = __dp4a(state, columns[c], sums[r][c]);
    }
  }
  const int state_zero = static_cast<int>(b.scales[d].zero) - 128;
#pragma unroll
  for (int c = 0; c < kQuad; ++c) {
    int zero = c < left ? column_zero(b, d, column + c) : 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      out[r][gate][quad + c] = sums[r][c] - state_zero * of_columns[c] - zero * of_rows[r] + count * zero * state_zero;
  }
}

/* Gates: input, output, forget, cell. z holds what the weights say of them. */
ON_GPU void make_cell(const bytes_run &b, const cell_job &j, float (&z)[kGates]) {
  const sequence<float> &s = b.s;
  const float clip = s.layer.clip, before = s.c[j.state];
#pragma unroll
  for (int g = 0; g < kGates; ++g) z[g] += input_of(s, j, g) + bias_of(s, j, g);
  float input = activated(function_of(s, j, 0), clipped(z[0] + peephole_of(s, j, 0) * before, clip));
  float forget = s.layer.input_forget ? 1 - input : activated(function_of(s, j, 0), clipped(z[2] + peephole_of(s, j, 2) * before, clip));
  float c = forget * before + input * activated(function_of(s, j, 1), clipped(z[3], clip));
  float output = activated(function_of(s, j, 0), clipped(z[1] + peephole_of(s, j, 1) * c, clip));
  put_state(s, j, s.h, output * activated(function_of(s, j, 2), c), c);
}

/* Tile number `tile` of a step: 32 units of four sequences, by one block. New states take the place of those that have been rounded. */
ON_GPU void make_tile(const bytes_run &b, int d, int64_t tile, int64_t step) {
  __shared__ warp_sums sums[kWarps];
  const int64_t n = b.s.layer.hidden, batch = b.s.shape.batch, across = (n + kUnits - 1) / kUnits;
  const int64_t first = tile / across * kRows, unit = tile % across * kUnits;
  const int rows = batch - first < kRows ? static_cast<int>(batch - first) : kRows;
  multiply(b, d, first, rows, unit, sums[threadIdx.x / warp_threads]);
  __syncthreads();
  const int row = threadIdx.x / kUnits, place = threadIdx.x % kUnits;
  if (row < rows && unit + place < n) {
    cell_job j = {d, unit + place, first + row, step, (d * batch + first + row) * n + unit + place, step < length_of(b.s, first + row)};
    float z[kGates];
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
      int sum = 0;
      for (int w = 0; w < kWarps; ++w) sum += sums[w][row][g][place];
      z[g] = static_cast<float>(sum) * (b.scales[d].scale * b.w_scale[column_scale_at(b, d, g * n + j.unit)]);
    }
    if (j.runs) make_cell(b, j, z);
    else if (b.s.y) *result_of(b.s, j) = 0.0f;
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads, 1) all_steps_kernel(bytes_run b, int64_t tiles) {
  for (int64_t step = 0; step < b.s.shape.steps; ++step) {
    round_states(b, blockIdx.x);
    __syncthreads();
    for (int64_t tile = 0; tile < tiles; ++tile) make_tile(b, blockIdx.x, tile, step);
  }
}

__global__ void __launch_bounds__(kThreads, 1) round_kernel(bytes_run b) { round_states(b, blockIdx.x); }
__global__ void __launch_bounds__(kThreads, 1) step_kernel(bytes_run b, int64_t step) { make_tile(b, blockIdx.y, blockIdx.x, step); }

int width_of(const rnn_layer &l) { return static_cast<int>((l.hidden + kQuad - 1) / kQuad * kQuad); }

cudaError_t launch_steps(const bytes_run &b, cudaStream_t stream) {
  const rnn_layer &l = b.s.layer;
  int64_t tiles = (l.hidden + kUnits - 1) / kUnits * ((b.s.shape.batch + kRows - 1) / kRows);
  if (tiles <= kFewTiles) all_steps_kernel<<<l.directions, kThreads, 0, stream>>>(b, tiles);
  for (int64_t step = 0; tiles > kFewTiles && step < b.s.shape.steps; ++step) {
    round_kernel<<<l.directions, kThreads, 0, stream>>>(b);
    step_kernel<<<dim3(static_cast<unsigned>(tiles), l.directions), kThreads, 0, stream>>>(b, step);
    cudaError_t error = cudaGetLastError();
    if (error) return error;
  }
  return cudaGetLastError();
}

}  // namespace

size_t cuda_rnn_bytes_scratch_bytes(const rnn_layer *l, int64_t batch) {
  int64_t states = l->directions * batch * l->hidden;
  return part_bytes(batch, sizeof(int32_t)) + 2 * part_bytes(states, sizeof(float)) + part_bytes(l->directions * batch * width_of(*l), 1) +
         part_bytes(l->directions, sizeof(byte_scale));
}

int cuda_rnn_bytes_run(const cuda_rnn *run, const cuda_rnn_weights *r, void *memory, void *stream) {
  const rnn_layer &l = *run->layer;
  scratch_parts scratch = {static_cast<char *>(memory)};
  int64_t states = l.directions * run->shape->batch * l.hidden;
  bytes_run b = {sequence_of<float>(*run, &scratch, as_stream(stream))};
  b.s.h = scratch.take<float>(states);
  b.s.c = scratch.take<float>(states);
  b.width = width_of(l);
  b.states = scratch.take<int8_t>(l.directions * run->shape->batch * b.width);
  b.scales = scratch.take<byte_scale>(l.directions);
  b.weights = static_cast<const uint8_t *>(r->data);
  b.w_zero = static_cast<const uint8_t *>(r->zero);
  b.w_scale = r->scale;
  b.is_signed = r->is_signed, b.by_column = r->by_column;
  b.whole_words = l.hidden % kQuad == 0 && reinterpret_cast<uintptr_t>(r->data) % kQuad == 0;
  if (states == 0) return cudaSuccess;
  begin_states<<<blocks_for(states), threads_per_block, 0, as_stream(stream)>>>(b.s, static_cast<const float *>(run->initial_h),
                                                                                static_cast<const float *>(run->initial_c));
  cudaError_t error = cudaGetLastError();
  return error || run->shape->steps == 0 ? error : launch_steps(b, as_stream(stream));
}
