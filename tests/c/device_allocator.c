/* The allocators: alignment, statistics, the arena's invariants under random use, its limit, shrinking, threads. */
#include "check.h"

#include <ortcore/device/allocator.h>
#include <ortcore/device/memory_info.h>
#include <pthread.h>

static ortc_allocator *new_arena(ortc_arena_config config) {
  ortc_allocator *a = NULL;
  config.size = sizeof config;
  CHECK_OK(ortc_allocator_create(NULL, &config, &a));
  return a;
}

static const ortc_arena_config defaults = {sizeof defaults, 0, -1, -1, -1, -1, -1};

static ortc_allocator_stats stats_of(const ortc_allocator *a) {
  ortc_allocator_stats stats;
  ortc_allocator_get_stats(a, &stats);
  return stats;
}

static void test_plain(void) {
  ortc_memory_info info = memory_info_cpu;
  ortc_allocator *a;
  void *data;
  info.alignment = 4096;
  CHECK_OK(ortc_allocator_create(&info, NULL, &a));
  CHECK_OK(ortc_allocator_alloc(a, 100, &data));
  CHECK((uintptr_t)data % 4096 == 0);
  CHECK(stats_of(a).bytes_in_use >= 100 && stats_of(a).largest_allocation == 100);
  ortc_allocator_free(a, data);
  CHECK_INT(stats_of(a).bytes_in_use, 0);
  CHECK_INT(stats_of(a).frees, 1);
  CHECK_OK(ortc_allocator_alloc(a, 0, &data));
  CHECK(data == NULL);
  CHECK_ERROR(ortc_allocator_alloc(a, SIZE_MAX, &data), OUT_OF_MEMORY, "");
  CHECK_ERROR(ortc_allocator_alloc(NULL, 1, &data), INVALID_ARGUMENT, "'allocator'");
  ortc_allocator_free(a, NULL);
  ortc_allocator_release(a);

  info.alignment = 3;
  CHECK_OK(ortc_allocator_create(&info, NULL, &a));        /* less than ours is fine whatever it is */
  ortc_allocator_release(a);
  info.alignment = 100;
  CHECK_ERROR(ortc_allocator_create(&info, NULL, &a), INVALID_ARGUMENT, "100");
  CHECK_OK(ortc_memory_info_init("DML", ORTC_DEVICE_ALLOCATOR, 0, ORTC_MEM_DEFAULT, &info));
  CHECK_ERROR(ortc_allocator_create(&info, NULL, &a), NOT_IMPLEMENTED, "dml");
  CHECK(a == NULL);
  CHECK_OK(ortc_allocator_alloc(ortc_allocator_get_default(), 1, &data));
  CHECK((uintptr_t)data % MEMORY_ALIGNMENT == 0);
  ortc_allocator_free(ortc_allocator_get_default(), data);
}

static void test_memory_info(void) {
  ortc_memory_info a, b;
  CHECK_OK(ortc_memory_info_init("CudaPinned", ORTC_DEVICE_ALLOCATOR, 1, ORTC_MEM_DEFAULT, &a));
  CHECK(memory_info_is_host(&a) && a.vendor_id == 0x10de && a.device_id == 1);
  CHECK_TEXT(memory_info_device_name(&a), "cuda");
  b = a;
  CHECK(ortc_memory_info_equal(&a, &b));
  b.device_id = 2;
  CHECK(!ortc_memory_info_equal(&a, &b));
  CHECK_ERROR(ortc_memory_info_init("cuda", ORTC_DEVICE_ALLOCATOR, 0, ORTC_MEM_DEFAULT, &a), INVALID_ARGUMENT, "'cuda'");
  CHECK_ERROR(ortc_memory_info_init(NULL, ORTC_DEVICE_ALLOCATOR, 0, ORTC_MEM_DEFAULT, &a), INVALID_ARGUMENT, "'name'");
  CHECK_TEXT(memory_info_device_name(&memory_info_cpu), "cpu");
}

/* Random sizes, random order of frees; every block keeps its pattern, and in the end the arena is whole again. */
static void random_use(ortc_allocator *a, uint32_t random, int steps) {
  enum { LIVE = 200 };
  struct { unsigned char *data; size_t bytes; unsigned char mark; } live[LIVE] = {0};
  for (int step = 0; step < steps; ++step) {
    random = random * 1664525u + 1013904223u;
    int i = (int)(random >> 8) % LIVE;
    if (live[i].data) {
      for (size_t b = 0; b < live[i].bytes; b += 61) CHECK_INT(live[i].data[b], live[i].mark);
      ortc_allocator_free(a, live[i].data);
      live[i].data = NULL;
    } else {
      live[i].bytes = 1 + (random >> 10) % (random & 64 ? 400000 : 3000);
      live[i].mark = (unsigned char)step;
      CHECK_OK(ortc_allocator_alloc(a, live[i].bytes, (void **)&live[i].data));
      CHECK((uintptr_t)live[i].data % MEMORY_ALIGNMENT == 0);
      memset(live[i].data, live[i].mark, live[i].bytes);
    }
  }
  for (int i = 0; i < LIVE; ++i) ortc_allocator_free(a, live[i].data);
}

static void test_arena_random(void) {
  ortc_arena_config config = defaults;
  for (int strategy = 0; strategy < 2; ++strategy) {
    config.extend_strategy = strategy;
    ortc_allocator *a = new_arena(config);
    random_use(a, 7u + (uint32_t)strategy, 20000);
    ortc_allocator_stats stats = stats_of(a);
    CHECK_INT(stats.bytes_in_use, 0);
    CHECK_INT(stats.allocations, stats.frees);
    CHECK(stats.peak_bytes_in_use <= stats.bytes_reserved && stats.peak_bytes_in_use > 0);
    /* All free means that every region has become one chunk again, so all of them can go. */
    CHECK_INT(ortc_allocator_shrink(a), stats.bytes_reserved);
    CHECK_INT(stats_of(a).bytes_reserved, 0);
    CHECK_INT(stats_of(a).shrinks, 1);
    ortc_allocator_release(a);
  }
}

static void test_arena_reuse(void) {
  ortc_allocator *a = new_arena(defaults);
  void *first, *second, *third;
  CHECK_OK(ortc_allocator_alloc(a, 1000, &first));
  CHECK_OK(ortc_allocator_alloc(a, 5000, &second));
  CHECK_OK(ortc_allocator_alloc(a, 1000, &third));
  CHECK_INT(stats_of(a).extensions, 1);
  CHECK_INT(stats_of(a).bytes_reserved, 1 << 20);
  ortc_allocator_free(a, second);
  void *again;
  CHECK_OK(ortc_allocator_alloc(a, 4900, &again));
  CHECK(again == second);                                  /* the best fit, not the large rest of the region */
  ortc_allocator_free(a, first);
  ortc_allocator_free(a, again);
  CHECK_OK(ortc_allocator_alloc(a, 6000, &again));
  CHECK(again == first);                                   /* two neighbours had become one */
  CHECK_INT(ortc_allocator_shrink(a), 0);                  /* its only region is in use */
  ortc_allocator_free(a, again);
  ortc_allocator_free(a, third);
  ortc_allocator_free(a, third);                           /* twice: logged and ignored */
  CHECK_INT(stats_of(a).bytes_in_use, 0);
  ortc_allocator_release(a);
}

static void test_arena_growth(void) {
  ortc_arena_config config = defaults;
  config.initial_chunk_bytes = 1000;                       /* rounded up to 1024 */
  config.initial_growth_chunk_bytes = 4096;
  config.max_power_of_two_extend_bytes = 16384;
  ortc_allocator *a = new_arena(config);
  static const uint64_t reserved[] = {1024, 1024 + 4096, 1024 + 4096 + 8192, 1024 + 4096 + 8192 + 16384, 1024 + 4096 + 8192 + 16384 + 16384};
  static const size_t asked[] = {1024, 4096, 8192, 16384, 16384};
  void *data[6];
  for (int i = 0; i < 5; ++i) {
    CHECK_OK(ortc_allocator_alloc(a, asked[i], &data[i]));
    CHECK_INT(stats_of(a).bytes_reserved, reserved[i]);
  }
  CHECK_OK(ortc_allocator_alloc(a, 100000, &data[5]));     /* beyond the cap: as much as it takes */
  CHECK_INT(stats_of(a).bytes_reserved, reserved[4] + 100096);
  for (int i = 0; i < 6; ++i) ortc_allocator_free(a, data[i]);
  ortc_allocator_release(a);
}

static void test_arena_limit(void) {
  ortc_arena_config config = defaults;
  config.max_bytes = 10000;
  ortc_allocator *a = new_arena(config);
  void *data, *more;
  CHECK_ERROR(ortc_allocator_alloc(a, 20000, &data), OUT_OF_MEMORY, "Available memory of 9984 is smaller than requested bytes of 20224");
  CHECK(data == NULL);
  CHECK_OK(ortc_allocator_alloc(a, 6000, &data));
  CHECK(stats_of(a).bytes_reserved <= 10000);
  CHECK_ERROR(ortc_allocator_alloc(a, 6000, &more), OUT_OF_MEMORY, "in use");
  ortc_allocator_free(a, data);
  CHECK_OK(ortc_allocator_alloc(a, 9900, &data));
  ortc_allocator_free(a, data);
  ortc_allocator_release(a);

  /* A free region that is too small is given up for one that is not. */
  config.extend_strategy = ORTC_SAME_AS_REQUESTED;
  a = new_arena(config);
  CHECK_OK(ortc_allocator_alloc(a, 4000, &data));
  ortc_allocator_free(a, data);
  CHECK_OK(ortc_allocator_alloc(a, 9000, &data));
  CHECK_INT(stats_of(a).bytes_reserved, 9216);
  ortc_allocator_free(a, data);
  ortc_allocator_release(a);
}

static void test_arena_config(void) {
  ortc_allocator *a;
  ortc_arena_config config = defaults;
  config.extend_strategy = 7;
  CHECK_ERROR(ortc_allocator_create(NULL, &config, &a), INVALID_ARGUMENT, "extend_strategy is 7");
  config = defaults;
  config.initial_chunk_bytes = -5;
  CHECK_ERROR(ortc_allocator_create(NULL, &config, &a), INVALID_ARGUMENT, "initial_chunk_bytes is -5");
  config = defaults;
  config.size = 0;
  CHECK_ERROR(ortc_allocator_create(NULL, &config, &a), INVALID_ARGUMENT, "sizeof");
  config = defaults;
  config.initial_chunk_bytes = config.initial_growth_chunk_bytes = config.max_power_of_two_extend_bytes = INT64_MAX;
  CHECK_OK(ortc_allocator_create(NULL, &config, &a));      /* absurd, but falls back on what is needed */
  void *data;
  CHECK_OK(ortc_allocator_alloc(a, 1000, &data));
  CHECK_INT(stats_of(a).bytes_reserved, 1024);
  ortc_allocator_free(a, data);
  ortc_allocator_release(a);
}

static void test_register(void) {
  ortc_allocator *a = new_arena(defaults), *b = new_arena(defaults);
  CHECK(allocator_find_registered(&memory_info_cpu) == NULL);
  CHECK_OK(ortc_allocator_register(a));
  CHECK_OK(ortc_allocator_register(b));
  ortc_allocator_release(a);
  ortc_allocator *found = allocator_find_registered(&memory_info_cpu);
  CHECK(found == b);
  ortc_allocator_release(found);
  ortc_allocator_release(b);
}

/* An allocation that fails anywhere inside leaves the arena as it was. */
static void test_arena_faults(void) {
  ortc_allocator *a = new_arena(defaults);
  int failures = 0;
  for (uint64_t n = 1; n < 100; ++n) {
    void *data[4] = {0};
    ortc_allocator_inject_failure(n);
    bool failed = false;
    for (int i = 0; i < 4; ++i) {
      ortc_status *s = ortc_allocator_alloc(a, (size_t)(i + 1) * 700000, &data[i]);
      if (!s) continue;
      CHECK_ERROR(s, OUT_OF_MEMORY, "");
      failed = true;
    }
    ortc_allocator_inject_failure(0);
    for (int i = 0; i < 4; ++i) ortc_allocator_free(a, data[i]);
    CHECK_INT(stats_of(a).bytes_in_use, 0);
    uint64_t reserved = stats_of(a).bytes_reserved;
    CHECK_INT(ortc_allocator_shrink(a), reserved);         /* all of it can go: nothing is left half done */
    failures += failed;
    if (!failed && n > 30) break;
  }
  CHECK(failures >= 4);
  ortc_allocator_release(a);
}

static void *use_from_thread(void *a) {
  random_use(a, (uint32_t)(uintptr_t)&a, 3000);
  return NULL;
}

static void test_arena_threads(void) {
  ortc_allocator *a = new_arena(defaults);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, use_from_thread, a);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  CHECK_INT(stats_of(a).bytes_in_use, 0);
  ortc_allocator_release(a);
}

int main(void) {
  RUN(test_plain);
  RUN(test_memory_info);
  RUN(test_arena_random);
  RUN(test_arena_reuse);
  RUN(test_arena_growth);
  RUN(test_arena_limit);
  RUN(test_arena_config);
  RUN(test_register);
  RUN(test_arena_faults);
  RUN(test_arena_threads);
  return check_result();
}
