#include "test.h"

#include <emulator/executor/device.h>

#include <cstdio>
#include <cstring>
#include <set>

/* ---- Checks and findings ---- */

static int failures;
static std::set<std::string> expected;

bool check(bool condition, const char *text, const char *file, int line) {
  if (condition) return true;
  printf("%s:%d: %s does not hold\n", file, line, text);
  ++failures;
  return false;
}

bool check_error(cudaError_t got, cudaError_t wanted, const char *text, const char *file, int line) {
  if (got == wanted) return true;
  printf("%s:%d: %s returns %s, not %s\n", file, line, text, cudaGetErrorName(got), cudaGetErrorName(wanted));
  ++failures;
  return false;
}

template <class F> static void for_each_finding(F &&f) {
  const char *kind, *text;
  for (size_t i = 0; ortcore_emulator_finding(i, &kind, &text) == 0; ++i) f(kind, text);
}

static void print_findings(bool unexpected_only) {
  for_each_finding([&](const char *kind, const char *text) {
    if (!unexpected_only || !expected.count(text)) printf("  finding: %s: %s\n", kind, text);
  });
}

bool found(const char *kind, const std::vector<std::string> &parts) {
  bool any = false;
  for_each_finding([&](const char *k, const char *text) {
    bool fits = strcmp(k, kind) == 0;
    for (const std::string &part : parts) fits = fits && strstr(text, part.c_str());
    if (fits) expected.insert(text);
    any = any || fits;
  });
  if (!any) {
    printf("no finding of kind %s with all of:", kind);
    for (const std::string &part : parts) printf(" '%s'", part.c_str());
    printf("\n");
    print_findings(false);
  }
  return any;
}

int count_found(const char *kind) {
  int count = 0;
  for_each_finding([&](const char *k, const char *text) {
    if (strcmp(k, kind) != 0) return;
    expected.insert(text);
    ++count;
  });
  return count;
}

void set(const char *key, int64_t value) { CHECK(ortcore_emulator_configure(key, value) == 0); }

static void back_to_defaults() {
  set("reset", 1);
  set("policy", ORTCORE_EMULATOR_STARVE);
  set("seed", 0);
  set("race_check", 0);
  set("step_limit", 0);
  set("devices", 1);
  set("memory_bytes", int64_t{1} << 30);
  set("quarantine_bytes", int64_t{64} << 20);
  (void)cudaGetLastError();
}

int run_tests(const std::vector<test_case> &tests) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  int failed = 0;
  for (const test_case &test : tests) {
    back_to_defaults();
    expected.clear();
    failures = 0;
    test.run();
    int unexpected = 0;
    for_each_finding([&](const char *, const char *text) { unexpected += !expected.count(text); });
    if (unexpected) print_findings(true);
    failed += failures || unexpected;
    printf("%s: %s\n", failures || unexpected ? "FAILED" : "passed", test.name);
  }
  printf("%d of %zu tests failed\n", failed, tests.size());
  return failed != 0;
}

/* ---- Kernels, as the translator would write them ---- */

using namespace emulator;

template <class T> static T param(const char *params, size_t offset) {
  T value;
  memcpy(&value, params + offset, sizeof value);
  return value;
}

static float load(uint64_t address) {
  float value;
  memcpy(&value, load_at(address, sizeof value, 0), sizeof value);
  return value;
}

static void store(uint64_t address, float value) { memcpy(store_at(address, sizeof value, 0), &value, sizeof value); }

static void add_body(const char *p) {
  uint64_t i = uint64_t{device.block.x} * device.threads.x + device.thread.x;
  if (i >= param<uint32_t>(p, 24)) return;
  store(param<uint64_t>(p, 16) + 4 * i, load(param<uint64_t>(p, 0) + 4 * i) + load(param<uint64_t>(p, 8) + 4 * i));
}

static void store_body(const char *p) { store(param<uint64_t>(p, 0) + 4 * param<uint64_t>(p, 8), param<float>(p, 16)); }
static void load_body(const char *p) { store(param<uint64_t>(p, 16), load(param<uint64_t>(p, 0) + 4 * param<uint64_t>(p, 8))); }

static void spin_body(const char *) {
  for (;;) step(0);
}

static const unsigned add_params[] = {0, 8, 8, 8, 16, 8, 24, 4}, store_params[] = {0, 8, 8, 8, 16, 4}, load_params[] = {0, 8, 8, 8, 16, 8};
static const char *const no_files[] = {"test.cpp"};
static const kernel_image images[] = {
  {"add", add_body, 4, add_params, 28, kAddShared, kAddThreads, no_files},
  {"store", store_body, 3, store_params, 20, 0, 0, no_files},
  {"load", load_body, 3, load_params, 24, 0, 0, no_files},
  {"spin", spin_body, 0, nullptr, 0, 0, 0, no_files},
};
static const module_registration registration(images, 4, nullptr, 0);

/* Objects whose addresses stand for the kernels, as nvcc's stubs do. */
static const char stubs[5] = {};
const void *const add_kernel = &stubs[0], *const store_kernel = &stubs[1], *const unknown_kernel = &stubs[4];
static const void *const load_kernel = &stubs[2], *const spin_kernel = &stubs[3];

extern "C" void **__cudaRegisterFatBinary(void *);
extern "C" void __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *, uint3 *, dim3 *, dim3 *, int *);

static const bool registered = [] {
  void **handle = __cudaRegisterFatBinary(nullptr);
  for (int i = 0; i < 4; ++i) __cudaRegisterFunction(handle, &stubs[i], nullptr, images[i].name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterFunction(handle, &stubs[4], nullptr, "unknown", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  return true;
}();

cudaError_t launch_add(const float *a, const float *b, float *y, int count, cudaStream_t stream) {
  void *arguments[] = {&a, &b, &y, &count};
  return cudaLaunchKernel(add_kernel, dim3(static_cast<unsigned>(count + 63) / 64), dim3(64), arguments, 0, stream);
}

cudaError_t launch_store(float *y, int64_t index, float value, cudaStream_t stream) {
  void *arguments[] = {&y, &index, &value};
  return cudaLaunchKernel(store_kernel, dim3(1), dim3(1), arguments, 0, stream);
}

cudaError_t launch_load(const float *x, int64_t index, float *y, cudaStream_t stream) {
  void *arguments[] = {&x, &index, &y};
  return cudaLaunchKernel(load_kernel, dim3(1), dim3(1), arguments, 0, stream);
}

cudaError_t launch_spin(cudaStream_t stream) { return cudaLaunchKernel(spin_kernel, dim3(1), dim3(1), nullptr, 0, stream); }

/* ---- Memory and streams ---- */

float *device_floats(int count, float value) {
  void *p = nullptr;
  std::vector<float> values(static_cast<size_t>(count), value);
  CHECK_OK(cudaMalloc(&p, values.size() * sizeof(float)));
  CHECK_OK(cudaMemcpy(p, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK_OK(cudaDeviceSynchronize());
  return static_cast<float *>(p);
}

std::vector<float> host_floats(const float *p, int count, cudaStream_t stream) {
  std::vector<float> values(static_cast<size_t>(count), -77.0f);
  CHECK_OK(cudaMemcpyAsync(values.data(), p, values.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK_OK(cudaStreamSynchronize(stream));
  return values;
}

cudaStream_t non_blocking_stream() {
  cudaStream_t s = nullptr;
  CHECK_OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  return s;
}

cudaEvent_t plain_event() {
  cudaEvent_t e = nullptr;
  CHECK_OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  return e;
}
