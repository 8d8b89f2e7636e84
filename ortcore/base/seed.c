#include <ortcore/base/seed.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/random.h>
#include <time.h>

static _Atomic int64_t seed;
static _Atomic bool given;
static int64_t own_seed;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void draw(void) {
  if (getrandom(&own_seed, sizeof own_seed, GRND_NONBLOCK) != (ssize_t)sizeof own_seed) own_seed = (int64_t)time(NULL);
}

void seed_set(int64_t value) {
  atomic_store(&seed, value);
  atomic_store(&given, true);
}

int64_t seed_get(void) {
  if (atomic_load(&given)) return atomic_load(&seed);
  pthread_once(&own_once, draw);
  return own_seed;
}
