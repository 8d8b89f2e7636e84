/* Ensembles of decision trees. The threads of a row walk a tree each and leave what they found in shared memory; there a thread adds up, for its
 * targets, what the trees say, in their order, so that sums are those of the CPU to the last bit. One thread then finishes the row. */
#include "ml_trees.h"

#include "block.cuh"
#include "ml.cuh"

#include <type_traits>

using namespace ortcore;

namespace {

constexpr int kMostThreads = 512;                          /* of a row, which then takes its trees in turns */
constexpr int kAhead = 8;                                  /* weights that are on their way while one is added */

template <class T> struct table_of { using node = cuda_tree_node; using weight = cuda_tree_weight; };
template <> struct table_of<double> { using node = cuda_wide_node; using weight = cuda_wide_weight; };

/* Everything by its type, and the places where a row's sums are made. */
template <class T> struct forest {
  cuda_trees t;
  const typename table_of<T>::node *nodes;
  const typename table_of<T>::weight *weights;
  const T *members;
  T *sums;                                                 /* [rows, targets], as are these: whether a leaf named the target */
  bool *seen;
};

/* What a walk ends with: where the leaf's weights are, and the first of them. */
template <class T> struct landing { T value; int32_t target, first, count; };

/* ---- Walks ----------------------------------------------------------------------------------------------------------------------------- */

template <class T> ON_GPU bool is_member(const forest<T> &f, uint32_t ask, T x) {
  cuda_tree_set set = f.t.sets[ask >> CUDA_TREE_SET_SHIFT];
  for (int32_t i = 0; i < set.count; ++i)
    if (x == f.members[set.first + i]) return true;
  return false;
}

template <class T> ON_GPU bool answer(const forest<T> &f, uint32_t ask, T threshold, T x) {
  if (x != x) return ask & CUDA_TREE_MISSING;
  switch (ask & CUDA_TREE_MODE) {
    case TREE_LEQ: return x <= threshold;
    case TREE_LT: return x < threshold;
    case TREE_GTE: return x >= threshold;
    case TREE_GT: return x > threshold;
    case TREE_EQ: return x == threshold;
    case TREE_NEQ: return x != threshold;
    default: return is_member(f, ask, x);
  }
}

template <class T, class X> ON_GPU landing<T> walk(const forest<T> &f, int32_t tree, const X *x) {
  auto node = f.nodes[tree];
  while ((node.ask & CUDA_TREE_MODE) != TREE_LEAF) node = f.nodes[node.next + !answer<T>(f, node.ask, node.threshold, feature(x[node.feature]))];
  landing<T> leaf = {0, 0, node.next, node.feature};
  if (leaf.count) {
    auto weight = f.weights[leaf.first];
    leaf.value = weight.value, leaf.target = weight.target;
  }
  return leaf;
}

/* ---- Sums ------------------------------------------------------------------------------------------------------------------------------ */

template <class T> struct target_sum { T value; bool seen; };

template <class T> ON_GPU void add(target_sum<T> *sum, tree_aggregate how, T value) {
  if (how == TREE_MIN) sum->value = !sum->seen || value < sum->value ? value : sum->value;
  else if (how == TREE_MAX) sum->value = !sum->seen || value > sum->value ? value : sum->value;
  else sum->value += value;
  sum->seen = true;
}

/* The first of a leaf's weights whose target is not below this one. */
template <class T> ON_GPU int32_t find_weight(const forest<T> &f, const landing<T> &leaf, int64_t target) {
  int32_t low = leaf.first, high = leaf.first + leaf.count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (f.weights[middle].target < target) low = middle + 1;
    else high = middle;
  }
  return low;
}

template <class T> ON_GPU void add_leaf(const forest<T> &f, const landing<T> &leaf, int64_t target, target_sum<T> *sum) {
  if (leaf.count == 1) {
    if (leaf.target == target) add(sum, f.t.how, leaf.value);
    return;
  }
  int32_t end = leaf.first + leaf.count;
  for (int32_t i = find_weight(f, leaf, target); i < end && f.weights[i].target == target; ++i) add(sum, f.t.how, static_cast<T>(f.weights[i].value));
}

/* Leaves that have a weight for every target: where it lies is known, so that none waits for another. */
template <class T> ON_GPU void add_dense(const forest<T> &f, const landing<T> *leaves, int count, int64_t target, target_sum<T> *sum) {
  for (int begin = 0; begin < count; begin += kAhead) {
    T values[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j)
      if (begin + j < count) values[j] = f.weights[leaves[begin + j].first + target].value;
#pragma unroll
    for (int j = 0; j < kAhead; ++j)
      if (begin + j < count) add(sum, f.t.how, values[j]);
  }
}

/* ---- Rows ------------------------------------------------------------------------------------------------------------------------------ */

template <class T> ON_GPU float score_of(const forest<T> &f, const T *sums, int64_t target, int base) {
  float score = static_cast<float>(sums[target]);
  return f.t.base_count ? score + f.t.bases[f.t.base_count == 1 ? 0 : base] : score;
}

/* Leaves of a binary ensemble speak of one class only. If that is the second, its score stands beside the first's; if it is the first, it counts
 * for the second, and the other score is made of it. */
template <class T, class Y> ON_GPU int64_t finish_binary(const forest<T> &f, const T *sums, bool second, Y *out) {
  float v = score_of(f, sums, second, 1);
  if (out) {
    bool logistic = f.t.post == POST_LOGISTIC;
    out[0] = second ? 0 : f.t.all_positive ? 1 - v : logistic ? post_logistic(-v) : -v;
    out[1] = !second && !f.t.all_positive && logistic ? post_logistic(v) : v;
    if (second) post_apply(f.t.post, out, 2);
  }
  return f.t.all_positive ? v > 0.5f : v > 0;
}

/* Doubles that nothing is done to stay as wide as they are. */
template <class T, class Y> ON_GPU int64_t finish_targets(const forest<T> &f, const T *sums, Y *out) {
  int64_t best = 0;
  float most = 0;
  for (int64_t i = 0; i < f.t.targets; ++i) {
    float score = score_of(f, sums, i, static_cast<int>(i));
    if (i == 0 || score > most) best = i, most = score;
    if (out) out[i] = std::is_same_v<Y, double> && f.t.post == POST_NONE ? static_cast<Y>(sums[i]) : static_cast<Y>(score);
  }
  if (out) post_apply(f.t.post, out, f.t.targets);
  return best;
}

/* Threads (tree or target, row of the block). */
template <class T, class X, class Y>
__global__ void __launch_bounds__(kMostThreads, 1) trees_kernel(forest<T> f, const X *x, int64_t rows, int64_t columns, Y *scores, int64_t *labels) {
  __shared__ landing<T> leaves[kMostThreads];
  landing<T> *mine = leaves + threadIdx.y * blockDim.x;
  const int across = blockDim.x;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y; first < rows; first += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    const int64_t row = first + threadIdx.y, place = row * f.t.targets;
    const bool here = row < rows;
    for (int64_t i = threadIdx.x; here && i < f.t.targets; i += across) f.sums[place + i] = 0, f.seen[place + i] = false;
    __syncthreads();
    for (int begin = 0; begin < f.t.root_count; begin += across) {
      const int count = f.t.root_count - begin < across ? f.t.root_count - begin : across;
      if (here && threadIdx.x < count) mine[threadIdx.x] = walk<T>(f, begin + threadIdx.x, x + row * columns);
      __syncthreads();
      for (int64_t i = threadIdx.x; here && i < f.t.targets; i += across) {
        target_sum<T> sum = {f.sums[place + i], f.seen[place + i]};
        if (f.t.dense && f.t.targets > 1) add_dense(f, mine, count, i, &sum);
        else
          for (int j = 0; j < count; ++j) add_leaf(f, mine[j], i, &sum);
        f.sums[place + i] = sum.value, f.seen[place + i] = sum.seen;
      }
      __syncthreads();
    }
    if (!here || threadIdx.x) continue;
    if (f.t.how == TREE_AVERAGE)
      for (int64_t i = 0; i < f.t.targets; ++i) f.sums[place + i] /= static_cast<T>(f.t.root_count);
    Y *out = scores ? scores + place : nullptr;
    int64_t best = f.t.binary ? finish_binary(f, f.sums + place, f.seen[place + 1], out) : finish_targets(f, f.sums + place, out);
    if (labels) labels[row] = f.t.labels[best];
  }
}

size_t sums_bytes(const cuda_trees &t, const cuda_features &x) {
  return static_cast<size_t>(x.rows * t.targets) * (x.type == ORTC_DOUBLE ? sizeof(double) : sizeof(float));
}

template <class T, class X, class Y> int launch(const forest<T> &f, const cuda_features &x, const cuda_tree_outputs &y, cudaStream_t stream) {
  int64_t widest = f.t.root_count > f.t.targets ? f.t.root_count : f.t.targets;
  dim3 block = block_for_rows(threads_for_row(widest, 1, kMostThreads));
  trees_kernel<<<blocks_for(x.rows, block.y), block, 0, stream>>>(f, static_cast<const X *>(x.data), x.rows, x.columns, static_cast<Y *>(y.scores),
                                                                  y.labels);
  return cudaGetLastError();
}

}  // namespace

size_t cuda_trees_scratch_bytes(const cuda_trees *t, const cuda_features *x) { return sums_bytes(*t, *x) + static_cast<size_t>(x->rows * t->targets); }

int cuda_trees_run(const cuda_trees *t, const cuda_features *x, const cuda_tree_outputs *y, void *scratch, void *stream) {
  if (x->rows == 0) return cudaSuccess;
  return with_features(x->type, [&](auto *type) {
    using X = std::remove_pointer_t<decltype(type)>;
    using T = std::conditional_t<std::is_same_v<X, double>, double, float>;
    forest<T> f = {*t};
    f.nodes = static_cast<const typename table_of<T>::node *>(t->nodes);
    f.weights = static_cast<const typename table_of<T>::weight *>(t->weights);
    f.members = static_cast<const T *>(t->members);
    f.sums = static_cast<T *>(scratch);
    f.seen = static_cast<bool *>(scratch) + sums_bytes(*t, *x);
    if constexpr (std::is_same_v<X, double>)
      if (y->type == ORTC_DOUBLE) return launch<T, X, double>(f, *x, *y, as_stream(stream));
    return launch<T, X, float>(f, *x, *y, as_stream(stream));
  });
}
