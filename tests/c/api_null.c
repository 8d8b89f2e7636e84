/* Wrong use through the C API: NULL where something is needed is INVALID_ARGUMENT that names the parameter, releases of NULL and questions about
 * NULL are harmless, and indexes out of range have an answer. */
#include "check.h"

static ortc_session *session;
static ortc_binding *binding;
static ortc_value *x;

static void test_options(void) {
  ortc_session_options *o = ortc_session_options_create();
  CHECK_ERROR(ortc_session_options_set(NULL, "k", "v"), INVALID_ARGUMENT, "'options'");
  CHECK_ERROR(ortc_session_options_set(o, NULL, "v"), INVALID_ARGUMENT, "'key'");
  CHECK_ERROR(ortc_session_options_set(o, "k", NULL), INVALID_ARGUMENT, "'value'");
  CHECK_ERROR(ortc_session_options_set(o, "intra_op_num_threads", "many"), INVALID_ARGUMENT, "many");
  CHECK_OK(ortc_session_options_set(o, "some.key", "v"));
  CHECK_TEXT(ortc_session_options_get(o, "some.key"), "v");
  CHECK(ortc_session_options_get(o, "other.key") == NULL && ortc_session_options_get(NULL, "k") == NULL && ortc_session_options_get(o, NULL) == NULL);
  CHECK_ERROR(ortc_session_options_override_dim(o, NULL, 1), INVALID_ARGUMENT, "'symbol'");
  CHECK_ERROR(ortc_session_options_override_denotation(o, NULL, 1), INVALID_ARGUMENT, "'denotation'");
  CHECK_ERROR(ortc_session_options_add_initializer(o, NULL, x, false), INVALID_ARGUMENT, "'name'");
  CHECK_ERROR(ortc_session_options_add_initializer(o, "w", NULL, false), INVALID_ARGUMENT, "'value'");
  CHECK_ERROR(ortc_session_options_add_external_file(o, NULL, "", 0, NULL, NULL), INVALID_ARGUMENT, "'name'");
  CHECK_ERROR(ortc_session_options_add_provider(o, NULL, NULL, NULL, 0), INVALID_ARGUMENT, "'name'");
  CHECK_ERROR(ortc_session_options_add_provider(o, "CPUExecutionProvider", NULL, NULL, 2), INVALID_ARGUMENT, "'keys'");
  ortc_session_options_cancel_load(NULL, true);
  ortc_session_options_release(ortc_session_options_copy(o));
  ortc_session_options_release(ortc_session_options_copy(NULL));
  ortc_session_options_release(o);
  ortc_session_options_release(NULL);
}

static void test_sessions(void) {
  ortc_session *s = NULL;
  const char *path = NULL;
  CHECK_ERROR(ortc_session_create_from_file(NULL, NULL, &s), INVALID_ARGUMENT, "'path'");
  CHECK_ERROR(ortc_session_create_from_file("x", NULL, NULL), INVALID_ARGUMENT, "'out_session'");
  CHECK_ERROR(ortc_session_create_from_memory(NULL, 4, NULL, NULL, NULL, &s), INVALID_ARGUMENT, "'data'");
  CHECK_ERROR(ortc_session_create_from_file("/no/such/file.onnx", NULL, &s), NO_SUCHFILE, "/no/such/file.onnx");
  CHECK_ERROR(ortc_session_create_from_memory("no model", 8, NULL, NULL, NULL, &s), INVALID_PROTOBUF, "");
  CHECK(s == NULL);
  CHECK_INT(ortc_session_get_io_count(NULL, ORTC_IO_INPUT), 0);
  CHECK_INT(ortc_session_get_io_count(session, (ortc_io)9), 0);
  CHECK(ortc_session_get_io(session, ORTC_IO_INPUT, 1) == NULL && ortc_session_get_io(NULL, ORTC_IO_INPUT, 0) == NULL);
  CHECK(ortc_session_get_metadata(NULL) == NULL && ortc_session_get_allocator(NULL) == NULL);
  CHECK(ortc_session_get_provider(session, 99) == NULL && ortc_session_get_provider(NULL, 0) == NULL);
  ortc_node_info node;
  CHECK(!ortc_session_get_node(session, 99, &node) && !ortc_session_get_node(NULL, 0, &node));
  CHECK_ERROR(ortc_session_end_profiling(NULL, &path), INVALID_ARGUMENT, "'session'");
  CHECK_OK(ortc_session_end_profiling(session, &path));
  CHECK_TEXT(path, "");
  ortc_session_get_stats(session, NULL, NULL);
  CHECK_INT(ortc_session_trim(NULL), 0);
  CHECK(ortc_session_retain(NULL) == NULL);
  ortc_session_release(NULL);
  CHECK(ortc_available_provider(99) == NULL && ortc_available_provider(0) != NULL);
}

static void test_runs(void) {
  const char *names[] = {"x"}, *nothing[] = {NULL}, *outputs[] = {"y"};
  ortc_value *none[] = {NULL}, *inputs[] = {x}, *out[] = {NULL};
  ortc_run_options *o = ortc_run_options_create();
  CHECK_ERROR(ortc_run_options_set(o, NULL, ""), INVALID_ARGUMENT, "'key'");
  CHECK_ERROR(ortc_run_options_set(o, "logid", NULL), INVALID_ARGUMENT, "'value'");
  CHECK(ortc_run_options_get(o, "none") == NULL);
  ortc_run_options_set_terminate(NULL, true);
  CHECK_ERROR(ortc_session_run(NULL, NULL, 1, names, inputs, 1, outputs, out), INVALID_ARGUMENT, "'session'");
  CHECK_ERROR(ortc_session_run(session, NULL, 1, NULL, inputs, 1, outputs, out), INVALID_ARGUMENT, "'input_names'");
  CHECK_ERROR(ortc_session_run(session, NULL, 1, names, NULL, 1, outputs, out), INVALID_ARGUMENT, "'inputs'");
  CHECK_ERROR(ortc_session_run(session, NULL, 1, names, inputs, 1, NULL, out), INVALID_ARGUMENT, "'output_names'");
  CHECK_ERROR(ortc_session_run(session, NULL, 1, names, inputs, 1, outputs, NULL), INVALID_ARGUMENT, "'outputs'");
  CHECK_ERROR(ortc_session_run(session, NULL, 1, nothing, inputs, 1, outputs, out), INVALID_ARGUMENT, "");
  CHECK_ERROR(ortc_session_run(session, NULL, 1, names, none, 1, outputs, out), INVALID_ARGUMENT, "");
  CHECK_ERROR(ortc_session_run(session, NULL, 1, names, inputs, 1, nothing, out), INVALID_ARGUMENT, "");
  CHECK_ERROR(ortc_session_run(session, NULL, 0, NULL, NULL, 1, outputs, out), INVALID_ARGUMENT, "x");
  CHECK_OK(ortc_session_run(session, o, 1, names, inputs, 1, outputs, out));
  ortc_value_release(out[0]);
  ortc_run_options_release(o);
  ortc_run_options_release(NULL);
}

static void test_bindings(void) {
  ortc_binding *b = NULL;
  ortc_value *out;
  ortc_memory_info info = {.name = "Cpu"};
  CHECK_ERROR(ortc_binding_create(NULL, &b), INVALID_ARGUMENT, "'session'");
  CHECK_ERROR(ortc_binding_bind_input(NULL, "x", x), INVALID_ARGUMENT, "'binding'");
  CHECK_ERROR(ortc_binding_bind_input(binding, NULL, x), INVALID_ARGUMENT, "'name'");
  CHECK_ERROR(ortc_binding_bind_input(binding, "x", NULL), INVALID_ARGUMENT, "'value'");
  CHECK_ERROR(ortc_binding_bind_input(binding, "z", x), INVALID_ARGUMENT, "z");
  CHECK_ERROR(ortc_binding_bind_output(binding, "y", NULL), INVALID_ARGUMENT, "'value'");
  CHECK_ERROR(ortc_binding_bind_output(binding, "z", x), INVALID_ARGUMENT, "z");
  CHECK_ERROR(ortc_binding_bind_output_device(binding, NULL, &info), INVALID_ARGUMENT, "'name'");
  CHECK_ERROR(ortc_binding_bind_output_allocator(binding, "y", &info, NULL, NULL, NULL), INVALID_ARGUMENT, "'alloc'");
  CHECK_ERROR(ortc_binding_bind_output_capacity(binding, "y", &info, NULL, 16, NULL, NULL), INVALID_ARGUMENT, "output 'y' is bound to 16 bytes at the address 0");
  CHECK_ERROR(ortc_session_run_binding(session, binding, NULL), INVALID_ARGUMENT, "");
  CHECK_ERROR(ortc_session_run_binding(session, NULL, NULL), INVALID_ARGUMENT, "'binding'");
  CHECK_INT(ortc_binding_get_output_count(binding), 0);
  CHECK(ortc_binding_get_output_name(binding, 0) == NULL);
  CHECK_ERROR(ortc_binding_get_output(binding, 0, &out), INVALID_ARGUMENT, "");
  CHECK(out == NULL);
  ortc_binding_clear_inputs(NULL);
  ortc_binding_clear_outputs(NULL);
  ortc_binding_count_copied(NULL, 1);
  ortc_binding_release(NULL);

  /* Memory that must not be written is no output. */
  ortc_value *fixed;
  CHECK_OK(ortc_value_clone(x, &fixed));
  ortc_value_set_read_only(fixed);
  CHECK_OK(ortc_binding_bind_input(binding, "x", fixed));
  CHECK_ERROR(ortc_binding_bind_output(binding, "y", fixed), INVALID_ARGUMENT, "read-only");
  ortc_value_release(fixed);
}

/* Streams, devices and options of CUDA, as they answer where there is no GPU and where there is one. */
static void test_devices(void) {
  ortc_memory_info cpu = {.name = "Cpu"}, dml, where;
  ortc_stream *s = NULL, *other = NULL;
  ortc_value *copy;
  const char *key, *value;
  CHECK_OK(ortc_memory_info_init("DML", ORTC_DEVICE_ALLOCATOR, 0, ORTC_MEM_DEFAULT, &dml));
  CHECK_ERROR(ortc_stream_create(NULL, &s), INVALID_ARGUMENT, "'device'");
  CHECK_ERROR(ortc_stream_create(&cpu, NULL), INVALID_ARGUMENT, "'out_stream'");
  CHECK_ERROR(ortc_stream_create(&dml, &s), NOT_IMPLEMENTED, "'dml'");
  CHECK_ERROR(ortc_stream_wrap(&cpu, NULL, &s), INVALID_ARGUMENT, "cpu has no streams");
  CHECK_OK(ortc_stream_create(&cpu, &s));
  CHECK(ortc_stream_get_handle(s) == NULL && ortc_stream_get_handle(NULL) == NULL);
  CHECK_ERROR(ortc_stream_synchronize(NULL), INVALID_ARGUMENT, "'stream'");
  CHECK_ERROR(ortc_stream_wait(s, NULL), INVALID_ARGUMENT, "'earlier'");
  CHECK_ERROR(ortc_stream_wait_event(s, NULL), INVALID_ARGUMENT, "'event'");
  CHECK_ERROR(ortc_stream_wait_event(s, &cpu), INVALID_ARGUMENT, "cpu has no events");
  CHECK_OK(ortc_stream_create(&cpu, &other));
  CHECK_OK(ortc_stream_wait(s, other));
  CHECK_OK(ortc_stream_synchronize(s));
  CHECK_OK(ortc_value_clone(x, &copy));
  CHECK_ERROR(ortc_value_copy_on_stream(x, copy, NULL), INVALID_ARGUMENT, "'stream'");
  CHECK_OK(ortc_value_copy_on_stream(x, copy, s));
  ortc_value_release(copy);
  ortc_stream_release(s);
  ortc_stream_release(other);
  ortc_stream_release(NULL);
  CHECK(ortc_binding_get_stream(NULL) == NULL && ortc_binding_get_stream(binding) != NULL);

  CHECK_ERROR(ortc_memory_info_of(NULL, &where), INVALID_ARGUMENT, "'data'");
  CHECK_ERROR(ortc_memory_info_of(&cpu, &where), INVALID_ARGUMENT, "");
  CHECK_TEXT(ortc_provider_why_not("CPUExecutionProvider"), "");
  CHECK(*ortc_provider_why_not("NoSuchProvider") && *ortc_provider_why_not(NULL));
  CHECK(ortc_provider_get_device_count("CPUExecutionProvider") == 1 && ortc_provider_get_device_count(NULL) == 0);
  CHECK(ortc_provider_get_device_name("CPUExecutionProvider", 1) == NULL && ortc_provider_get_device_name(NULL, 0) == NULL);
  CHECK_TEXT(ortc_provider_get_library("NoSuchProvider"), "");
  CHECK(!ortc_session_get_provider_option(session, NULL, 0, &key, &value) && !ortc_session_get_provider_option(NULL, "CUDAExecutionProvider", 0, &key, &value));

  ortc_session_options *o = ortc_session_options_create();
  const char *names[] = {"device_idx"}, *values[] = {"0"};
  CHECK_ERROR(ortc_session_options_add_provider(o, "CUDAExecutionProvider", names, values, 1), INVALID_ARGUMENT, "did you mean 'device_id'");
  names[0] = "device_id";
  values[0] = "-1";
  CHECK_ERROR(ortc_session_options_add_provider(o, "CUDAExecutionProvider", names, values, 1), INVALID_ARGUMENT, "'device_id' is '-1'");
  ortc_session_options_release(o);
}

int main(void) {
  static float data[8];
  CHECK_OK(ortc_session_create_from_file(TEST_DATA "/identity.onnx", NULL, &session));
  CHECK_OK(ortc_binding_create(session, &binding));
  CHECK_OK(ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, (int64_t[]){2, 4}, data, sizeof data, NULL, NULL, &x));
  RUN(test_options);
  RUN(test_sessions);
  RUN(test_runs);
  RUN(test_bindings);
  RUN(test_devices);
  ortc_value_release(x);
  ortc_binding_release(binding);
  ortc_session_release(session);
  return check_result();
}
