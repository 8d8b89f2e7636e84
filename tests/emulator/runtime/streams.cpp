/* Streams and events: what runs when, what waits for what, and what shows when a wait is missing. */
#include "test.h"

#include <atomic>
#include <thread>

constexpr int kCount = 64;

struct fixture {
  float *a = device_floats(kCount, 3.0f), *b = device_floats(kCount, 4.0f), *y = device_floats(kCount, 0.0f);
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  cudaEvent_t e = plain_event();
  ~fixture() {
    CHECK_OK(cudaStreamDestroy(s1));
    CHECK_OK(cudaStreamDestroy(s2));
    CHECK_OK(cudaEventDestroy(e));
    for (float *p : {a, b, y}) CHECK_OK(cudaFree(p));
  }
};

static void work_is_lazy() {
  fixture f;
  int64_t before = ortcore_emulator_counter("pending");
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  CHECK(ortcore_emulator_counter("pending") == before + 1);
  CHECK_OK(cudaStreamSynchronize(f.s2));
  CHECK(ortcore_emulator_counter("pending") == before + 1);
  CHECK_OK(cudaStreamSynchronize(f.s1));
  CHECK(ortcore_emulator_counter("pending") == before);
  CHECK(host_floats(f.y, kCount, f.s1)[kCount - 1] == 7.0f);
}

static void eager_work_is_not() {
  set("policy", ORTCORE_EMULATOR_EAGER);
  fixture f;
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  CHECK(ortcore_emulator_counter("pending") == 0);
  CHECK(host_floats(f.y, kCount, f.s2)[0] == 7.0f);
}

/* The result of an addition on s1 as s2 sees it, with or without the event between them. */
static float seen_across_streams(bool with_event) {
  fixture f;
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  if (with_event) {
    CHECK_OK(cudaEventRecord(f.e, f.s1));
    CHECK_OK(cudaStreamWaitEvent(f.s2, f.e, 0));
  }
  return host_floats(f.y, kCount, f.s2)[7];
}

static void a_missing_wait_is_stale_under_every_seed() {
  for (int seed = 0; seed < 20; ++seed) {
    set("seed", seed);
    CHECK(seen_across_streams(false) == 0.0f);
    CHECK(seen_across_streams(true) == 7.0f);
  }
}

static void a_missing_wait_is_stale_under_some_random_seeds() {
  int stale = 0;
  set("policy", ORTCORE_EMULATOR_RANDOM);
  for (int seed = 0; seed < 20; ++seed) {
    set("seed", seed);
    stale += seen_across_streams(false) == 0.0f;
    CHECK(seen_across_streams(true) == 7.0f);
  }
  CHECK(stale > 0 && stale < 20);
}

static void default_stream_orders_blocking_streams() {
  fixture f;
  cudaStream_t blocking;
  CHECK_OK(cudaStreamCreate(&blocking));
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, blocking));
  CHECK_OK(launch_add(f.y, f.b, f.y, kCount, nullptr));
  CHECK_OK(launch_add(f.y, f.b, f.y, kCount, blocking));
  CHECK(host_floats(f.y, kCount, blocking)[0] == 15.0f);
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, nullptr));
  CHECK_OK(cudaStreamSynchronize(f.s1));
  CHECK(ortcore_emulator_counter("pending") == 1);
  CHECK_OK(cudaStreamSynchronize(cudaStreamLegacy));
  CHECK(ortcore_emulator_counter("pending") == 0);
  CHECK_OK(cudaStreamDestroy(blocking));
}

static void per_thread_streams() {
  fixture f;
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, cudaStreamPerThread));
  std::thread([] { CHECK_OK(cudaStreamSynchronize(cudaStreamPerThread)); }).join();
  CHECK(ortcore_emulator_counter("pending") == 1);
  CHECK(host_floats(f.y, kCount, cudaStreamPerThread)[0] == 7.0f);
}

static void queries_end() {
  for (int64_t policy : {ORTCORE_EMULATOR_STARVE, ORTCORE_EMULATOR_RANDOM}) {
    set("policy", policy);
    fixture f;
    CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
    CHECK_OK(cudaEventRecord(f.e, f.s1));
    CHECK_ERROR(cudaEventQuery(f.e), cudaErrorNotReady);
    int asked = 0;
    while (cudaStreamQuery(f.s1) == cudaErrorNotReady && asked < 1000) ++asked;
    CHECK(asked < 1000);
    CHECK_OK(cudaEventQuery(f.e));
    (void)cudaGetLastError();
  }
}

static void events_measure_time() {
  fixture f;
  cudaEvent_t from, to, never;
  float ms = -1.0f;
  CHECK_OK(cudaEventCreate(&from));
  CHECK_OK(cudaEventCreate(&to));
  CHECK_OK(cudaEventCreate(&never));
  CHECK_OK(cudaEventQuery(never));
  CHECK_OK(cudaEventSynchronize(never));
  CHECK_OK(cudaEventRecord(from, f.s1));
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  CHECK_OK(cudaEventRecord(to, f.s1));
  CHECK_ERROR(cudaEventElapsedTime(&ms, from, to), cudaErrorNotReady);
  CHECK_OK(cudaEventSynchronize(to));
  CHECK_OK(cudaEventElapsedTime(&ms, from, to));
  CHECK(ms >= 0.0f && ms < 10000.0f);
  CHECK_ERROR(cudaEventElapsedTime(&ms, from, f.e), cudaErrorInvalidResourceHandle);
  CHECK_ERROR(cudaEventElapsedTime(&ms, from, never), cudaErrorInvalidResourceHandle);
  for (cudaEvent_t e : {from, to, never}) CHECK_OK(cudaEventDestroy(e));
}

static void an_event_is_its_last_record() {
  fixture f;
  CHECK_OK(cudaEventRecord(f.e, f.s1));
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  CHECK_OK(cudaStreamWaitEvent(f.s2, f.e, 0));
  CHECK(host_floats(f.y, kCount, f.s2)[0] == 0.0f);        /* recorded before the addition */
  CHECK_OK(cudaEventRecord(f.e, f.s1));
  CHECK_OK(cudaStreamWaitEvent(f.s2, f.e, 0));
  CHECK(host_floats(f.y, kCount, f.s2)[0] == 7.0f);
}

static void destroyed_handles_are_named() {
  cudaStream_t s = non_blocking_stream();
  cudaEvent_t e = plain_event();
  float *y = device_floats(1, 0.0f);
  CHECK_OK(launch_store(y, 0, 9.0f, s));
  CHECK_OK(cudaStreamDestroy(s));
  CHECK_OK(cudaEventDestroy(e));
  CHECK_ERROR(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
  CHECK_ERROR(launch_store(y, 0, 1.0f, s), cudaErrorInvalidResourceHandle);
  CHECK_ERROR(cudaEventQuery(e), cudaErrorInvalidResourceHandle);
  CHECK_ERROR(cudaEventRecord(reinterpret_cast<cudaEvent_t>(s), nullptr), cudaErrorInvalidResourceHandle);
  CHECK(found("handle", {"cudaStreamSynchronize is given stream ", "which was destroyed"}));
  CHECK(found("handle", {"cudaEventQuery is given event ", "which was destroyed"}));
  CHECK(found("handle", {"cudaEventRecord is given", "which is no event"}));
  CHECK(count_found("handle") == 4);
  CHECK_OK(cudaDeviceSynchronize());                        /* what was enqueued before still runs */
  CHECK(host_floats(y, 1, nullptr)[0] == 9.0f);
  CHECK_OK(cudaFree(y));
}

static void host_functions_run_in_order() {
  fixture f;
  struct seen_values {
    float *pinned, value;
  } seen = {};
  CHECK_OK(cudaMallocHost(reinterpret_cast<void **>(&seen.pinned), kCount * sizeof(float)));
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  CHECK_OK(cudaMemcpyAsync(seen.pinned, f.y, kCount * sizeof(float), cudaMemcpyDeviceToHost, f.s1));
  CHECK_OK(cudaLaunchHostFunc(f.s1, [](void *p) {
    auto *s = static_cast<seen_values *>(p);
    s->value = s->pinned[3];
  }, &seen));
  CHECK(seen.value == 0.0f);
  CHECK_OK(cudaStreamSynchronize(f.s1));
  CHECK(seen.value == 7.0f);
  CHECK_OK(cudaFreeHost(seen.pinned));
}

static void host_functions_call_no_cuda() {
  fixture f;
  cudaError_t got = cudaSuccess;
  CHECK_OK(cudaLaunchHostFunc(f.s1, [](void *p) { *static_cast<cudaError_t *>(p) = cudaStreamSynchronize(nullptr); }, &got));
  CHECK_OK(cudaStreamSynchronize(f.s1));
  CHECK(got == cudaErrorNotPermitted);
  CHECK(found("host_function", {"cudaStreamSynchronize called from within a host function"}));
  (void)cudaGetLastError();
}

/* A host function may wait for a thread that is in a CUDA function. */
static void host_functions_hold_no_lock() {
  fixture f;
  struct flags {
    std::atomic<bool> running{false}, other_done{false};
  } flags;
  CHECK_OK(cudaLaunchHostFunc(f.s1, [](void *p) {
    auto *seen = static_cast<struct flags *>(p);
    seen->running = true;
    while (!seen->other_done) std::this_thread::yield();
  }, &flags));
  CHECK_OK(cudaEventRecord(f.e, f.s1));
  std::thread other([&] {
    void *p;
    while (!flags.running) std::this_thread::yield();
    CHECK_OK(cudaMalloc(&p, 64));
    CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s2));
    CHECK_OK(cudaStreamSynchronize(f.s2));
    for (int i = 0; i < 100; ++i) CHECK_ERROR(cudaEventQuery(f.e), cudaErrorNotReady);
    flags.other_done = true;
    CHECK_OK(cudaStreamSynchronize(f.s1));
    CHECK_OK(cudaFree(p));
  });
  CHECK_OK(cudaStreamSynchronize(f.s1));
  other.join();
}

static void threads_share_a_device() {
  fixture f;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      cudaStream_t s = non_blocking_stream();
      float *x = device_floats(kCount, static_cast<float>(t)), *y = device_floats(kCount, 0.0f);
      for (int i = 0; i < 50; ++i) {
        if (launch_add(x, f.a, y, kCount, s) != cudaSuccess || host_floats(y, kCount, s)[9] != 3.0f + static_cast<float>(t)) ++wrong;
      }
      CHECK_OK(cudaStreamDestroy(s));
      CHECK_OK(cudaFree(x));
      CHECK_OK(cudaFree(y));
    });
  }
  for (std::thread &t : threads) t.join();
  CHECK(wrong == 0);
}

/* More than a device would queue runs by itself. */
static void long_queues_drain() {
  fixture f;
  for (int i = 0; i < 10000; ++i) CHECK_OK(launch_store(f.y, 0, static_cast<float>(i), f.s1));
  CHECK(ortcore_emulator_counter("pending") < 5000);
  CHECK(host_floats(f.y, 1, f.s1)[0] == 9999.0f);
}

static void streams_tell_what_they_are() {
  cudaStream_t s;
  unsigned flags;
  int priority, least, greatest, device;
  unsigned long long id, other_id;
  CHECK_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK_OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest - 10));
  CHECK_OK(cudaStreamGetFlags(s, &flags));
  CHECK_OK(cudaStreamGetPriority(s, &priority));
  CHECK_OK(cudaStreamGetDevice(s, &device));
  CHECK_OK(cudaStreamGetId(s, &id));
  CHECK_OK(cudaStreamGetId(nullptr, &other_id));
  CHECK(flags == cudaStreamNonBlocking && priority == greatest && device == 0 && id != other_id);
  CHECK_ERROR(cudaStreamCreateWithFlags(&s, 8), cudaErrorInvalidValue);
  CHECK_ERROR(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  CHECK_OK(cudaStreamDestroy(s));
}

int main() {
  return run_tests({
    {"work is lazy", work_is_lazy},
    {"eager work is not", eager_work_is_not},
    {"a missing wait is stale under every seed", a_missing_wait_is_stale_under_every_seed},
    {"a missing wait is stale under some random seeds", a_missing_wait_is_stale_under_some_random_seeds},
    {"the default stream orders blocking streams", default_stream_orders_blocking_streams},
    {"per-thread streams", per_thread_streams},
    {"queries end", queries_end},
    {"events measure time", events_measure_time},
    {"an event is its last record", an_event_is_its_last_record},
    {"destroyed handles are named", destroyed_handles_are_named},
    {"host functions run in order", host_functions_run_in_order},
    {"host functions call no CUDA", host_functions_call_no_cuda},
    {"host functions hold no lock", host_functions_hold_no_lock},
    {"threads share a device", threads_share_a_device},
    {"long queues drain", long_queues_drain},
    {"streams tell what they are", streams_tell_what_they_are},
  });
}
