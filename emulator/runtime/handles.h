/* Handles that are never used twice, so that one which was destroyed is told from one that lives, and a stream from an event. No handle is
 * the address of anything: who reads through one faults. */
#ifndef EMULATOR_RUNTIME_HANDLES_H
#define EMULATOR_RUNTIME_HANDLES_H

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace emulator {

enum class handle_kind : uint64_t { stream = 1, event, graph, graph_node, graph_exec, pool, kernel };

template <class Handle, class T> class handle_table {
 public:
  explicit handle_table(handle_kind kind) : first((0x0E00 + static_cast<uint64_t>(kind)) << 48) {}

  Handle add(std::shared_ptr<T> object) {
    uint64_t number = first + step * ++last;
    live.emplace(number, std::move(object));
    return reinterpret_cast<Handle>(number);
  }
  std::shared_ptr<T> find(Handle handle) const {
    auto at = live.find(reinterpret_cast<uint64_t>(handle));
    return at == live.end() ? nullptr : at->second;
  }
  bool remove(Handle handle) { return live.erase(reinterpret_cast<uint64_t>(handle)) != 0; }
  /* Of a handle that is not live: was it, once? */
  bool was_live(Handle handle) const {
    uint64_t number = reinterpret_cast<uint64_t>(handle);
    return number > first && number <= first + step * last && (number - first) % step == 0;
  }
  /* Counted from 1 in the order of creation: what findings call it. */
  uint64_t number(Handle handle) const { return (reinterpret_cast<uint64_t>(handle) - first) / step; }
  const std::unordered_map<uint64_t, std::shared_ptr<T>> &all() const { return live; }

 private:
  static constexpr uint64_t step = 16;
  uint64_t first, last = 0;
  std::unordered_map<uint64_t, std::shared_ptr<T>> live;
};

}  // namespace emulator

#endif
