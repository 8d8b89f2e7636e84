/* Sessions on the emulated GPU through the C API: memory of either side goes in and out of plain runs, and memory that is not where it is said to
 * be is refused by name. Run with ORTCORE_CUDA=emulated. */
#include "check.h"

enum { ROWS = 2, COLUMNS = 4, COUNT = ROWS * COLUMNS, BYTES = COUNT * sizeof(float) };

static const int64_t dims[] = {ROWS, COLUMNS};
static const char *const x_name[] = {"x"}, *const y_name[] = {"y"};
static ortc_session *on_gpu, *on_cpu;                      /* identity: y = x, both float [batch, 4] */
static ortc_memory_info gpu;
static ortc_allocator *gpu_memory;

/* [2, 4] on the GPU (the CPU with NULL), each element `content`. */
static ortc_value *filled(ortc_allocator *where, float content) {
  ortc_value *host, *there;
  CHECK_OK(ortc_value_create_tensor(NULL, ORTC_FLOAT, 2, dims, &host));
  for (int i = 0; i < COUNT; ++i) ((float *)ortc_value_get_data(host))[i] = content;
  if (!where) return host;
  CHECK_OK(ortc_value_create_tensor(where, ORTC_FLOAT, 2, dims, &there));
  CHECK_OK(ortc_value_copy_into(host, there));
  ortc_value_release(host);
  return there;
}

static bool holds(const ortc_value *v, float content) {
  ortc_value *host = filled(NULL, -1);
  CHECK_OK(ortc_value_copy_into(v, host));
  bool all = true;
  for (int i = 0; i < COUNT; ++i) all &= ((float *)ortc_value_get_data(host))[i] == content;
  ortc_value_release(host);
  return all;
}

static void test_plain_runs_between_all_sides(void) {
  for (int sides = 0; sides < 4; ++sides) {
    ortc_value *x = filled(sides & 1 ? gpu_memory : NULL, 5), *y = filled(sides & 2 ? gpu_memory : NULL, 0), *out = y;
    CHECK_OK(ortc_session_run(on_gpu, NULL, 1, x_name, &x, 1, y_name, &out));
    CHECK(out == y && holds(y, 5));
    ortc_value_release(x);
    ortc_value_release(y);
  }
}

static void test_a_session_on_the_cpu(void) {
  ortc_value *here = filled(NULL, 1), *there = filled(gpu_memory, 2), *out = NULL;
  CHECK_ERROR(ortc_session_run(on_cpu, NULL, 1, x_name, &there, 1, y_name, &out), INVALID_ARGUMENT, "input 'x' lies in memory on cuda:0");
  CHECK(!out);
  out = there;
  CHECK_ERROR(ortc_session_run(on_cpu, NULL, 1, x_name, &here, 1, y_name, &out), INVALID_ARGUMENT, "output 'y' lies in memory on cuda:0");
  CHECK(out == there && holds(there, 2));
  ortc_session_options *options = ortc_session_options_create();
  CHECK_ERROR(ortc_session_options_add_initializer(options, "w", there, true), INVALID_ARGUMENT, "the value for initializer 'w' lies on cuda:0");
  ortc_session_options_release(options);
  ortc_value_release(here);
  ortc_value_release(there);
}

static int give(void *user, const char *name, ortc_element_type type, size_t rank, const int64_t *shape, size_t bytes, void **out_data) {
  CHECK(!strcmp(name, "y") && type == ORTC_FLOAT && rank == 2 && shape[0] == ROWS && bytes == BYTES);
  *out_data = user;
  return 0;
}

/* An allocator that says "on the GPU" and gives host memory, or too little. */
static void test_what_an_allocator_gives_is_looked_at(void) {
  static float host[COUNT];
  ortc_value *x = filled(gpu_memory, 3), *y = filled(gpu_memory, 0);
  ortc_binding *b;
  CHECK_OK(ortc_binding_create(on_gpu, &b));
  CHECK_OK(ortc_binding_bind_input(b, "x", x));
  CHECK_OK(ortc_binding_bind_output_allocator(b, "y", &gpu, give, NULL, host));
  CHECK_ERROR(ortc_session_run_binding(on_gpu, b, NULL), INVALID_ARGUMENT, "what the allocator bound to output 'y' gave");
  CHECK_OK(ortc_binding_bind_output_allocator(b, "y", &gpu, give, NULL, ortc_value_get_data(y)));
  CHECK_OK(ortc_session_run_binding(on_gpu, b, NULL));
  CHECK(holds(y, 3));
  ortc_binding_release(b);
  ortc_value_release(x);
  ortc_value_release(y);
}

int main(void) {
  ortc_session_options *options = ortc_session_options_create();
  CHECK_OK(ortc_session_create_from_file(TEST_DATA "/identity.onnx", options, &on_cpu));
  CHECK_OK(ortc_session_options_add_provider(options, "CUDAExecutionProvider", NULL, NULL, 0));
  CHECK_OK(ortc_session_create_from_file(TEST_DATA "/identity.onnx", options, &on_gpu));
  CHECK_OK(ortc_memory_info_init("Cuda", ORTC_DEVICE_ALLOCATOR, 0, ORTC_MEM_DEFAULT, &gpu));
  if (!CHECK_OK(ortc_allocator_create(&gpu, NULL, &gpu_memory))) return check_result();
  RUN(test_plain_runs_between_all_sides);
  RUN(test_a_session_on_the_cpu);
  RUN(test_what_an_allocator_gives_is_looked_at);
  ortc_allocator_release(gpu_memory);
  ortc_session_release(on_gpu);
  ortc_session_release(on_cpu);
  ortc_session_options_release(options);
  return check_result();
}
