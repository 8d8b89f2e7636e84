/* Vector clocks: what an operation is known to come after. One number a lane; a stream is a lane, and so is a chain of nodes in a graph. */
#ifndef EMULATOR_RUNTIME_CLOCK_H
#define EMULATOR_RUNTIME_CLOCK_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator {

class vector_clock {
 public:
  uint32_t at(size_t lane) const { return lane < times.size() ? times[lane] : 0; }
  void join(const vector_clock &other) {
    if (times.size() < other.times.size()) times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i) {
      if (times[i] < other.times[i]) times[i] = other.times[i];
    }
  }
  uint32_t advance(size_t lane) {
    if (times.size() <= lane) times.resize(lane + 1);
    return ++times[lane];
  }
  void clear() { times.clear(); }

 private:
  std::vector<uint32_t> times;
};

}  // namespace emulator

#endif
