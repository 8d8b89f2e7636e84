/* With race_check: every access of device memory is checked against the accesses before it, by vector clocks. Two accesses of the same bytes,
 * one of them a write, race if neither operation comes after the other by what the program said with streams, events and waits: whatever
 * order they ran in this time. */
#ifndef EMULATOR_RUNTIME_RACE_H
#define EMULATOR_RUNTIME_RACE_H

#include <cstddef>
#include <cstdint>
#include <string>

#include <emulator/runtime/clock.h>

namespace emulator {

/* The executor tells of each access, or of none. */
void watch_accesses(bool on);

/* Whose accesses follow. */
struct actor {
  uint64_t operation;
  uint32_t lane;
  const vector_clock *after;                                /* its own time in its lane included */
  std::string what;                                         /* "kernel softmax (operation 7 on stream 2)" */
};
void begin_accesses(const actor &who);
void end_accesses();

/* A copy, a memset or a free touches all of that. */
void access_range(uint64_t address, size_t bytes, bool write);
/* Memory that was handed out anew has no past. */
void forget_accesses(uint64_t address, size_t bytes);
void forget_all_accesses();
/* Called when the host has waited: what it knows to be done races with nothing that follows. */
void forget_settled_accesses();

}  // namespace emulator

#endif
