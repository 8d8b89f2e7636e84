/* Statuses, zone, string map, element types, threads, log: what everything else stands on. */
#include "check.h"

#include <ortcore/base/dtype.h>
#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/base/status.h>
#include <ortcore/base/strmap.h>
#include <ortcore/base/threads.h>
#include <ortcore/base/zone.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_status(void) {
  status s = status_make(ORTC_NOT_FOUND, "no '%s'", "x");
  s = status_context(s, "node %d", 3);
  s = status_at_node(s, "inner");
  s = status_at_node(s, "outer");
  CHECK_INT(ortc_status_get_code(s), ORTC_NOT_FOUND);
  CHECK_TEXT(ortc_status_get_message(s), "node 3: no 'x'");
  CHECK_TEXT(ortc_status_get_node(s), "inner");
  ortc_status_release(s);

  CHECK_INT(ortc_status_get_code(NULL), ORTC_OK);
  CHECK_TEXT(ortc_status_get_message(NULL), "");
  CHECK_TEXT(ortc_status_code_name(ORTC_OUT_OF_MEMORY), "OUT_OF_MEMORY");
  CHECK(status_context(OK, "nothing") == OK);

  /* Without memory it is the static one; once there is memory again it takes context like any other. */
  mem_inject_failure(1);
  s = status_make(ORTC_FAIL, "long story");
  CHECK_INT(ortc_status_get_code(s), ORTC_OUT_OF_MEMORY);
  s = status_context(s, "tensor 'w'");
  s = status_at_node(s, "n");
  CHECK_TEXT(ortc_status_get_message(s), "tensor 'w': out of memory");
  CHECK_TEXT(ortc_status_get_node(s), "n");
  ortc_status_release(s);
  s = status_at_node(status_out_of_memory(), "m");
  CHECK_TEXT(ortc_status_get_node(s), "m");
  ortc_status_release(s);
  s = status_out_of_memory();
  CHECK_TEXT(ortc_status_get_node(s), "");
  ortc_status_release(s);

  /* No failure on the way loses the error. */
  for (int n = 1; n <= 8; ++n) {
    mem_inject_failure((uint64_t)n);
    s = status_at_node(status_context(status_make(ORTC_FAIL, "a"), "b"), "c");
    CHECK(s != OK);
    ortc_status_release(s);
  }
  mem_inject_failure(0);
}

static void test_zone(void) {
  zone *z = zone_create();
  unsigned char *blocks[2000];
  for (int i = 0; i < 2000; ++i) {
    size_t bytes = (size_t)i * i % 5000;
    blocks[i] = zone_alloc(z, bytes);
    CHECK((uintptr_t)blocks[i] % (bytes < 1024 ? 16 : 64) == 0);
    for (size_t b = 0; b < bytes; ++b) CHECK_INT(blocks[i][b], 0);
    memset(blocks[i], i & 255, bytes);
  }
  for (int i = 0; i < 2000; ++i) {
    for (size_t b = 0; b < (size_t)i * i % 5000; ++b) {
      if (blocks[i][b] != (i & 255)) CHECKF(false, "block %d was overwritten", i);
    }
  }
  CHECK_TEXT(zone_printf(z, "%s %d", "text", 7), "text 7");
  CHECK_TEXT(zone_strndup(z, "abcdef", 3), "abc");
  CHECK(zone_alloc_array(z, SIZE_MAX / 2, 3) == NULL);
  CHECK(zone_alloc(z, SIZE_MAX) == NULL);
  CHECK(zone_bytes(z) > 0);
  zone_release(z);
  zone_release(NULL);
}

static void test_strmap(void) {
  enum { N = 3000 };
  static char keys[N][16];
  static int64_t expected[N];                              /* -1: not there */
  strmap map;
  strmap_init(&map);
  CHECK(!strmap_get(&map, "x", NULL) && !strmap_remove(&map, "x"));
  for (int i = 0; i < N; ++i) {
    snprintf(keys[i], sizeof keys[i], "%x/k%d", i * 77, i);
    expected[i] = -1;
  }
  uint32_t random = 1;
  for (int step = 0; step < 60000; ++step) {
    random = random * 1664525u + 1013904223u;
    int i = (int)(random >> 8) % N;
    if (random >> 30 == 0) {
      CHECK(strmap_remove(&map, keys[i]) == (expected[i] >= 0));
      expected[i] = -1;
    } else {
      CHECK(strmap_put(&map, keys[i], step));
      expected[i] = step;
    }
  }
  size_t count = 0;
  for (int i = 0; i < N; ++i) {
    int64_t value = -1;
    CHECK(strmap_get(&map, keys[i], &value) == (expected[i] >= 0) && value == expected[i]);
    count += expected[i] >= 0;
  }
  CHECK_INT(map.count, count);
  strmap_deinit(&map);
}

static void test_dtype(void) {
  size_t bytes;
  for (int type = 1; type < ORTC_ELEMENT_TYPE_COUNT; ++type) {
    const char *name = ortc_element_type_name((ortc_element_type)type);
    CHECKF(name && dtype_bits((dtype)type) > 0, "type %d", type);
    CHECK_INT(dtype_from_name(name, strlen(name)), type);
    CHECK(dtype_bytes((dtype)type, 0, &bytes) && bytes == 0);
    CHECK(dtype_bytes((dtype)type, 8, &bytes) && bytes == (size_t)dtype_bits((dtype)type));
    CHECK(!dtype_bytes((dtype)type, -1, &bytes));
    CHECK((dtype_width((dtype)type) == 0) == typeset_has(TS_SUBBYTE, (dtype)type));
  }
  CHECK(ortc_element_type_name(ORTC_UNDEFINED) == NULL && ortc_element_type_name((ortc_element_type)99) == NULL);
  CHECK_INT(ortc_element_type_bits(ORTC_STRING), 0);
  CHECK(dtype_bytes(ORTC_INT4, 3, &bytes) && bytes == 2);
  CHECK(dtype_bytes(ORTC_UINT2, 5, &bytes) && bytes == 2);
  CHECK(dtype_bytes(ORTC_FLOAT6E2M3, 3, &bytes) && bytes == 3);
  CHECK(dtype_bytes(ORTC_FLOAT6E3M2, 4, &bytes) && bytes == 3);
  CHECK(!dtype_bytes(ORTC_DOUBLE, INT64_MAX / 4, &bytes));
  CHECK_INT(dtype_from_name("floatx", 6), ORTC_UNDEFINED);
}

typedef struct coverage { _Atomic int hits[1000]; _Atomic int ranges, shortest; } coverage;

static void cover(void *context, int64_t begin, int64_t end) {
  coverage *c = context;
  for (int64_t i = begin; i < end; ++i) atomic_fetch_add(&c->hits[i], 1);
  atomic_fetch_add(&c->ranges, 1);
}

static void test_parallel_for(void) {
  static const int64_t totals[] = {0, 1, 2, 7, 64, 999, 1000}, grains[] = {0, 1, 3, 64, 5000};
  for (int t = 0; t < 7; ++t) {
    for (int g = 0; g < 5; ++g) {
      for (int threads = 1; threads <= 5; ++threads) {
        static coverage c;
        memset(&c, 0, sizeof c);
        parallel_for(threads, totals[t], grains[g], cover, &c);
        for (int i = 0; i < 1000; ++i) CHECK_INT(c.hits[i], i < totals[t]);
        CHECK(c.ranges <= threads);
        if (totals[t] && (threads == 1 || totals[t] <= grains[g])) CHECK_INT(c.ranges, 1);
      }
    }
  }
}

static void test_budget(void) {
  CHECK(threads_cores() >= 1);
  CHECK_INT(threads_get_budget(), threads_cores());
  threads_set_budget(4);
  int first = threads_acquire(3), second = threads_acquire(3), third = threads_acquire(3);
  CHECK_INT(first, 3);
  CHECK_INT(second, 1);
  CHECK_INT(third, 1);                                     /* one is always free */
  threads_give_back(first);
  CHECK_INT(threads_acquire(9), 2);
  threads_give_back(2);
  threads_give_back(second);
  threads_give_back(third);
  CHECK_INT(threads_acquire(9), 4);
  threads_give_back(4);
  threads_set_budget(0);
}

/* A child of a process that had a team must be able to make its own. */
static void test_fork(void) {
  static coverage c;
  parallel_for(2, 1000, 1, cover, &c);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    memset(&c, 0, sizeof c);
    parallel_for(2, 1000, 1, cover, &c);
    int missed = 0;
    for (int i = 0; i < 1000; ++i) missed += c.hits[i] != 1;
    _exit(missed != 0);
  }
  int state = -1;
  waitpid(child, &state, 0);
  CHECKF(WIFEXITED(state) && WEXITSTATUS(state) == 0, "state %#x", (unsigned)state);
  parallel_for(2, 1000, 1, cover, &c);
}

static struct { int count, severity; char message[2048]; } logged;

static void on_log(void *user, ortc_severity severity, const char *category, const char *logid, const char *location, const char *message) {
  (void)logid;
  CHECK(user == &logged);
  CHECK_TEXT(category, "ortcore");
  CHECK(strstr(location, "base_basics.c"));
  logged.severity = severity;
  ++logged.count;
  snprintf(logged.message, sizeof logged.message, "%s", message);
}

static void test_log(void) {
  ortc_set_log_callback(on_log, &logged);
  LOG(INFO, "not written");
  CHECK_INT(logged.count, 0);
  CHECK_OK(ortc_set_log_severity(ORTC_INFO));
  LOG(INFO, "%d", 5);
  CHECK_TEXT(logged.message, "5");
  LOG(ERROR, "%0900d", 1);
  CHECK_INT(strlen(logged.message), 900);
  CHECK_INT(logged.severity, ORTC_ERROR);
  CHECK_ERROR(ortc_set_log_severity(5), INVALID_ARGUMENT, "5");
  CHECK_INT(ortc_get_log_severity(), ORTC_INFO);
  CHECK_OK(ortc_set_log_severity(ORTC_WARNING));
  ortc_set_log_callback(NULL, NULL);
}

int main(void) {
  RUN(test_status);
  RUN(test_zone);
  RUN(test_strmap);
  RUN(test_dtype);
  RUN(test_parallel_for);
  RUN(test_budget);
  RUN(test_fork);
  RUN(test_log);
  return check_result();
}
