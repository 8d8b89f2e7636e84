/* What the attention kernels share: which keys a query sees, what becomes of a score, and how tiles of vectors come into shared memory. */
#ifndef ORTCORE_KERNELS_CUDA_ATTENTION_CUH
#define ORTCORE_KERNELS_CUDA_ATTENTION_CUH

#include <ortcore/kernels/cuda/attention.h>
#include <ortcore/kernels/cuda/block.cuh>
#include <ortcore/kernels/cuda/ptx.cuh>

namespace ortcore {

/* e^x, by the instruction that raises 2 to a power. */
ON_GPU float exp_fast(float x) { return exp2f(x * 1.4426950408889634f); }
/* What exponents are taken about; minus infinity, the largest of no scores, would give NaN. */
ON_GPU float shift_of(float most) { return most == -INFINITY ? 0.0f : most; }

/* How many keys a batch has, and where its first query stands. */
struct keys_of_batch {
  int count, offset;
  ON_GPU keys_of_batch(const cuda_attention &a, int b) : count(a.kv_len), offset(a.offset) {
    if (!a.valid) return;
    int64_t given = a.valid[b];
    if (given < 0 || given > a.kv_len) {
      tell_fault(a.fault, GPU_FAULT_LENGTH);
      given = 0;
    }
    count = static_cast<int>(given);
    offset = count - a.q_len;
  }
};

/* Keys that a query may see, from `first` up to `end`; both grow with the query. */
struct key_range {
  int first, end;
  ON_GPU key_range(const cuda_attention &a, const keys_of_batch &keys, int query) : first(0), end(keys.count) {
    int place = query + keys.offset;
    if (a.right >= 0) end = min(end, place + a.right + 1);
    if (a.left >= 0) first = max(first, place - a.left);
    if (a.mask) end = min(end, a.mask_len);
    if (query >= a.q_len || end < first) end = first = 0;
  }
};

/* A product of query and key, scaled and capped: minus infinity where the key is not seen. */
ON_GPU float score_of(const cuda_attention &a, float product, int key, const key_range &seen) {
  if (key < seen.first || key >= seen.end) return -INFINITY;
  float score = product * a.scale;
  return a.softcap > 0 ? tanhf(score / a.softcap) * a.softcap : score;
}

/* What a mask adds to a score. */
template <class M> ON_GPU float masked(float score, M mask) {
  float bias = load(mask);
  return bias == -INFINITY ? bias : score + bias;          /* even of NaN */
}
template <> ON_GPU float masked(float score, bool mask) { return mask ? score : -INFINITY; }

/* Calls f with the mask of one query, of whatever type it is. */
template <class F> ON_GPU void with_mask(const cuda_attention &a, int b, int h, int query, F f) {
  int64_t row = b * a.mask_batch + h * a.mask_head + min(query, a.q_len - 1) * a.mask_row;
  switch (a.mask_type) {
    case ORTC_BOOL: return f(static_cast<const bool *>(a.mask) + row);
    case ORTC_FLOAT16: return f(static_cast<const __half *>(a.mask) + row);
    case ORTC_BFLOAT16: return f(static_cast<const __nv_bfloat16 *>(a.mask) + row);
    default: return f(static_cast<const float *>(a.mask) + row);
  }
}

template <class T> ON_GPU const T *vector_at(const cuda_heads &v, int b, int h, int row) {
  return static_cast<const T *>(v.data) + b * v.batch + h * v.head + row * v.row;
}

/* Which queries of which head a block serves: `rows` of them. Blocks of one head are neighbours, and those with the most keys come first. */
struct block_of_queries {
  int batch, head, kv_head, first;
  ON_GPU block_of_queries(const cuda_attention &a, int rows) {
    unsigned blocks = (a.q_len + rows - 1) / rows, task = blockIdx.x / blocks;
    first = (blocks - 1 - blockIdx.x % blocks) * rows;
    head = task % a.q_heads;
    batch = task / a.q_heads;
    kv_head = head / (a.q_heads / a.kv_heads);
  }
};

/* May its vectors be read by packs? */
template <class T> bool goes_by_packs(const cuda_heads &v, int size) {
  constexpr int width = pack<T>::size;
  return aligned16(v.data) && size % width == 0 && v.batch % width == 0 && v.head % width == 0 && v.row % width == 0;
}
template <class T> bool all_go_by_packs(const cuda_attention &a) {
  return goes_by_packs<T>(a.q, a.size) && goes_by_packs<T>(a.k, a.size) && goes_by_packs<T>(a.v, a.v_size) && goes_by_packs<T>(a.y, a.v_size);
}

/* Launchers by kind, each in a file of its own. */
int attention_by_tensor_cores(const cuda_attention &a, cudaStream_t stream);   /* halves, heads up to 128 */
int attention_by_floats(const cuda_attention &a, cudaStream_t stream);         /* anything */
int attention_of_few(const cuda_attention &a, cudaStream_t stream);            /* few queries */
constexpr int few_queries = 4;

}  // namespace ortcore
#endif
