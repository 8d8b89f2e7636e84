/* One session, many threads: each with a binding of its own, shapes that differ from thread to thread and from run to run, some threads
 * trimming what the others use. Results must be those that one thread alone gets; ThreadSanitizer must have nothing to say. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, RUNS = 40, MOST_ROWS = 5, COLUMNS = 4 };

static ortc_session *session;
/* y for each number of rows, computed by one thread. */
static float *expected[MOST_ROWS + 1];
static size_t expected_bytes[MOST_ROWS + 1];

static ortc_status *run_rows(ortc_binding *binding, int rows, ortc_value **out_y) {
  float *data = malloc(sizeof(float) * (size_t)(rows * COLUMNS));
  ortc_value *x = NULL;
  for (int i = 0; i < rows * COLUMNS; ++i) data[i] = (float)(i % 7) - 3;
  ortc_status *s = ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, (int64_t[]){rows, COLUMNS}, data, sizeof(float) * (size_t)(rows * COLUMNS), free, data, &x);
  if (!s) s = ortc_binding_bind_input(binding, "x", x);
  ortc_value_release(x);
  const ortc_io_info *io = ortc_session_get_io(session, ORTC_IO_OUTPUT, 0);
  if (!s) s = ortc_binding_bind_output_device(binding, io->name, &io->memory);
  if (!s) s = ortc_session_run_binding(session, binding, NULL);
  return s ? s : ortc_binding_get_output(binding, 0, out_y);
}

static void *work(void *argument) {
  int me = (int)(intptr_t)argument;
  ortc_binding *binding = NULL;
  CHECK_OK(ortc_binding_create(session, &binding));
  for (int i = 0; i < RUNS; ++i) {
    int rows = 1 + (i * 3 + me) % MOST_ROWS;
    ortc_value *y = NULL;
    CHECK_OK(run_rows(binding, rows, &y));
    CHECK_INT(ortc_value_get_bytes(y), expected_bytes[rows]);
    CHECK(y && memcmp(ortc_value_get_data(y), expected[rows], expected_bytes[rows]) == 0);
    ortc_value_release(y);
    if (me == 0 && i % 8 == 0) ortc_session_trim(session);
    ortc_run_stats total;
    if (me == 1) ortc_session_get_stats(session, &total, NULL);
  }
  ortc_binding_release(binding);
  return NULL;
}

static void run_threads(const char *path) {
  pthread_t threads[THREADS];
  ortc_binding *binding = NULL;
  CHECK_OK(ortc_session_create_from_file(path, NULL, &session));
  if (!session) return;
  CHECK_OK(ortc_binding_create(session, &binding));
  for (int rows = 1; rows <= MOST_ROWS; ++rows) {
    ortc_value *y = NULL;
    CHECK_OK(run_rows(binding, rows, &y));
    expected_bytes[rows] = ortc_value_get_bytes(y);
    expected[rows] = malloc(expected_bytes[rows] + 1);
    if (expected_bytes[rows]) memcpy(expected[rows], ortc_value_get_data(y), expected_bytes[rows]);
    ortc_value_release(y);
  }
  ortc_binding_release(binding);
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int rows = 1; rows <= MOST_ROWS; ++rows) free(expected[rows]);
  ortc_session_release(session);
}

static void test_identity(void) { run_threads(TEST_DATA "/identity.onnx"); }
static void test_moves(void) { run_threads(TEST_DATA "/moves.onnx"); }
static void test_dense(void) { run_threads(TEST_DATA "/dense.onnx"); }
static void test_control(void) { run_threads(TEST_DATA "/control.onnx"); }
static void test_products(void) { run_threads(TEST_DATA "/products.onnx"); }

/* A child of a process that has run in parallel runs in parallel itself, with the same results. */
static void test_fork(void) {
  enum { MANY = 4000 };
  ortc_binding *binding = NULL;
  ortc_value *y = NULL, *again = NULL;
  CHECK_OK(ortc_session_create_from_file(TEST_DATA "/products.onnx", NULL, &session));
  CHECK_OK(ortc_binding_create(session, &binding));
  CHECK_OK(run_rows(binding, MANY, &y));
  pid_t child = fork();
  if (child == 0) {
    alarm(30);
    ortc_binding *own = NULL;
    ortc_status *s = ortc_binding_create(session, &own);
    if (!s) s = run_rows(own, MANY, &again);
    _exit(s || memcmp(ortc_value_get_data(y), ortc_value_get_data(again), ortc_value_get_bytes(y)) != 0);
  }
  int state = -1;
  waitpid(child, &state, 0);
  CHECKF(WIFEXITED(state) && WEXITSTATUS(state) == 0, "state %#x", (unsigned)state);
  CHECK_OK(run_rows(binding, MANY, &again));
  ortc_value_release(y);
  ortc_value_release(again);
  ortc_binding_release(binding);
  ortc_session_release(session);
}

int main(void) {
  RUN(test_identity);
  RUN(test_moves);
  RUN(test_products);
  RUN(test_dense);
  RUN(test_control);
  RUN(test_fork);
  return check_result();
}
