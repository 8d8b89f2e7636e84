/* Elements and blocks fetched by index. */
#include <ortcore/kernels/cuda/movement.cuh>

namespace ortcore {
namespace {

struct gather_map {
  cuda_gather g;
  ON_GPU move_pair operator()(int64_t i) const {
    int64_t outer = i, b = next_coordinate(outer, g.block), at = next_coordinate(outer, g.count);
    return {(outer * g.n + valid_index(g.indices, at, g.n)) * g.block + b, i};
  }
};

struct elements_map {
  cuda_by_index g;
  ON_GPU move_pair operator()(int64_t i) const { return {indexed_place(g, i), i}; }
};

struct nd_map {
  cuda_nd g;
  ON_GPU move_pair operator()(int64_t i) const { return {nd_place(g, i), i}; }
};

}  // namespace
}  // namespace ortcore

using namespace ortcore;

int cuda_gather_blocks(const cuda_move *given, const cuda_gather *g, void *stream) {
  cuda_move m = *given;
  gather_map map = {*g};
  while (halve_block(&m, &map.g.block)) {}
  return move_launch(&m, map, stream);
}

int cuda_gather_elements(const cuda_move *m, const cuda_by_index *g, void *stream) { return move_launch(m, elements_map{*g}, stream); }

int cuda_gather_nd(const cuda_move *given, const cuda_nd *g, void *stream) {
  cuda_move m = *given;
  nd_map map = {*g};
  widen_blocks(&m, &map.g);
  return move_launch(&m, map, stream);
}
