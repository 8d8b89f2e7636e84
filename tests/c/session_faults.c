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

/* ---- Memory that the caller lends ---- */

static int released;
static void count_release(void *user) { ++*(int *)user; }

static char model[4096];
static size_t model_bytes;
static ortc_session *identity;

static ortc_status *lend_value(void **out) {
  return ortc_value_create_borrowed(NULL, ORTC_FLOAT, 1, (int64_t[]){ROWS * COLUMNS}, x_data, sizeof x_data, count_release, &released, (ortc_value **)out);
}
static void drop_value(void *value) { ortc_value_release(value); }

static ortc_status *lend_model(void **out) {
  return ortc_session_create_from_memory(model, model_bytes, count_release, &released, NULL, (ortc_session **)out);
}
static void drop_session(void *session) { ortc_session_release(session); }

static ortc_status *lend_file(void **out) {
  ortc_session_options *o = *out = ortc_session_options_create();
  return ortc_session_options_add_external_file(o, "w", x_data, sizeof x_data, count_release, &released);
}
static void drop_options(void *options) { ortc_session_options_release(options); }

static int no_memory(void *user, const char *name, ortc_element_type type, size_t rank, const int64_t *dims, size_t bytes, void **out) {
  (void)user, (void)name, (void)type, (void)rank, (void)dims, (void)bytes, (void)out;
  return 1;
}

static ortc_status *lend_capacity(void **out) {
  ortc_status *s = ortc_binding_create(identity, (ortc_binding **)out);
  return s ? s : ortc_binding_bind_output_capacity(*out, "y", NULL, x_data, sizeof x_data, count_release, &released);
}
static ortc_status *lend_allocator(void **out) {
  ortc_status *s = ortc_binding_create(identity, (ortc_binding **)out);
  return s ? s : ortc_binding_bind_output_allocator(*out, "y", NULL, no_memory, count_release, &released);
}
static void drop_binding(void *binding) { ortc_binding_release(binding); }

static const struct { ortc_status *(*lend)(void **out); void (*drop)(void *object); } lenders[] = {
  {lend_value, drop_value}, {lend_model, drop_session}, {lend_file, drop_options}, {lend_capacity, drop_binding}, {lend_allocator, drop_binding}};

/* Released once if it was taken (at once, if nothing of it is needed), never if it was not, wherever memory runs out on the way. */
static void test_lent_memory(void) {
  FILE *file = fopen(TEST_DATA "/identity.onnx", "rb");
  model_bytes = file ? fread(model, 1, sizeof model, file) : 0;
  CHECK(file && model_bytes && model_bytes < sizeof model && !fclose(file));
  CHECK_OK(ortc_session_create_from_file(TEST_DATA "/identity.onnx", NULL, &identity));
  for (size_t i = 0; i < sizeof lenders / sizeof *lenders; ++i) {
    int failures = 0;
    bool happened = true;
    for (uint64_t n = 1; happened; ++n) {
      void *object = NULL;
      released = 0;
      ortc_allocator_inject_failure(n);
      ortc_status *s = lenders[i].lend(&object);
      happened = disarm();
      failures += s != NULL;
      CHECKF(!released || !s, "lender %zu, allocation %llu: %s", i, (unsigned long long)n, ortc_status_get_message(s));
      bool taken = !s;
      ortc_status_release(s);
      lenders[i].drop(object);
      CHECKF(released == (taken ? 1 : 0), "lender %zu, allocation %llu: %d", i, (unsigned long long)n, released);
    }
    CHECK(failures > 0);
  }
  ortc_session_release(identity);
  /* The same of memory that is refused for what it is. */
  void *object = NULL;
  released = 0;
  model_bytes /= 2;
  CHECK_ERROR(lend_model(&object), INVALID_PROTOBUF, "");
  CHECK_ERROR(ortc_value_create_borrowed(NULL, ORTC_FLOAT, 1, (int64_t[]){100}, x_data, sizeof x_data, count_release, &released, (ortc_value **)&object), INVALID_ARGUMENT,
              "needs 400 bytes");
  CHECK_INT(released, 0);
}

int main(void) {
  RUN(test_identity);
  RUN(test_moves);
  RUN(test_products);
  RUN(test_dense);
  RUN(test_control);
  RUN(test_steady_state);
  RUN(test_lent_memory);
  return check_result();
}
