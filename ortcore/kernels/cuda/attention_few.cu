/* Attention of few queries, as when text is generated a token at a time: what counts is how fast keys and values are read. The keys are divided
 * among blocks; in a block, groups of eight threads take every 16th key each, with all of its vector in registers, and keep a softmax of their
 * own. Query heads that share keys are served together. The groups' results are joined at the end, and those of the blocks by a second kernel. */
#include <ortcore/kernels/cuda/attention.cuh>

using namespace ortcore;

namespace {

constexpr int threads = 128, group_threads = 8, groups = threads / group_threads;
constexpr int wanted_blocks = 256, least_chunk = 128, most_parts = 128;

/* A thread's share of a vector: packs thread, thread + 8, ... of it, zeros where it ends. */
template <class T, int HEAD> struct share {
  static constexpr int width = pack<T>::size, packs = HEAD / width / group_threads;
  static ON_GPU int column_of(int p) { return (p * group_threads + threadIdx.x % group_threads) * width; }

  static ON_GPU void fetch(const T *vector, int size, bool by_packs, pack<T> (&to)[packs]) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      int column = column_of(p);
      if (by_packs && column < size) {
        to[p] = *reinterpret_cast<const pack<T> *>(vector + column);
      } else {
#pragma unroll
        for (int j = 0; j < width; ++j) to[p].at[j] = column + j < size ? vector[column + j] : store<T>(0.0f);
      }
    }
  }
};

/* What is known of one query after some keys. */
template <class T, int HEAD> struct partial_result {
  using S = share<T, HEAD>;
  float most = -INFINITY, sum = 0, y[S::packs][S::width] = {};

  ON_GPU void add(float score, const pack<T> (&value)[S::packs]) {
    float now = fmaxf(most, score), shift = shift_of(now), shrink = exp_fast(most - shift), weight = exp_fast(score - shift);
    most = now;
    sum = sum * shrink + weight;
#pragma unroll
    for (int p = 0; p < S::packs; ++p)
#pragma unroll
      for (int j = 0; j < S::width; ++j) y[p][j] = y[p][j] * shrink + weight * load(value[p].at[j]);
  }

  ON_GPU void scale(float factor) {
    sum *= factor;
#pragma unroll
    for (int p = 0; p < S::packs; ++p)
#pragma unroll
      for (int j = 0; j < S::width; ++j) y[p][j] *= factor;
  }
};

/* Results of parts lie as [row, part] of: largest score, sum, HEAD numbers. A row is a query of a head of a batch. */
template <int HEAD> ON_GPU float *partial_at(const cuda_attention &a, int64_t row, int part) {
  return a.partial + (row * a.parts + part) * (HEAD + 2);
}

/* Joins what the groups of a block know of one query, and writes it: the result, or that of a part. */
template <class T, int HEAD>
ON_GPU void join_groups(const cuda_attention &a, partial_result<T, HEAD> &mine, float (&shared)[groups][HEAD + 2], int b, int h, int query,
                        int part) {
  using S = share<T, HEAD>;
  const int group = threadIdx.x / group_threads;
  __syncthreads();                                         /* the query before has been written */
  if (threadIdx.x % group_threads == 0) shared[group][HEAD] = mine.most;
  __syncthreads();
  float most = -INFINITY, sum = 0;
  for (int g = 0; g < groups; ++g) most = fmaxf(most, shared[g][HEAD]);
  mine.scale(exp_fast(mine.most - shift_of(most)));
  if (threadIdx.x % group_threads == 0) shared[group][HEAD + 1] = mine.sum;
#pragma unroll
  for (int p = 0; p < S::packs; ++p)
#pragma unroll
    for (int j = 0; j < S::width; ++j) shared[group][S::column_of(p) + j] = mine.y[p][j];
  __syncthreads();
  for (int g = 0; g < groups; ++g) sum += shared[g][HEAD + 1];
  float *to = a.parts > 1 ? partial_at<HEAD>(a, (static_cast<int64_t>(b) * a.q_heads + h) * a.q_len + query, part) : nullptr;
  for (int d = threadIdx.x; d < HEAD; d += threads) {
    float y = 0;
    for (int g = 0; g < groups; ++g) y += shared[g][d];
    if (to) to[d + 2] = y;
    else if (d < a.v_size) const_cast<T *>(vector_at<T>(a.y, b, h, query))[d] = store<T>(sum == 0 ? 0 : y / sum);
  }
  if (to && threadIdx.x == 0) {
    to[0] = most;
    to[1] = sum;
  }
}

/* QUERIES of one key head a block: query n of the head is number n % q_len of query head n / q_len among those that share it. */
template <class T, int HEAD, int QUERIES> __global__ void __launch_bounds__(threads) few_kernel(cuda_attention a, int blocks_of_head, bool by_packs) {
  using S = share<T, HEAD>;
  __shared__ float shared[groups][HEAD + 2];
  const int part = blockIdx.x % a.parts, task = blockIdx.x / a.parts, first = task % blocks_of_head * QUERIES;
  const int kv_head = task / blocks_of_head % a.kv_heads, b = task / blocks_of_head / a.kv_heads, sharing = a.q_heads / a.kv_heads;
  const keys_of_batch all(a, b);
  float q[QUERIES][S::packs][S::width];
  partial_result<T, HEAD> results[QUERIES];
  int heads[QUERIES], queries[QUERIES];
#pragma unroll
  for (int i = 0; i < QUERIES; ++i) {
    pack<T> stored[S::packs];
    int n = min(first + i, sharing * a.q_len - 1);         /* the last block computes its last query again rather than none */
    heads[i] = kv_head * sharing + n / a.q_len;
    queries[i] = n % a.q_len;
    S::fetch(vector_at<T>(a.q, b, heads[i], queries[i]), a.size, by_packs, stored);
#pragma unroll
    for (int p = 0; p < S::packs; ++p)
#pragma unroll
      for (int j = 0; j < S::width; ++j) q[i][p][j] = load(stored[p].at[j]);
  }
  const int begin = part * a.chunk, end = min(begin + a.chunk, all.count);
  for (int first_key = begin; first_key < end; first_key += groups) {
    const int key = first_key + static_cast<int>(threadIdx.x) / group_threads, there = min(key, end - 1);
    pack<T> k[S::packs], v[S::packs];
    S::fetch(vector_at<T>(a.k, b, kv_head, there), a.size, by_packs, k);
    S::fetch(vector_at<T>(a.v, b, kv_head, there), a.v_size, by_packs, v);
#pragma unroll
    for (int i = 0; i < QUERIES; ++i) {
      float product = 0;
#pragma unroll
      for (int p = 0; p < S::packs; ++p)
#pragma unroll
        for (int j = 0; j < S::width; ++j) product += q[i][p][j] * load(k[p].at[j]);
      product = lanes_reduce(product, group_threads, plus());
      float score = key < end ? score_of(a, product, key, key_range(a, all, queries[i])) : -INFINITY;
      if (a.mask && score != -INFINITY) with_mask(a, b, heads[i], queries[i], [&](auto *mask) { score = masked(score, mask[key]); });
      if (score != -INFINITY) results[i].add(score, v);
    }
  }
#pragma unroll
  for (int i = 0; i < QUERIES; ++i) join_groups<T, HEAD>(a, results[i], shared, b, heads[i], queries[i], part);
}

/* A block joins the parts of one row. */
template <class T, int HEAD> __global__ void __launch_bounds__(threads) join_parts_kernel(cuda_attention a) {
  const int64_t row = blockIdx.x;
  const int query = row % a.q_len, h = row / a.q_len % a.q_heads, b = row / a.q_len / a.q_heads;
  float most = -INFINITY, sum = 0;
  for (int part = 0; part < a.parts; ++part) most = fmaxf(most, partial_at<HEAD>(a, row, part)[0]);
  auto weight_of = [&](int part) { return exp_fast(partial_at<HEAD>(a, row, part)[0] - shift_of(most)); };
  for (int part = 0; part < a.parts; ++part) sum += partial_at<HEAD>(a, row, part)[1] * weight_of(part);
  for (int d = threadIdx.x; d < a.v_size; d += threads) {
    float y = 0;
    for (int part = 0; part < a.parts; ++part) y += partial_at<HEAD>(a, row, part)[d + 2] * weight_of(part);
    const_cast<T *>(vector_at<T>(a.y, b, h, query))[d] = store<T>(sum == 0 ? 0 : y / sum);
  }
}

int padded_head(const cuda_attention &a) {
  int longer = a.size > a.v_size ? a.size : a.v_size;
  return longer <= 64 ? 64 : longer <= 128 ? 128 : 256;
}
/* How many queries that share keys a block can serve at once, for the registers that their vectors take. */
constexpr int most_queries(int head) { return head == 64 ? 4 : head == 128 ? 2 : 1; }
int queries_at_once(const cuda_attention &a) { return a.q_heads / a.kv_heads * a.q_len > 1 ? most_queries(padded_head(a)) : 1; }
int blocks_of_head(const cuda_attention &a) {
  int each = queries_at_once(a);
  return (a.q_heads / a.kv_heads * a.q_len + each - 1) / each;
}

template <class T, int HEAD> void launch(const cuda_attention &a, cudaStream_t stream) {
  const int of_head = blocks_of_head(a);
  const unsigned blocks = static_cast<unsigned>(of_head) * a.kv_heads * a.batch * a.parts;
  const bool by_packs = all_go_by_packs<T>(a);
  if (queries_at_once(a) > 1) few_kernel<T, HEAD, most_queries(HEAD)><<<blocks, threads, 0, stream>>>(a, of_head, by_packs);
  else few_kernel<T, HEAD, 1><<<blocks, threads, 0, stream>>>(a, of_head, by_packs);
  if (a.parts > 1) join_parts_kernel<T, HEAD><<<static_cast<unsigned>(a.batch * a.q_heads * a.q_len), threads, 0, stream>>>(a);
}

}  // namespace

int ortcore::attention_of_few(const cuda_attention &a, cudaStream_t stream) {
  return with_float(a.type, [&](auto *element) -> int {
    using T = std::remove_pointer_t<decltype(element)>;
    if constexpr (!std::is_same_v<T, double>) {
      const int head = padded_head(a);
      if (head == 64) launch<T, 64>(a, stream);
      else if (head == 128) launch<T, 128>(a, stream);
      else launch<T, 256>(a, stream);
      return cudaGetLastError();
    }
    return cudaErrorInvalidValue;
  });
}

/* Parts so that all of a GPU has work, each long enough to be worth it. */
int64_t cuda_attention_plan(cuda_attention *a) {
  a->parts = 1;
  a->chunk = a->kv_len;
  if (a->q_len > few_queries || a->kv_len == 0) return 0;
  const int64_t blocks = static_cast<int64_t>(blocks_of_head(*a)) * a->kv_heads * a->batch;
  int64_t parts = blocks > 0 ? wanted_blocks / blocks : 1, useful = a->kv_len / least_chunk;
  parts = parts < useful ? parts : useful;
  parts = parts < 1 ? 1 : parts < most_parts ? parts : most_parts;
  a->chunk = static_cast<int32_t>((a->kv_len + parts - 1) / parts);
  a->parts = (a->kv_len + a->chunk - 1) / a->chunk;
  return a->parts == 1 ? 0 : static_cast<int64_t>(sizeof(float)) * a->batch * a->q_heads * a->q_len * a->parts * (padded_head(*a) + 2);
}

int cuda_attention_run(const cuda_attention *a, void *stream) {
  if (a->batch == 0 || a->q_heads == 0 || a->q_len == 0 || a->v_size == 0) return cudaSuccess;
  const bool halves = a->type != ORTC_FLOAT && a->size <= 128 && a->v_size <= 128;
  if (a->q_len <= few_queries) return attention_of_few(*a, as_stream(stream));
  return halves ? attention_by_tensor_cores(*a, as_stream(stream)) : attention_by_floats(*a, as_stream(stream));
}
