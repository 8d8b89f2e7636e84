/* Non-maximum suppression. The boxes of each class are sorted by score; then a block a class walks through them, as many at a time as it has
 * threads: a thread compares its box with those that stay already, and then one after another of the block's own that stay with all later ones. */
#include "nms.h"
#include "scan.cuh"
#include "topk.h"

using namespace ortcore;

namespace {

constexpr int kThreads = threads_per_block, kWarps = kThreads / warp_threads;

struct box { float y0, x0, y1, x1, area; };

/* Corners from corners in any order, or from the centre. Products are rounded as on the CPU, so that ties at the threshold fall alike. */
ON_GPU box read_box(const cuda_nms &n, int64_t batch, int64_t index) {
  const float *from = n.boxes + (batch * n.count + index) * 4;
  box b;
  if (n.centred) b = {from[1] - from[3] / 2, from[0] - from[2] / 2, from[1] + from[3] / 2, from[0] + from[2] / 2, 0};
  else b = {fminf(from[0], from[2]), fminf(from[1], from[3]), fmaxf(from[0], from[2]), fmaxf(from[1], from[3]), 0};
  b.area = __fmul_rn(b.y1 - b.y0, b.x1 - b.x0);
  return b;
}

ON_GPU bool overlaps(const box &a, const box &b, float threshold) {
  float y0 = a.y0 > b.y0 ? a.y0 : b.y0, y1 = a.y1 < b.y1 ? a.y1 : b.y1, x0 = a.x0 > b.x0 ? a.x0 : b.x0, x1 = a.x1 < b.x1 ? a.x1 : b.x1;
  float common = __fmul_rn(y1 > y0 ? y1 - y0 : 0, x1 > x0 ? x1 - x0 : 0), both = a.area + b.area - common;
  return a.area > 0 && b.area > 0 && both > 0 && common / both > threshold;
}

/* order [pairs, count]: boxes of each class, best first. kept [pairs, most]: those that stay. Scores that are NaN are the worst, but the order
 * has them first: `nans` of them are walked through at the end. */
__global__ void __launch_bounds__(kThreads, 1) suppress_kernel(cuda_nms n, int64_t pairs, int64_t room, const int64_t *order, int32_t *kept,
                                                               int32_t *counts) {
  __shared__ box stays[kThreads], chosen;
  __shared__ unsigned alive[kWarps];
  __shared__ int sums[most_warps];
  int lane = threadIdx.x % warp_threads, warp = threadIdx.x / warp_threads;
  for (int64_t pair = blockIdx.x; pair < pairs; pair += gridDim.x) {
    const float *scores = n.scores + pair * n.count;
    int64_t batch = pair / n.classes;
    int found = 0, nans = 0;
    for (int64_t i = threadIdx.x; i < n.count; i += kThreads) nans += isnan(scores[i]);
    nans = row_reduce(nans, sums, plus());
    bool more = true;
    for (int64_t first = 0; first < n.count && found < room && more; first += kThreads) {
      int64_t place = first + threadIdx.x;
      int32_t index = place < n.count ? static_cast<int32_t>(order[pair * n.count + (place + nans) % n.count]) : 0;
      bool here = place < n.count && !(n.has_score_threshold && !(scores[index] > n.score_threshold));
      more = __syncthreads_and(here || place >= n.count);   /* scores only get worse */
      box mine = read_box(n, batch, index);
      /* Those that stay already, a block's worth at a time. */
      for (int from = 0; from < found; from += kThreads) {
        int some = found - from < kThreads ? found - from : kThreads;
        __syncthreads();
        if (threadIdx.x < some) stays[threadIdx.x] = read_box(n, batch, kept[pair * room + from + threadIdx.x]);
        __syncthreads();
        for (int i = 0; i < some && here; ++i) here = !overlaps(stays[i], mine, n.iou_threshold);
      }
      /* The first of the block's own that is left stays, and takes away later ones that overlap it. */
      while (found < room) {
        unsigned flags = __ballot_sync(whole_warp, here);
        __syncthreads();
        if (lane == 0) alive[warp] = flags;
        __syncthreads();
        int w = 0;
        while (w < kWarps && !alive[w]) ++w;
        if (w == kWarps) break;
        int next = w * warp_threads + __ffs(alive[w]) - 1;
        if (threadIdx.x == next) {
          chosen = mine;
          kept[pair * room + found] = index;
        }
        ++found;
        __syncthreads();
        if (here) here = threadIdx.x != next && !overlaps(chosen, mine, n.iou_threshold);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) counts[pair] = found;
  }
}

__global__ void __launch_bounds__(threads_per_block) put_kernel(int64_t pairs, int64_t classes, int64_t room, const int32_t *kept,
                                                                const int64_t *offsets, int64_t *to) {
  for (int64_t i = first_index(); i < pairs * room; i += index_step()) {
    int64_t pair = i / room, at = i % room;
    if (at >= offsets[pair + 1] - offsets[pair]) continue;
    int64_t *row = to + (offsets[pair] + at) * 3;
    row[0] = pair / classes;
    row[1] = pair % classes;
    row[2] = kept[i];
  }
}

/* What lies in scratch memory, in this order. */
struct places { cuda_topk sort; int64_t pairs, room; int64_t *order, *offsets; int32_t *kept, *counts; char *sorting; size_t bytes; };

places places_in(const cuda_nms &n, void *scratch) {
  places p = {};
  p.pairs = n.batch * n.classes;
  p.room = n.most < n.count ? n.most : n.count;
  p.sort = {ORTC_FLOAT, true, p.pairs, n.count, 1, n.count};
  p.order = static_cast<int64_t *>(scratch);
  p.offsets = p.order + p.pairs * n.count;
  p.sorting = reinterpret_cast<char *>(p.offsets + p.pairs + 1);
  size_t sorting = cuda_topk_scratch_bytes(&p.sort);
  p.kept = reinterpret_cast<int32_t *>(p.sorting + sorting);
  p.counts = p.kept + p.pairs * p.room;
  size_t lists = static_cast<size_t>(p.pairs * (n.count + 1) + 1), results = static_cast<size_t>(p.pairs * (p.room + 1));
  p.bytes = lists * sizeof(int64_t) + sorting + results * sizeof(int32_t);
  return p;
}

}  // namespace

size_t cuda_nms_scratch_bytes(const cuda_nms *n) { return places_in(*n, nullptr).bytes; }

int cuda_nms_find(const cuda_nms *n, void *scratch, void *stream, const int64_t **out_total) {
  places p = places_in(*n, scratch);
  *out_total = p.offsets + p.pairs;
  int error = cuda_topk_run(&p.sort, n->scores, nullptr, p.order, p.sorting, stream);
  if (error) return error;
  unsigned blocks = static_cast<unsigned>(p.pairs < most_blocks ? p.pairs : most_blocks);
  suppress_kernel<<<blocks, kThreads, 0, as_stream(stream)>>>(*n, p.pairs, p.room, p.order, p.kept, p.counts);
  offsets_kernel<<<1, threads_per_block, 0, as_stream(stream)>>>(p.counts, p.pairs, p.offsets);
  return cudaGetLastError();
}

int cuda_nms_put(const cuda_nms *n, void *scratch, int64_t *to, void *stream) {
  places p = places_in(*n, scratch);
  put_kernel<<<blocks_for(p.pairs * p.room), threads_per_block, 0, as_stream(stream)>>>(p.pairs, n->classes, p.room, p.kept, p.offsets, to);
  return cudaGetLastError();
}
