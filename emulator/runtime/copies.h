/* Copies and fills as work. */
#ifndef EMULATOR_RUNTIME_COPIES_H
#define EMULATOR_RUNTIME_COPIES_H

#include <emulator/runtime/scheduler.h>

namespace emulator {

enum class place : unsigned char { device, pinned, pageable };
place place_of(const void *p);

/* `width` bytes, `height` times a pitch apart, `depth` times a slice apart. */
struct box {
  size_t width, height, depth;
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  size_t bytes() const { return width * height * depth; }
};
struct box_end {
  char *data;
  size_t pitch, slice;
  char *row(size_t y, size_t z) const { return data + y * pitch + z * slice; }
  /* From the first byte to behind the last one. */
  size_t reach(const box &b) const { return b.empty() ? 0 : (b.depth - 1) * slice + (b.height - 1) * pitch + b.width; }
};

struct copy_work final : work {
  const char *call;
  box_end to, from;
  box shape;
  place to_place, from_place;
  std::shared_ptr<std::vector<char>> staged;                /* what pageable memory held when the copy was enqueued */

  cudaGraphNodeType type() const override { return cudaGraphNodeTypeMemcpy; }
  std::string describe() const override;
  void spans(std::vector<span> *out) const override;
  cudaError_t run(stream &on, const operation &op) const override;
  void enqueued(stream &on, operation *op) const override;
  void stage();
};

struct memset_work final : work {
  const char *call;
  box_end to;
  box shape;
  uint32_t value;
  unsigned element;                                         /* 1, 2 or 4 bytes */

  cudaGraphNodeType type() const override { return cudaGraphNodeTypeMemset; }
  std::string describe() const override;
  void spans(std::vector<span> *out) const override;
  cudaError_t run(stream &on, const operation &op) const override;
  void enqueued(stream &on, operation *op) const override;
};

/* Check pointers, pitches and the direction, as the driver does. */
cudaError_t make_copy(const char *call, const box_end &to, const box_end &from, const box &shape, cudaMemcpyKind kind, std::shared_ptr<copy_work> *out);
cudaError_t make_memset(const char *call, const box_end &to, const box &shape, unsigned value, unsigned element, std::shared_ptr<memset_work> *out);
/* The parts of cudaMemcpy3DParms that do not concern arrays. */
cudaError_t parts_of(const cudaMemcpy3DParms &p, box_end *to, box_end *from, box *shape);

}  // namespace emulator

#endif
