/* The kernel that interprets elementwise programs, for one type T that is computed in. An includer brings a struct with
 *     static void apply(const cuda_elementwise &e, const program_step &step, T (&u)[N], const T (&v)[N], const T (&w)[N])
 * which leaves the operator's values in u. A thread takes N adjacent elements at a time: all that the program says of a step is then decided
 * once for N elements, alike for all threads. Kept results lie in shared memory, where each thread has places of its own. */
#ifndef ORTCORE_KERNELS_CUDA_ELEMENTWISE_CUH
#define ORTCORE_KERNELS_CUDA_ELEMENTWISE_CUH

#include <ortcore/kernels/cuda/elementwise.h>
#include <ortcore/kernels/cuda/elements.cuh>

namespace ortcore {

#define EACH(N) _Pragma("unroll") for (int j = 0; j < N; ++j)

constexpr int elementwise_threads = 128;

/* Where a thread's elements are in the result: so many from `column` on in a row, which is what the last axis walks. */
struct place { int64_t row, column; int count; };

ON_GPU int64_t operand_offset(const cuda_elementwise &e, const cuda_operand &in, const place &at) {
  int64_t rest = at.row, offset = at.column * in.steps[e.rank - 1];
#pragma unroll 1
  for (int d = e.rank - 2; d >= 0; --d) {
    int64_t next = rest / e.dims[d];
    offset += (rest - next * e.dims[d]) * in.steps[d];
    rest = next;
  }
  return offset;
}

template <class T, int N> ON_GPU void read_operand(const cuda_elementwise &e, const cuda_operand &in, const place &at, T (&x)[N]) {
  int64_t first = in.dense ? at.row * e.dims[e.rank - 1] + at.column : operand_offset(e, in, at);
  read_elements(in.type, in.data, first, at.count, in.steps[e.rank - 1] == 0, x);
}

/* Threads side by side use banks side by side. */
template <class T, int N> ON_GPU void keep(T *kept, int slot, const T (&x)[N]) {
  EACH(N) kept[(slot * N + j) * elementwise_threads + threadIdx.x] = x[j];
}
template <class T, int N> ON_GPU void recall(const T *kept, int slot, T (&x)[N]) {
  EACH(N) x[j] = kept[(slot * N + j) * elementwise_threads + threadIdx.x];
}

template <class T, int N, class OPERATORS> __global__ void __launch_bounds__(elementwise_threads, 5) elementwise_kernel(const cuda_elementwise e, int64_t packs) {
  extern __shared__ __align__(16) unsigned char shared[];
  T *kept = reinterpret_cast<T *>(shared);
  int64_t length = e.dims[e.rank - 1], row_packs = (length + N - 1) / N;
  for (int64_t pack = first_index(); pack < packs; pack += index_step()) {
    place at;
    at.row = e.rank == 1 ? 0 : pack / row_packs;
    at.column = (pack - at.row * row_packs) * N;
    at.count = length - at.column < N ? static_cast<int>(length - at.column) : N;
    T u[N], v[N], w[N];
    EACH(N) u[j] = v[j] = w[j] = T(0);
#pragma unroll 1
    for (int s = 0; s < e.what.count; ++s) {
      const program_step &step = e.what.steps[s];
#pragma unroll 1
      for (int argument = 2; argument >= 0; --argument) {  /* the first last: until then it is the result of the step before */
        int from = step.from[argument];
        if (from == FROM_NOWHERE || (from == FROM_LAST && argument == 0)) continue;
        T x[N];
        if (from == FROM_LAST) EACH(N) x[j] = u[j];
        else if (from >= FROM_KEPT) recall(kept, from - FROM_KEPT, x);
        else if (from >= FROM_INPUT) read_operand(e, e.in[from - FROM_INPUT], at, x);
        else EACH(N) x[j] = static_cast<T>(from == FROM_P ? step.p : step.q);
        if (argument == 0) EACH(N) u[j] = x[j];
        else if (argument == 1) EACH(N) v[j] = x[j];
        else EACH(N) w[j] = x[j];
      }
      OPERATORS::apply(e, step, u, v, w);
      if (step.keep) keep(kept, step.keep - 1, u);
    }
    write_elements(e.out_type, e.out, at.row * length + at.column, at.count, u);
  }
}

template <class T, int N, class OPERATORS> int elementwise_launch(const cuda_elementwise *e, void *stream) {
  int64_t packs = (e->dims[e->rank - 1] + N - 1) / N;
  for (int d = 0; d + 1 < e->rank; ++d) packs *= e->dims[d];
  if (packs == 0) return cudaSuccess;
  size_t shared = static_cast<size_t>(e->what.kept) * N * elementwise_threads * sizeof(T);
  elementwise_kernel<T, N, OPERATORS><<<blocks_for(packs, elementwise_threads), elementwise_threads, shared, as_stream(stream)>>>(*e, packs);
  return cudaGetLastError();
}

/* Cases of `apply` for rows of the arithmetic tables, whose expressions speak of x, or of a, b and c, and of p and q. */
#define APPLY_1(name, expression) \
  case PROGRAM_##name: EACH(N) { T x = u[j]; u[j] = static_cast<T>(expression); } break;
#define APPLY_2(name, expression) \
  case PROGRAM_##name: EACH(N) { T a = u[j], b = v[j]; u[j] = static_cast<T>(expression); } break;
#define APPLY_3(name, expression) \
  case PROGRAM_##name: EACH(N) { T a = u[j], b = v[j], c = w[j]; u[j] = static_cast<T>(expression); } break;

}  // namespace ortcore

#endif
