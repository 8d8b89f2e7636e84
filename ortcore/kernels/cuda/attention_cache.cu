/* The caches of attention: past keys and values with the new ones behind them, in one launch. */
#include <ortcore/kernels/cuda/attention.h>
#include <ortcore/kernels/cuda/common.cuh>

using namespace ortcore;

namespace {

struct both { cuda_cache of[2]; };

/* blockIdx.y: keys or values. E is what is moved at once, of which `size` make a vector. */
template <class E> __global__ void __launch_bounds__(threads_per_block) join_kernel(both caches, int64_t batch) {
  const cuda_cache &c = caches.of[blockIdx.y];
  const int64_t length = c.past_length + c.length, count = batch * c.heads * length * c.size;
  for (int64_t i = first_index(); i < count; i += index_step()) {
    int64_t column = i % c.size, row = i / c.size % length, head = i / c.size / length;
    if (row < c.past_length) {
      static_cast<E *>(c.to)[i] = static_cast<const E *>(c.past)[(head * c.past_length + row) * c.size + column];
    } else {
      int64_t from = head / c.heads * c.now.batch + head % c.heads * c.now.head + (row - c.past_length) * c.now.row + column;
      static_cast<E *>(c.to)[i] = static_cast<const E *>(c.now.data)[from];
    }
  }
}

/* Sizes in units of `width` elements; false if they do not divide. */
bool in_packs(cuda_cache &c, int width) {
  if (!aligned16(c.past, c.now.data, c.to) || c.size % width || c.now.batch % width || c.now.head % width || c.now.row % width) return false;
  c.size /= width;
  c.now.batch /= width;
  c.now.head /= width;
  c.now.row /= width;
  return true;
}

int64_t count_of(const cuda_cache &c, int64_t batch) { return batch * c.heads * (c.past_length + c.length) * c.size; }

template <class E> void launch(const both &caches, int64_t batch, cudaStream_t stream) {
  const int64_t keys = count_of(caches.of[0], batch), values = count_of(caches.of[1], batch), most = keys > values ? keys : values;
  if (most) join_kernel<E><<<dim3(blocks_for(most), 2), threads_per_block, 0, stream>>>(caches, batch);
}

}  // namespace

int cuda_attention_join(dtype type, int64_t batch, const cuda_cache caches[2], void *stream) {
  const int width = type == ORTC_FLOAT ? 4 : 2;
  both plain = {{caches[0], caches[1]}}, packed = plain;
  if (in_packs(packed.of[0], 16 / width) && in_packs(packed.of[1], 16 / width)) launch<bytes16>(packed, batch, as_stream(stream));
  else if (width == 4) launch<uint32_t>(plain, batch, as_stream(stream));
  else launch<uint16_t>(plain, batch, as_stream(stream));
  return cudaGetLastError();
}
