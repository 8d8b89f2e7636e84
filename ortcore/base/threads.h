/* CPU threads. A run stays on its caller's thread and borrows helpers from one process-wide budget; OpenMP supplies them.
 * Without OpenMP everything here runs on the caller. */
#ifndef ORTCORE_BASE_THREADS_H
#define ORTCORE_BASE_THREADS_H

#include <stdint.h>

int threads_cores(void);                                   /* of the cpuset and the cgroup quota, at least 1 */
void threads_set_budget(int threads);                      /* 0: threads_cores() */
int threads_get_budget(void);
/* Takes up to `wanted` threads (the caller included) from the budget: at least 1, which is always free. Give the same number back. */
int threads_acquire(int wanted);
void threads_give_back(int threads);
/* The calling thread's setting of OpenMP (omp_set_num_threads), which oneDNN reads when it creates and executes primitives. Gives what it was: the
 * setting is the caller's, who finds it unchanged when a session was made or run. */
int threads_set_team(int threads);
/* Before loops of other libraries on that many threads: their helpers stay off the core that the calling thread is on. Costs some 20 ns. */
void threads_keep_apart(int threads);

typedef void (*range_fn)(void *context, int64_t begin, int64_t end);
/* Calls fn over [0, total) in disjoint ranges, on up to `threads` threads, no range shorter than `grain` but the last.
 * One call on this thread when total <= grain or threads is 1. */
void parallel_for(int threads, int64_t total, int64_t grain, range_fn fn, void *context);

#endif
