/* Bindings through the C API: where outputs may be written, who owns what for how long, and which mistakes are found before anything is written. */
#include "check.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { ROWS = 2, COLUMNS = 4, COUNT = ROWS * COLUMNS };

static ortc_session *session;                              /* identity: y = x, both float [batch, 4] */
static float x_data[COUNT] = {1, 2, 3, 4, 5, 6, 7, 8};

static void count_release(void *user) { atomic_fetch_add((_Atomic int *)user, 1); }

static ortc_value *borrow(float *data, int64_t rows, _Atomic int *released) {
  ortc_value *v = NULL;
  CHECK_OK(ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, (int64_t[]){rows, COLUMNS}, data, sizeof(float) * (size_t)(rows * COLUMNS),
                                      released ? count_release : NULL, released, &v));
  return v;
}

/* A binding with x bound to x_data. */
static ortc_binding *bound(void) {
  ortc_binding *b = NULL;
  ortc_value *x = borrow(x_data, ROWS, NULL);
  CHECK_OK(ortc_binding_create(session, &b));
  CHECK_OK(ortc_binding_bind_input(b, "x", x));
  ortc_value_release(x);
  return b;
}

static bool is_x(const float *data) { return memcmp(data, x_data, sizeof x_data) == 0; }

static void test_own_buffer(void) {
  _Atomic int released = 0;
  float y_data[COUNT] = {0};
  ortc_binding *b = bound();
  ortc_value *y = borrow(y_data, ROWS, &released), *got;
  CHECK_OK(ortc_binding_bind_output(b, "y", y));
  ortc_value_release(y);                                   /* the binding holds it */
  CHECK_INT(released, 0);
  CHECK_OK(ortc_session_run_binding(session, b, NULL));
  CHECK(is_x(y_data));
  CHECK_OK(ortc_binding_get_output(b, 0, &got));
  CHECK(ortc_value_get_data(got) == y_data);
  CHECK_TEXT(ortc_binding_get_output_name(b, 0), "y");
  ortc_binding_release(b);
  CHECK_INT(released, 0);                                  /* and so does the result */
  ortc_value_release(got);
  CHECK_INT(released, 1);
}

static void test_wrong_buffers(void) {
  float y_data[3 * COLUMNS];
  for (int i = 0; i < 3 * COLUMNS; ++i) y_data[i] = -1;
  ortc_binding *b = bound();
  ortc_value *rows = borrow(y_data, 3, NULL), *flat, *other_type;
  CHECK_OK(ortc_binding_bind_output(b, "y", rows));        /* [batch, 4] admits it; this batch does not */
  CHECK_ERROR(ortc_session_run_binding(session, b, NULL), INVALID_ARGUMENT, "y");
  CHECK(y_data[0] == -1 && y_data[11] == -1);
  CHECK_OK(ortc_value_reshape(rows, 1, (int64_t[]){12}, &flat));
  ortc_status *s = ortc_binding_bind_output(b, "y", flat);
  if (!s) s = ortc_session_run_binding(session, b, NULL);  /* the rank may be refused by either */
  CHECK_ERROR(s, INVALID_ARGUMENT, "y");
  CHECK_OK(ortc_value_create_tensor(NULL, ORTC_DOUBLE, 2, (int64_t[]){ROWS, COLUMNS}, &other_type));
  CHECK_ERROR(ortc_binding_bind_output(b, "y", other_type), INVALID_ARGUMENT, "double");
  CHECK_ERROR(ortc_binding_bind_input(b, "x", other_type), INVALID_ARGUMENT, "double");
  CHECK(y_data[0] == -1);
  ortc_value_release(rows);
  ortc_value_release(flat);
  ortc_value_release(other_type);
  ortc_binding_release(b);
}

/* The engine's own output keeps its address while the shape stays, and results handed out outlive everything. */
static void test_engine_output(void) {
  ortc_binding *b = bound();
  ortc_value *first, *second, *third, *one_row = borrow(x_data, 1, NULL);
  CHECK_OK(ortc_binding_bind_output_device(b, "y", NULL));
  CHECK_OK(ortc_binding_get_output(b, 0, &first));
  CHECK_INT(ortc_value_get_kind(first), ORTC_VALUE_NONE);
  CHECK_OK(ortc_session_run_binding(session, b, NULL));
  CHECK_OK(ortc_binding_get_output(b, 0, &first));
  CHECK(is_x(ortc_value_get_data(first)));
  CHECK_OK(ortc_session_run_binding(session, b, NULL));
  CHECK_OK(ortc_binding_get_output(b, 0, &second));
  CHECK(ortc_value_get_data(first) == ortc_value_get_data(second));
  CHECK_OK(ortc_binding_bind_input(b, "x", one_row));
  CHECK_OK(ortc_session_run_binding(session, b, NULL));
  CHECK_OK(ortc_binding_get_output(b, 0, &third));
  CHECK_INT(ortc_value_get_dims(third)[0], 1);
  ortc_binding_release(b);
  CHECK(is_x(ortc_value_get_data(first)));
  CHECK(memcmp(ortc_value_get_data(third), x_data, sizeof(float) * COLUMNS) == 0);
  ortc_value_release(first);
  ortc_value_release(second);
  ortc_value_release(third);
  ortc_value_release(one_row);
}

static void test_capacity(void) {
  _Atomic int released = 0;
  float room[100];
  ortc_binding *b = bound();
  ortc_value *got;
  room[COUNT] = -1;
  CHECK_OK(ortc_binding_bind_output_capacity(b, "y", NULL, room, sizeof room, count_release, &released));
  CHECK_OK(ortc_session_run_binding(session, b, NULL));
  CHECK(is_x(room) && room[COUNT] == -1);
  CHECK_OK(ortc_binding_get_output(b, 0, &got));
  CHECK_INT(ortc_value_get_dims(got)[0], ROWS);
  CHECK(ortc_value_get_data(got) == room);
  ortc_value_release(got);
  CHECK_OK(ortc_binding_bind_output_capacity(b, "y", NULL, room, sizeof x_data - 1, count_release, &released));
  CHECK_INT(released, 1);
  CHECK_ERROR(ortc_session_run_binding(session, b, NULL), INVALID_ARGUMENT, "y");
  CHECK_ERROR(ortc_binding_bind_output_capacity(b, "nothing", NULL, room, sizeof room, count_release, &released), INVALID_ARGUMENT, "nothing");
  CHECK_INT(released, 1);                                  /* refused memory stays the caller's */
  ortc_binding_release(b);
  CHECK_INT(released, 2);
}

typedef struct supplier { int calls, result; bool give_nothing; float data[COUNT]; size_t bytes; _Atomic int released; } supplier;

static int supply(void *user, const char *name, ortc_element_type type, size_t rank, const int64_t *dims, size_t bytes, void **out_data) {
  supplier *s = user;
  ++s->calls;
  CHECK_TEXT(name, "y");
  CHECK(type == ORTC_FLOAT && rank == 2 && dims[0] == ROWS && dims[1] == COLUMNS);
  s->bytes = bytes;
  *out_data = s->give_nothing ? NULL : s->data;
  return s->result;
}

static void release_supplier(void *user) { ++((supplier *)user)->released; }

static void test_callback(void) {
  supplier s = {0};
  ortc_binding *b = bound();
  CHECK_OK(ortc_binding_bind_output_allocator(b, "y", NULL, supply, release_supplier, &s));
  CHECK_INT(s.calls, 0);
  CHECK_OK(ortc_session_run_binding(session, b, NULL));
  CHECK_INT(s.calls, 1);
  CHECK_INT(s.bytes, sizeof x_data);
  CHECK(is_x(s.data));
  s.result = 7;
  ortc_status *failure = ortc_session_run_binding(session, b, NULL);
  CHECKF(failure && strstr(ortc_status_get_message(failure), "7"), "%s", ortc_status_get_message(failure));
  ortc_status_release(failure);
  s.result = 0;
  s.give_nothing = true;
  failure = ortc_session_run_binding(session, b, NULL);
  CHECKF(failure && strstr(ortc_status_get_message(failure), "y"), "%s", ortc_status_get_message(failure));
  ortc_status_release(failure);
  CHECK_INT(s.released, 0);
  ortc_binding_release(b);
  CHECK_INT(s.released, 1);
}

static void test_overlap(void) {
  float shared[COUNT + COLUMNS];
  memcpy(shared, x_data, sizeof x_data);
  ortc_binding *b = bound();
  ortc_value *x = borrow(shared, ROWS, NULL), *y = borrow(shared + COLUMNS, ROWS, NULL);
  CHECK_OK(ortc_binding_bind_input(b, "x", x));
  CHECK_OK(ortc_binding_bind_output(b, "y", y));
  CHECK_ERROR(ortc_session_run_binding(session, b, NULL), INVALID_ARGUMENT, "overlap");
  CHECK(memcmp(shared, x_data, sizeof x_data) == 0);
  ortc_value_release(x);
  ortc_value_release(y);
  ortc_binding_release(b);
}

static void test_other_session(void) {
  ortc_session *other;
  ortc_binding *b = bound();
  CHECK_OK(ortc_session_create_from_file(TEST_DATA "/identity.onnx", NULL, &other));
  CHECK_ERROR(ortc_session_run_binding(other, b, NULL), INVALID_ARGUMENT, "another session");
  CHECK_OK(ortc_binding_bind_output_device(b, "y", NULL));
  ortc_session_release(other);
  /* The binding keeps its session alive. */
  CHECK_OK(ortc_session_create_from_file(TEST_DATA "/identity.onnx", NULL, &other));
  ortc_binding *alone;
  ortc_value *x = borrow(x_data, ROWS, NULL), *y;
  CHECK_OK(ortc_binding_create(other, &alone));
  CHECK_OK(ortc_binding_bind_input(alone, "x", x));
  CHECK_OK(ortc_binding_bind_output_device(alone, "y", NULL));
  ortc_session_release(other);
  CHECK_OK(ortc_session_run_binding(other, alone, NULL));
  CHECK_OK(ortc_binding_get_output(alone, 0, &y));
  ortc_binding_release(alone);
  CHECK(is_x(ortc_value_get_data(y)));
  ortc_value_release(x);
  ortc_value_release(y);
  ortc_binding_release(b);
}

static void test_terminate(void) {
  ortc_binding *b = bound();
  ortc_run_options *o = ortc_run_options_create();
  CHECK_OK(ortc_binding_bind_output_device(b, "y", NULL));
  ortc_run_options_set_terminate(o, true);
  CHECK_ERROR(ortc_session_run_binding(session, b, o), FAIL, "terminate");
  ortc_run_options_set_terminate(o, false);
  CHECK_OK(ortc_session_run_binding(session, b, o));
  ortc_run_options_release(o);
  ortc_binding_release(b);
}

static void test_missing(void) {
  ortc_binding *b;
  CHECK_OK(ortc_binding_create(session, &b));
  CHECK_ERROR(ortc_session_run_binding(session, b, NULL), INVALID_ARGUMENT, "output");
  CHECK_OK(ortc_binding_bind_output_device(b, "y", NULL));
  CHECK_ERROR(ortc_session_run_binding(session, b, NULL), INVALID_ARGUMENT, "x");
  ortc_binding_release(b);
}

/* Memory from the caller, for the model as well: released exactly once, after the session is gone. */
static void test_model_memory(void) {
  _Atomic int released = 0;
  char model[4096];
  FILE *file = fopen(TEST_DATA "/moves.onnx", "rb");
  size_t bytes = fread(model, 1, sizeof model, file);
  fclose(file);
  ortc_session *s;
  ortc_binding *b;
  CHECK_OK(ortc_session_create_from_memory(model, bytes, count_release, &released, NULL, &s));
  CHECK_OK(ortc_binding_create(s, &b));
  ortc_session_release(s);
  CHECK_INT(released, 0);
  ortc_binding_release(b);
  CHECK_INT(released, 1);
  CHECK_ERROR(ortc_session_create_from_memory(model, bytes / 2, count_release, &released, NULL, &s), INVALID_PROTOBUF, "");
  CHECK_INT(released, 1);
}

int main(void) {
  CHECK_OK(ortc_session_create_from_file(TEST_DATA "/identity.onnx", NULL, &session));
  RUN(test_own_buffer);
  RUN(test_wrong_buffers);
  RUN(test_engine_output);
  RUN(test_capacity);
  RUN(test_callback);
  RUN(test_overlap);
  RUN(test_other_session);
  RUN(test_terminate);
  RUN(test_missing);
  RUN(test_model_memory);
  ortc_session_release(session);
  return check_result();
}
