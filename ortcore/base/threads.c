#include <ortcore/base/threads.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#ifdef ORTCORE_OPENMP
#include <omp.h>
#endif

static _Atomic int budget;                                 /* 0: threads_cores() */
static _Atomic int held;                                   /* by all runs together, their callers' own threads included */

void threads_set_budget(int threads) { atomic_store(&budget, threads > 0 ? threads : 0); }

int threads_get_budget(void) {
  int threads = atomic_load_explicit(&budget, memory_order_relaxed);
  return threads ? threads : threads_cores();
}

int threads_acquire(int wanted) {
  int limit = threads_get_budget(), taken, others = atomic_load_explicit(&held, memory_order_relaxed);
  do {
    int available = limit - others;
    taken = wanted < available ? wanted : available;
    if (taken < 1) taken = 1;
  } while (!atomic_compare_exchange_weak(&held, &others, others + taken));
  return taken;
}

/* Never below zero: a child process starts anew at zero (below), and a run that forked inside gives back what its parent had taken. */
void threads_give_back(int threads) {
  int all = atomic_load_explicit(&held, memory_order_relaxed), left;
  do left = all > threads ? all - threads : 0;
  while (!atomic_compare_exchange_weak(&held, &all, left));
}

#ifdef ORTCORE_OPENMP
/* ---- Cores ----------------------------------------------------------------------------------------------------------------------- */

/* A thread of a team waits for the others by spinning, for milliseconds, before it lets another thread have its core. Two of them on one core,
 * where the kernel leaves them when another program keeps the other core busy, take turns at every loop, and each loop lasts as long as such a
 * turn. So helpers stay off the core that their caller is on. */
static _Thread_local int core_left;                        /* the one that this caller's helpers stay off, plus 1; 0: none */
static _Thread_local int helpers_off;                      /* threads of the team that does */

static void leave_core(int core, const cpu_set_t *allowed) {
  cpu_set_t rest = *allowed;
  CPU_CLR(core, &rest);
  if (CPU_COUNT(&rest)) sched_setaffinity(0, sizeof rest, &rest);
}

void threads_keep_apart(int threads) {
  int core = sched_getcpu();
  if (threads < 2 || core < 0 || core >= CPU_SETSIZE || (core + 1 == core_left && threads <= helpers_off)) return;
  if (omp_in_parallel() || omp_get_proc_bind() != omp_proc_bind_false) return;
  core_left = core + 1;
  helpers_off = threads;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return;
#pragma omp parallel num_threads(threads)
  if (omp_get_thread_num() > 0) leave_core(core, &allowed);
}

int threads_set_team(int threads) {
  int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  return before;
}

/* A forked child has no helpers but would believe in its parent's team and wait for it for ever. Pausing lets the team go first. */
static void before_fork(void) {
  omp_pause_resource_all(omp_pause_soft);
  core_left = 0;                                           /* the next helpers are other threads, here and in the child */
}
#else
void threads_keep_apart(int threads) { (void)threads; }
int threads_set_team(int threads) { return threads; }
static void before_fork(void) {}
#endif

static void after_fork_in_child(void) { atomic_store(&held, 0); }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(before_fork, NULL, after_fork_in_child); }

void parallel_for(int threads, int64_t total, int64_t grain, range_fn fn, void *context) {
  if (total <= 0) return;
  if (grain < 1) grain = 1;
  if (threads <= 1 || total <= grain) {
    fn(context, 0, total);
    return;
  }
  int64_t length = total / threads + (total % threads != 0);
  if (length < grain) length = grain;
  int64_t ranges = total / length + (total % length != 0);
  threads_keep_apart(threads);
  /* As a loop, it is right with whatever team there is, even if the library grants fewer threads than asked for. */
#ifdef ORTCORE_OPENMP
#pragma omp parallel for schedule(static, 1) num_threads(threads)
#endif
  for (int64_t r = 0; r < ranges; ++r) {
    int64_t begin = r * length, end = r == ranges - 1 ? total : begin + length;
    fn(context, begin, end);
  }
}
