/* What the tests of the emulated runtime share: checks, findings, kernels. Each program is a table of tests that ends in run_tests(). */
#ifndef TESTS_EMULATOR_RUNTIME_TEST_H
#define TESTS_EMULATOR_RUNTIME_TEST_H

#include <emulator/include/ortcore_emulator.h>
#include <emulator/runtime/cuda_api.h>

#include <string>
#include <vector>

/* The test fails, and goes on. */
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define CHECK_ERROR(call, expected) check_error((call), (expected), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_ERROR(call, cudaSuccess)

bool check(bool condition, const char *text, const char *file, int line);
bool check_error(cudaError_t got, cudaError_t expected, const char *text, const char *file, int line);

struct test_case {
  const char *name;
  void (*run)();
};
/* Each in a reset emulator; a test that leaves findings it did not look for with found() fails. Returns main's value. */
int run_tests(const std::vector<test_case> &tests);

/* Is there a finding of that kind whose text holds all of these? It is taken as expected. */
bool found(const char *kind, const std::vector<std::string> &parts);
/* How many findings of the kind there are; they are taken as expected. */
int count_found(const char *kind);

void set(const char *key, int64_t value);

/* y[i] = a[i] + b[i]. */
cudaError_t launch_add(const float *a, const float *b, float *y, int count, cudaStream_t stream);
/* y[index] = value, by one thread. */
cudaError_t launch_store(float *y, int64_t index, float value, cudaStream_t stream);
/* y[0] = x[index], by one thread. */
cudaError_t launch_load(const float *x, int64_t index, float *y, cudaStream_t stream);
/* Never ends. */
cudaError_t launch_spin(cudaStream_t stream);

/* The functions that stand for the kernels: cudaLaunchKernel, graph nodes and attributes take them. */
extern const void *const add_kernel, *const store_kernel, *const unknown_kernel;
/* add_kernel's static shared memory and its __launch_bounds__. */
constexpr unsigned kAddShared = 1024, kAddThreads = 256;

/* Device memory that holds `count` floats of one value, written and complete. */
float *device_floats(int count, float value);
/* What it holds now. Waits for `stream` alone. */
std::vector<float> host_floats(const float *p, int count, cudaStream_t stream);
cudaStream_t non_blocking_stream();
cudaEvent_t plain_event();

#endif
