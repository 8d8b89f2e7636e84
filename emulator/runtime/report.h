/* What the emulator has to say: findings (something is wrong in the program that uses it) and counters (what the program did). */
#ifndef EMULATOR_RUNTIME_REPORT_H
#define EMULATOR_RUNTIME_REPORT_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace emulator {

/* X(name): one counter each, see ortcore_emulator.h. */
#define EMULATOR_COUNTERS(X) \
  X(launches) X(graph_launches) \
  X(copies_host_to_device) X(copies_device_to_host) X(copies_device_to_device) X(copies_host_to_host) \
  X(bytes_host_to_device) X(bytes_device_to_host) X(bytes_device_to_device) X(bytes_host_to_host) \
  X(memsets) X(allocations) X(pinned_allocations) X(live_allocations) X(live_bytes) X(peak_bytes) X(synchronisations) X(pending)

struct counter_table {
#define EMULATOR_COUNTER(name) int64_t name = 0;
  EMULATOR_COUNTERS(EMULATOR_COUNTER)
#undef EMULATOR_COUNTER
};
extern counter_table counters;

/* Records a finding, once for each text. The lock is held. */
void report(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_text(const char *kind, const std::string &text);

/* -1 for an unknown name. */
int64_t counter_value(const char *name);
bool finding_at(size_t index, const char **out_kind, const char **out_text);
/* Findings and the counters of events; those that tell what there is now stay. */
void clear_reports();

/* "1 byte", "4096 bytes". */
std::string bytes_text(size_t bytes);
std::string formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace emulator

#endif
