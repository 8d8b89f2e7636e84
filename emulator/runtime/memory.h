/* The devices' memory, and host memory that was pinned.
 *
 * Each device has an address range of its own. It is closed (PROT_NONE) while host code runs and open while queued work runs, so a host
 * access faults. Every allocation ends in a red zone; fresh and freed memory is filled with patterns; freed memory stays unused for a while. */
#ifndef EMULATOR_RUNTIME_MEMORY_H
#define EMULATOR_RUNTIME_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include <emulator/runtime/scheduler.h>

namespace emulator {

enum class memory_kind : unsigned char { device, pinned, registered, managed };

struct allocation {
  uint64_t id;
  uint64_t address;
  size_t bytes;
  memory_kind kind;
  int device;                                               /* ordinal */
  const char *origin;                                       /* the function that made it */
  std::string name;                                         /* given by ortcore_emulator_name */
  unsigned flags = 0;                                       /* of host memory */
  cudaMemPool_t pool = nullptr;
  bool freed = false;
  const char *freed_by = "";
  mark free_when = {};                                      /* freed in stream order: reusable once this is reached */
};

/* `allocation #3 "weights" (4096 bytes from cudaMalloc)`, and at which byte of it. */
std::string describe(const allocation &a);
std::string describe_at(const allocation &a, uint64_t address);

class device_memory {
 public:
  explicit device_memory(int ordinal) : device(ordinal) {}

  /* NULL: out of memory. */
  allocation *allocate(size_t bytes, const char *origin);
  /* `when` empty: at once. Otherwise poison() is called when it is reached. */
  void release(allocation *a, const char *by, const mark &when);
  void poison_freed(const allocation &a);
  /* The allocation, live or freed, whose bytes or red zone hold the address. */
  allocation *find(uint64_t address);
  allocation *find_start(uint64_t address);
  bool holds(uint64_t address) const { return address - base < reserved; }
  /* `by` says who may have written there; asked only if someone did. */
  void check_red_zone(const allocation &a, const std::function<std::string()> &by);
  void check_red_zones();
  void open();
  void close();
  size_t used() const { return live_bytes; }
  size_t quarantined() const { return quarantine_bytes; }
  uint64_t start() const { return base; }
  size_t extent() const { return reserved; }
  void release_all(const char *by);
  template <class F> void for_each(F &&f) const {
    for (const auto &[address, a] : allocations) f(a);
  }

 private:
  bool reserve();
  bool take_block(size_t bytes, uint64_t *out_address);
  void give_block(uint64_t address, size_t bytes);
  void shrink_quarantine(size_t most);
  void fill_fresh(const allocation &a);

  int device;
  uint64_t base = 0, top = 0;                               /* top: nothing above was ever handed out */
  size_t reserved = 0, opened = 0, live_bytes = 0, quarantine_bytes = 0;
  std::map<uint64_t, allocation> allocations;
  std::map<uint64_t, size_t> free_blocks;
  std::deque<uint64_t> quarantine;
};

/* Device memory at that address; NULL if it belongs to no device or is outside all allocations. */
allocation *find_device_allocation(uint64_t address);
bool is_device_address(const void *p);                      /* in any device's range, allocated or not, or a module variable */
/* Opens all devices' memory for work that is about to run; call::~call closes it. */
void open_device_memory();
void close_device_memory();
/* Asks the settings for injected failures: false if this allocation must fail. */
bool allocation_may_succeed();
uint64_t next_allocation_id();
/* Counts allocations made and freed: who has looked at them need not look again before it changes. */
extern uint64_t memory_changes;

/* Frees what cudaFree and cudaFreeAsync are given, after checking it. */
cudaError_t find_for_free(const char *call, const void *p, device_memory **out_memory, allocation **out);

}  // namespace emulator

#endif
