/* Loads a model, binds it, runs it and reads the results while the n-th allocation of the process fails, for every n that there is. Each time
 * there must be a clean OUT_OF_MEMORY (or, where the memory was only for comfort, right results), nothing leaked (the sanitizers' builds
 * tell), and a session that had the fault in its run must run again. */
#include "check.h"

#include <ortcore/base/mem.h>

enum { ROWS = 2, COLUMNS = 4, MOST_OUTPUTS = 4 };

static float x_data[ROWS * COLUMNS] = {0, 1, 2, 3, -4, 5, -6, 7};

typedef struct results { size_t count; ortc_value *values[MOST_OUTPUTS]; } results;

static void results_release(results *r) {
  for (size_t i = 0; i < r->count; ++i) ortc_value_release(r->values[i]);
  r->count = 0;
}

static void check_same(const results *a, const results *b) {
  CHECK_INT(a->count, b->count);
  for (size_t i = 0; i < a->count && i < b->count; ++i) {
    size_t bytes = ortc_value_get_bytes(a->values[i]);
    CHECK_INT(bytes, ortc_value_get_bytes(b->values[i]));
    CHECK(bytes > 0 && memcmp(ortc_value_get_data(a->values[i]), ortc_value_get_data(b->values[i]), bytes) == 0);
  }
}

/* Binds x, leaves the outputs to the engine, runs, and takes the outputs. */
static ortc_status *bind_and_run(ortc_session *session, results *out) {
  ortc_binding *binding = NULL;
  ortc_value *x = NULL;
  out->count = 0;
  ortc_status *s = ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, (int64_t[]){ROWS, COLUMNS}, x_data, sizeof x_data, NULL, NULL, &x);
  if (!s) s = ortc_binding_create(session, &binding);
  if (!s) s = ortc_binding_bind_input(binding, "x", x);
  for (size_t i = 0; !s && i < ortc_session_get_io_count(session, ORTC_IO_OUTPUT); ++i) {
    const ortc_io_info *io = ortc_session_get_io(session, ORTC_IO_OUTPUT, i);
    s = ortc_binding_bind_output_device(binding, io->name, &io->memory);
  }
  if (!s) s = ortc_session_run_binding(session, binding, NULL);
  for (size_t i = 0; !s && i < ortc_binding_get_output_count(binding); ++i) {
    s = ortc_binding_get_output(binding, i, &out->values[i]);
    if (!s) ++out->count;
  }
  ortc_binding_release(binding);
  ortc_value_release(x);
  if (s) results_release(out);
  return s;
}

/* The fault is over when this returns; true if it happened at all, that is, if there were as many allocations. */
static bool disarm(void) {
  bool happened = !mem_failure_pending();
  ortc_allocator_inject_failure(0);
  return happened;
}

static void sweep_load_and_run(const char *path, const results *expected) {
  int failures = 0;
  bool happened = true;
  for (uint64_t n = 1; happened; ++n) {
    ortc_session *session = NULL;
    results got = {0};
    ortc_allocator_inject_failure(n);
    ortc_status *s = ortc_session_create_from_file(path, NULL, &session);
    if (!s) s = bind_and_run(session, &got);
    else CHECK(session == NULL);
    happened = disarm();
    if (s) {
      CHECKF(ortc_status_get_code(s) == ORTC_OUT_OF_MEMORY, "allocation %d: %s: %s", (int)n, ortc_status_code_name(ortc_status_get_code(s)), ortc_status_get_message(s));
      ++failures;
    } else {
      check_same(&got, expected);
    }
    ortc_status_release(s);
    results_release(&got);
    ortc_session_release(session);
  }
  CHECKF(failures > 20, "%d", failures);
}

static void sweep_run(const char *path, const results *expected) {
  bool happened = true;
  for (uint64_t n = 1; happened; ++n) {
    ortc_session *session = NULL;
    results got;
    CHECK_OK(ortc_session_create_from_file(path, NULL, &session));
    ortc_allocator_inject_failure(n);
    ortc_status *s = bind_and_run(session, &got);
    happened = disarm();
    if (s) CHECK_ERROR(s, OUT_OF_MEMORY, "");
    results_release(&got);
    /* The same session once more, with nothing in its way. */
    CHECK_OK(bind_and_run(session, &got));
    check_same(&got, expected);
    results_release(&got);
    ortc_session_release(session);
  }
}

/* A bound run of shapes that it has seen allocates nothing: the very first allocation would fail. */
static void check_steady_state(const char *path) {
  ortc_session *session = NULL;
  ortc_binding *binding = NULL;
  ortc_value *x = NULL;
  CHECK_OK(ortc_session_create_from_file(path, NULL, &session));
  CHECK_OK(ortc_binding_create(session, &binding));
  CHECK_OK(ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, (int64_t[]){ROWS, COLUMNS}, x_data, sizeof x_data, NULL, NULL, &x));
  CHECK_OK(ortc_binding_bind_input(binding, "x", x));
  for (size_t i = 0; i < ortc_session_get_io_count(session, ORTC_IO_OUTPUT); ++i) {
    const ortc_io_info *io = ortc_session_get_io(session, ORTC_IO_OUTPUT, i);
    CHECK_OK(ortc_binding_bind_output_device(binding, io->name, &io->memory));
  }
  for (int warm_up = 0; warm_up < 3; ++warm_up) CHECK_OK(ortc_session_run_binding(session, binding, NULL));
  ortc_allocator_inject_failure(1);
  CHECK_OK(ortc_session_run_binding(session, binding, NULL));
  CHECKF(mem_failure_pending(), "a run allocated");
  ortc_allocator_inject_failure(0);
  ortc_run_stats latest;
  ortc_session_get_stats(session, NULL, &latest);
  CHECK_INT(latest.allocations, 0);
  ortc_binding_release(binding);
  ortc_value_release(x);
  ortc_session_release(session);
}

static void sweep(const char *path) {
  ortc_session *session = NULL;
  results expected;
  CHECK_OK(ortc_session_create_from_file(path, NULL, &session));
  if (!session) return;
  CHECK_OK(bind_and_run(session, &expected));
  sweep_load_and_run(path, &expected);
  sweep_run(path, &expected);
  results_release(&expected);
  ortc_session_release(session);
}

static void test_identity(void) { sweep(TEST_DATA "/identity.onnx"); }
static void test_steady_state(void) {
  check_steady_state(TEST_DATA "/identity.onnx");
  check_steady_state(TEST_DATA "/products.onnx");
  check_steady_state(TEST_DATA "/dense.onnx");
}
static void test_moves(void) { sweep(TEST_DATA "/moves.onnx"); }
static void test_dense(void) { sweep(TEST_DATA "/dense.onnx"); }
static void test_control(void) { sweep(TEST_DATA "/control.onnx"); }
static void test_products(void) { sweep(TEST_DATA "/products.onnx"); }

int main(void) {
  RUN(test_identity);
  RUN(test_moves);
  RUN(test_products);
  RUN(test_dense);
  RUN(test_control);
  RUN(test_steady_state);
  return check_result();
}
