/* Support vector machines, after libsvm: what the kernel function says of a row and each vector; sums of that, one for each pair of classes, by a
 * warp each; votes, and probabilities by pairwise coupling (Wu, Lin, Weng 2004), by a thread a row. Rows come in parts, so that what lies between
 * these kernels stays small. */
#include "ml_svm.h"

#include "block.cuh"
#include "ml.cuh"

#include <type_traits>

using namespace ortcore;

namespace {

constexpr int64_t kMostValues = 1 << 24;                   /* of the kernel function that are kept at a time */
constexpr int64_t kMostWork = 64 << 20, kMostWorkers = 1 << 14;   /* bytes for coupling, threads that couple */

__host__ __device__ inline int64_t pairs_of(int64_t classes) { return classes * (classes - 1) / 2; }

/* ---- The kernel function: a thread a row and vector ------------------------------------------------------------------------------------- */

ON_GPU float kernel_value(const cuda_svm &m, double sum) {
  const double gamma = m.gamma, coef0 = m.coef0;
  switch (m.kernel) {
    case SVM_RBF: return expf(static_cast<float>(-gamma * sum));
    case SVM_POLY: return static_cast<float>(pow(gamma * sum + coef0, static_cast<double>(m.degree)));
    case SVM_SIGMOID: return static_cast<float>(tanh(gamma * sum + coef0));
    default: return static_cast<float>(sum);
  }
}

template <class X> __global__ void __launch_bounds__(threads_per_block, 1) values_kernel(cuda_svm m, const X *x, int64_t rows, float *values) {
  const int64_t width = (m.vectors + CUDA_SVM_BLOCK - 1) / CUDA_SVM_BLOCK * CUDA_SVM_BLOCK;
  for (int64_t i = first_index(); i < rows * width; i += index_step()) {
    const int64_t row = i / width, vector = i - row * width;
    if (vector >= m.vectors) continue;
    const float *at = m.blocks + vector / CUDA_SVM_BLOCK * m.features * CUDA_SVM_BLOCK + vector % CUDA_SVM_BLOCK;
    double sum = 0;
    for (int64_t f = 0; f < m.features; ++f, at += CUDA_SVM_BLOCK) {
      const float a = static_cast<float>(feature(x[row * m.features + f])), b = *at;
      const double difference = a - b;
      sum += m.kernel == SVM_RBF ? difference * difference : static_cast<double>(a) * static_cast<double>(b);
    }
    values[row * m.vectors + vector] = kernel_value(m, sum);
  }
}

/* ---- Sums: a warp each ------------------------------------------------------------------------------------------------------------------- */

/* Vectors from `begin` on, before `end`; the lane's part. */
ON_GPU double weighted(const float *coefficients, const float *values, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t v = begin + threadIdx.x % warp_threads; v < end; v += warp_threads)
    sum += static_cast<double>(coefficients[v]) * static_cast<double>(values[v]);
  return sum;
}

/* Pairs are numbered (0, 1), (0, 2), ... (1, 2), ... */
ON_GPU int64_t pair_of(int64_t first, int64_t second, int64_t classes) { return first * (2 * classes - first - 1) / 2 + second - first - 1; }
ON_GPU void classes_of(int64_t pair, int64_t classes, int64_t *first, int64_t *second) {
  int64_t i = 0;
  for (; pair >= classes - 1 - i; ++i) pair -= classes - 1 - i;
  *first = i, *second = i + 1 + pair;
}

__global__ void __launch_bounds__(threads_per_block, 1) decide_kernel(cuda_svm m, const float *values, int64_t rows, float *decisions) {
  const int64_t pairs = pairs_of(m.classes), warps = index_step() / warp_threads;
  for (int64_t item = first_index() / warp_threads; item < rows * pairs; item += warps) {
    const int64_t row = item / pairs, pair = item - row * pairs;
    const float *of_row = values + row * m.vectors;
    int64_t i, j;
    classes_of(pair, m.classes, &i, &j);
    double sum = weighted(m.coefficients + m.vectors * (j - 1), of_row, m.starts[i], m.starts[i + 1]) +
                 weighted(m.coefficients + m.vectors * i, of_row, m.starts[j], m.starts[j + 1]);
    sum = lanes_reduce(sum, warp_threads, plus());
    if (threadIdx.x % warp_threads == 0) decisions[item] = static_cast<float>(sum + static_cast<double>(m.rho[pair]));
  }
}

__global__ void __launch_bounds__(threads_per_block, 1) regress_kernel(cuda_svm m, const float *values, int64_t rows, float *y) {
  const int64_t warps = index_step() / warp_threads;
  for (int64_t row = first_index() / warp_threads; row < rows; row += warps) {
    double sum = lanes_reduce(weighted(m.coefficients, values + row * m.vectors, 0, m.vectors), warp_threads, plus());
    if (threadIdx.x % warp_threads) continue;
    float score = static_cast<float>(sum + static_cast<double>(m.rho[0]));
    if (m.one_class) score = score > 0 ? 1 : -1;
    else post_apply(m.post, &score, 1);
    y[row] = score;
  }
}

/* ---- Probabilities ----------------------------------------------------------------------------------------------------------------------- */

/* Doubles that one thread works with: two matrices and two vectors of classes. */
__host__ __device__ inline int64_t work_of(int64_t classes) { return 2 * classes * classes + 2 * classes; }

/* Sigmoid of a decision, kept off 0 and 1 as libsvm does. */
ON_GPU double pair_probability(double decision, double a, double b) {
  double f = decision * a + b, v = f >= 0 ? exp(-f) / (1 + exp(-f)) : 1 / (1 + exp(f));
  return v < 1e-7 ? 1e-7 : v > 1 - 1e-7 ? 1 - 1e-7 : v;
}

/* One round of the iteration of the paper (algorithm 2), which minimises the sum over pairs of (r_ji p_i - r_ij p_j)^2. False: p is good enough. */
ON_GPU bool improve(int64_t n, const double *q, double *qp, double *p) {
  double pqp = 0, worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    qp[i] = 0;
    for (int64_t j = 0; j < n; ++j) qp[i] += q[i * n + j] * p[j];
    pqp += p[i] * qp[i];
  }
  for (int64_t i = 0; i < n; ++i) worst = fabs(qp[i] - pqp) > worst ? fabs(qp[i] - pqp) : worst;
  if (worst < 0.005 / static_cast<double>(n)) return false;
  for (int64_t i = 0; i < n; ++i) {
    double step = (-qp[i] + pqp) / q[i * n + i];
    p[i] += step;
    pqp = (pqp + step * (step * q[i * n + i] + 2 * qp[i])) / (1 + step) / (1 + step);
    for (int64_t j = 0; j < n; ++j) {
      qp[j] = (qp[j] + step * q[i * n + j]) / (1 + step);
      p[j] /= 1 + step;
    }
  }
  return true;
}

ON_GPU void probabilities(const cuda_svm &m, const float *decisions, double *work, float *out) {
  const int64_t n = m.classes;
  double *r = work, *q = r + n * n, *qp = q + n * n, *p = qp + n;
  int64_t pair = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j, ++pair) {
      r[i * n + j] = pair_probability(decisions[pair], m.prob_a[pair], m.prob_b[pair]);
      r[j * n + i] = 1 - r[i * n + j];
    }
  for (int64_t i = 0; i < n; ++i) {
    p[i] = 1.0 / static_cast<double>(n);
    q[i * n + i] = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (j == i) continue;
      q[i * n + i] += r[j * n + i] * r[j * n + i];
      q[i * n + j] = -r[j * n + i] * r[i * n + j];
    }
  }
  for (int64_t round = 0, rounds = n > 100 ? n : 100; round < rounds && improve(n, q, qp, p); ++round) {}
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(p[i]);
}

/* ---- Rows: a thread each ----------------------------------------------------------------------------------------------------------------- */

/* The first class with the most votes. */
ON_GPU int64_t elected(const float *decisions, int64_t classes) {
  int64_t best = 0, most = -1;
  for (int64_t c = 0; c < classes; ++c) {
    int64_t votes = 0;
    for (int64_t other = 0; other < classes; ++other) {
      if (other < c) votes += !(decisions[pair_of(other, c, classes)] > 0);
      if (other > c) votes += decisions[pair_of(c, other, classes)] > 0;
    }
    if (votes > most) best = c, most = votes;
  }
  return best;
}

struct svm_rows { const float *values, *decisions; double *work; int64_t rows, width; float *scores; int64_t *labels; };

__global__ void __launch_bounds__(threads_per_block, 1) finish_kernel(cuda_svm m, svm_rows s) {
  const int64_t pairs = pairs_of(m.classes);
  for (int64_t row = first_index(); row < s.rows; row += index_step()) {
    const float *decisions = s.decisions + row * pairs, *values = s.values + row * m.vectors;
    const bool linear = !m.coefficients;
    if (s.labels) {                                        /* the votes decide even where there are probabilities */
      int64_t best = 0;
      for (int64_t c = 1; linear && c < m.classes; ++c)
        if (values[c] + m.rho[0] > values[best] + m.rho[0]) best = c;
      s.labels[row] = m.labels[linear ? best : elected(decisions, m.classes)];
    }
    if (!s.scores) continue;
    float *scores = s.scores + row * s.width;
    if (!linear && m.prob_a) probabilities(m, decisions, s.work + first_index() * work_of(m.classes), scores);
    else if (!linear && m.classes == 2) scores[0] = decisions[0], scores[1] = -decisions[0];
    else
      for (int64_t i = 0; i < s.width; ++i) scores[i] = linear ? values[i] + m.rho[0] : decisions[i];
    post_apply(m.post, scores, s.width);
  }
}

/* ---- Launches ---------------------------------------------------------------------------------------------------------------------------- */

/* How rows are cut into parts, and where in scratch memory what they need lies. */
struct parts { int64_t rows, workers; size_t decisions, work, bytes; };

size_t whole_lines(int64_t count, size_t width) { return (static_cast<size_t>(count) * width + 255) / 256 * 256; }

parts parts_of(const cuda_svm &m, int64_t rows) {
  parts p = {};
  int64_t most = kMostValues / (m.vectors > 0 ? m.vectors : 1), own = work_of(m.classes) * static_cast<int64_t>(sizeof(double));
  p.rows = most < 1 ? 1 : most < rows ? most : rows;
  p.workers = own > 0 ? kMostWork / own : kMostWorkers;
  p.workers = p.workers < 1 ? 1 : p.workers < kMostWorkers ? p.workers : kMostWorkers;
  p.workers = p.workers < p.rows ? p.workers : p.rows;
  p.decisions = whole_lines(p.rows * m.vectors, sizeof(float));
  p.work = p.decisions + whole_lines(p.rows * pairs_of(m.classes), sizeof(float));
  p.bytes = p.work + (m.prob_a ? whole_lines(p.workers * own, 1) : 0);
  return p;
}

/* Exactly as many threads as have memory to work with, where they need any. */
void launch_finish(const cuda_svm &m, const svm_rows &s, int64_t workers, cudaStream_t stream) {
  int threads = m.prob_a && workers < threads_per_block ? static_cast<int>(workers) : threads_per_block;
  int64_t blocks = m.prob_a ? workers / threads : blocks_for(s.rows);
  finish_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(m, s);
}

template <class X> int run_rows(const cuda_svm &m, const X *x, svm_rows s, int64_t workers, cudaStream_t stream) {
  float *values = const_cast<float *>(s.values), *decisions = const_cast<float *>(s.decisions);
  int64_t padded = (m.vectors + CUDA_SVM_BLOCK - 1) / CUDA_SVM_BLOCK * CUDA_SVM_BLOCK;
  values_kernel<<<blocks_for(s.rows * padded), threads_per_block, 0, stream>>>(m, x, s.rows, values);
  if (!m.classes) {
    regress_kernel<<<blocks_for(s.rows * warp_threads), threads_per_block, 0, stream>>>(m, values, s.rows, s.scores);
    return cudaGetLastError();
  }
  int64_t pairs = m.coefficients ? pairs_of(m.classes) : 0;
  if (pairs) decide_kernel<<<blocks_for(s.rows * pairs * warp_threads), threads_per_block, 0, stream>>>(m, values, s.rows, decisions);
  launch_finish(m, s, workers, stream);
  return cudaGetLastError();
}

}  // namespace

size_t cuda_svm_scratch_bytes(const cuda_svm *m, int64_t rows) { return parts_of(*m, rows).bytes; }

int cuda_svm_run(const cuda_svm *m, const cuda_features *x, float *scores, int64_t score_count, int64_t *labels, void *scratch, void *stream) {
  if (x->rows == 0 || (!scores && !labels)) return cudaSuccess;
  return with_features(x->type, [&](auto *type) {
    using X = std::remove_pointer_t<decltype(type)>;
    char *memory = static_cast<char *>(scratch);
    parts p = parts_of(*m, x->rows);
    for (int64_t first = 0; first < x->rows; first += p.rows) {
      svm_rows s = {reinterpret_cast<float *>(memory), reinterpret_cast<float *>(memory + p.decisions), reinterpret_cast<double *>(memory + p.work)};
      s.rows = x->rows - first < p.rows ? x->rows - first : p.rows;
      s.width = score_count;
      s.scores = scores ? scores + first * score_count : nullptr;
      s.labels = labels ? labels + first : nullptr;
      int error = run_rows(*m, static_cast<const X *>(x->data) + first * m->features, s, p.workers, as_stream(stream));
      if (error) return error;
    }
    return static_cast<int>(cudaSuccess);
  });
}
