/* The device as translated code sees it: the thread whose turn it is, and the services that need the executor. Only generated files and the
 * executor include this. A `place` is a packed source position (see place_of); `ordinal` tells instructions of one function apart. */
#ifndef EMULATOR_EXECUTOR_DEVICE_H
#define EMULATOR_EXECUTOR_DEVICE_H

#include <emulator/executor/executor.h>

namespace emulator {

constexpr unsigned kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffff;
constexpr unsigned kMostThreads = 1024;                    /* of a block */

struct device_state {
  extent thread, block, threads, blocks;                   /* %tid, %ctaid, %ntid, %nctaid */
  unsigned index;                                          /* of the thread in its block */
  char *shared;                                            /* the block's shared memory; beyond its end nothing can be read or written */
  unsigned shared_bytes, dynamic_shared_bytes;
  uint64_t watching;                                       /* nonzero: every access is noted first */
  int64_t steps_left;                                      /* backward branches until the block is taken for hung */
};
/* Not thread-local: one grid runs at a time, and its blocks one after the other. */
extern device_state device __attribute__((visibility("hidden")));

inline unsigned lane() { return device.index % kWarp; }

/* --- memory --- */

/* File number and line in one number, as a kernel's `files` are counted. */
constexpr unsigned kPlaceLineBits = 20;

__attribute__((cold)) void note_access(uint64_t address, unsigned bytes, access_kind kind, unsigned place);

/* The pointer to an address in generic, global or shared memory that is about to be accessed. `bytes` is a power of two. */
inline char *accessed(uint64_t address, unsigned bytes, access_kind kind, unsigned place) {
  if (__builtin_expect(((address & (bytes - 1)) | device.watching) != 0, 0)) note_access(address, bytes, kind, place);
  return reinterpret_cast<char *>(address);
}
inline char *load_at(uint64_t address, unsigned bytes, unsigned place) { return accessed(address, bytes, access_kind::read, place); }
inline char *store_at(uint64_t address, unsigned bytes, unsigned place) { return accessed(address, bytes, access_kind::write, place); }
inline char *atomic_at(uint64_t address, unsigned bytes, unsigned place) { return accessed(address, bytes, access_kind::atomic, place); }

inline bool is_shared(uint64_t address) { return address - reinterpret_cast<uint64_t>(device.shared) < device.shared_bytes; }
bool is_local(uint64_t address);

/* cp.async: the copy happens when the thread waits for its group. Until then the destination holds garbage. */
void copy_async(uint64_t to, uint64_t from, unsigned bytes, unsigned source_bytes, unsigned place);
void commit_copies();
void wait_for_copies(unsigned groups_left);

/* --- control --- */

[[noreturn]] __attribute__((cold)) void step_limit_reached(unsigned place);
[[noreturn]] __attribute__((cold)) void trap(unsigned place);

/* Counts a backward branch. */
inline void step(unsigned place) {
  if (__builtin_expect(--device.steps_left < 0, 0)) step_limit_reached(place);
}

/* How many threads met at a barrier, and how many of them brought a predicate that was true. */
struct barrier_result {
  unsigned trues, threads;
};
/* bar.sync and bar.red. `count` 0: all threads of the block. */
barrier_result barrier(unsigned id, unsigned count, bool predicate, unsigned ordinal, unsigned place);
void barrier_arrive(unsigned id, unsigned count, unsigned ordinal, unsigned place);

}  // namespace emulator

#endif
