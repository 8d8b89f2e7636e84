/* What is known of accesses while they are watched, and words for where a kernel is. Internal to the executor. */
#ifndef EMULATOR_EXECUTOR_WATCH_H
#define EMULATOR_EXECUTOR_WATCH_H

#include <emulator/executor/device.h>

namespace emulator {

/* Bits of device.watching. */
constexpr uint64_t kWatchPlaces = 1;                       /* only to know the line of a fault */
constexpr uint64_t kWatchAccesses = 2;                     /* for an observer */

/* The value for device.watching. */
uint64_t watch_begin_grid();
void watch_begin_block(uint64_t block);
void watch_place(unsigned place);
/* Of the last access that was noted; 0: none was. */
uint64_t watched_address();

/* "file:line", or words that it is not known. */
void describe_place(unsigned place, char *text, size_t size);
/* The kernel's name as in the source, without its parameters. */
void describe_kernel(char *text, size_t size);
/* Kernel, block, thread and the last known place. */
void describe_thread(char *text, size_t size);

}  // namespace emulator

#endif
