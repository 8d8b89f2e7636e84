/* The threads of the block that runs: who is waiting, who is next. Internal to the executor.
 *
 * Threads take turns on one host thread; a turn lasts until the thread waits or ends. A stack is given to a thread only when it has to wait:
 * until then thread after thread runs on the same one, so that kernels without barriers run as a plain loop. */
#ifndef EMULATOR_EXECUTOR_SCHEDULER_H
#define EMULATOR_EXECUTOR_SCHEDULER_H

#include <emulator/executor/device.h>
#include <emulator/executor/fiber.h>

namespace emulator {

struct thread_record {
  extent position;
  context at;                                              /* where it goes on, while it waits */
  stack *on;
  const char *waits_for;                                   /* NULL: it does not wait */
  unsigned place;                                          /* of the instruction at which it waits */
  barrier_result barrier;                                  /* of the last one that it passed */
};

/* The grid that runs, and its present block. */
struct grid_run {
  const kernel_image *image;
  const char *params;
  unsigned thread_count, warp_count;
  unsigned alive;                                          /* threads that have not ended */
  unsigned suspended;                                      /* threads that wait, or have been woken and had no turn yet */
  unsigned interval;                                       /* barriers that the block has passed */
  unsigned lanes_alive[kMostThreads / kWarp];
  unsigned warp_interval[kMostThreads / kWarp];            /* bar.warp.syncs that a warp has passed */
  thread_record threads[kMostThreads];
};
extern grid_run grid;

/* Fixes the threads of the blocks to come, and the order of their first turns. */
void scheduler_begin_grid(extent block, schedule order, uint64_t seed);
/* Runs a block until every thread has ended, or none can go on, or stop_block was called. */
void scheduler_run_block();
/* Gives control back to the caller of scheduler_run_block, for good. */
[[noreturn]] void stop_block();

/* The running thread waits until another one wakes it. */
void suspend(const char *waits_for, unsigned place);
void wake(unsigned thread);
bool order_is_shuffled();

/* Whether an address lies on the running thread's stack, or in the guard below it. */
bool on_own_stack(uint64_t address);
bool in_stack_guard(uint64_t address);

/* Called as a thread ends and as a block begins. */
void barriers_thread_ended();
void barriers_begin_block();
void warps_thread_ended();
void warps_begin_block();
void copies_begin_block();

/* A random number below `limit`. */
unsigned random_below(unsigned limit);

}  // namespace emulator

#endif
