/* With race_check: accesses that nothing orders are named, both of them; ordered ones never are. */
#include "test.h"

#include <cstring>

constexpr int kCount = 64;

struct fixture {
  cudaStream_t s1, s2;
  cudaEvent_t e;
  float *a, *b, *y;
  fixture() {
    set("race_check", 1);
    s1 = non_blocking_stream();
    s2 = non_blocking_stream();
    e = plain_event();
    a = device_floats(kCount, 1.0f);
    b = device_floats(kCount, 2.0f);
    y = device_floats(kCount, 0.0f);
  }
  ~fixture() {
    CHECK_OK(cudaDeviceSynchronize());
    for (float *p : {a, b, y}) CHECK_OK(cudaFree(p));
    CHECK_OK(cudaStreamDestroy(s1));
    CHECK_OK(cudaStreamDestroy(s2));
    CHECK_OK(cudaEventDestroy(e));
  }
  void event_between() {
    CHECK_OK(cudaEventRecord(e, s1));
    CHECK_OK(cudaStreamWaitEvent(s2, e, 0));
  }
};

static void a_missing_wait_is_named_under_every_schedule() {
  for (int64_t policy : {ORTCORE_EMULATOR_STARVE, ORTCORE_EMULATOR_RANDOM, ORTCORE_EMULATOR_EAGER}) {
    for (int seed = 0; seed < 20; ++seed) {
      set("reset", 1);
      set("policy", policy);
      set("seed", seed);
      fixture f;
      CHECK(ortcore_emulator_name(f.y, "result") == 0);
      CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
      (void)host_floats(f.y, kCount, f.s2);
      CHECK_OK(cudaDeviceSynchronize());
      CHECK(ortcore_emulator_counter("races") == 1);
      CHECK(found("race", {"kernel add (operation ", " on stream ", "cudaMemcpyAsync of 256 bytes from device to pageable host memory", "\"result\""}));
    }
  }
}

static void ordered_work_is_not() {
  fixture f;
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  f.event_between();
  CHECK_OK(launch_add(f.y, f.b, f.y, kCount, f.s2));
  CHECK_OK(cudaStreamSynchronize(f.s2));
  CHECK_OK(launch_add(f.y, f.b, f.y, kCount, f.s1));         /* the host has waited */
  CHECK_OK(cudaEventRecord(f.e, f.s1));
  CHECK_OK(cudaEventSynchronize(f.e));
  CHECK_OK(cudaMemsetAsync(f.y, 0, 256, f.s2));
  while (cudaStreamQuery(f.s2) == cudaErrorNotReady) {}
  (void)cudaGetLastError();
  CHECK_OK(cudaMemsetAsync(f.y, 0, 256, f.s1));
  CHECK_OK(cudaStreamSynchronize(f.s1));
  CHECK(ortcore_emulator_counter("races") == 0);
}

static void default_streams_order() {
  fixture f;
  cudaStream_t blocking;
  CHECK_OK(cudaStreamCreate(&blocking));
  CHECK_OK(cudaMemsetAsync(f.y, 0, 256, blocking));
  CHECK_OK(cudaMemsetAsync(f.y, 0, 256, nullptr));
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, blocking));
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(ortcore_emulator_counter("races") == 0);
  CHECK_OK(cudaStreamDestroy(blocking));
}

/* What cudaMemcpy from pageable memory does not promise. */
static void staged_copies_race() {
  fixture f;
  std::vector<float> host(kCount);
  CHECK_OK(cudaMemcpy(f.y, host.data(), 256, cudaMemcpyHostToDevice));
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(found("race", {"kernel add", "cudaMemcpy of 256 bytes from pageable host to device memory"}));
}

static void two_readers_and_a_writer() {
  fixture f;
  float *y2 = device_floats(kCount, 0.0f), *y3 = device_floats(kCount, 0.0f);
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  CHECK_OK(launch_add(f.a, f.b, y2, kCount, f.s2));
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(ortcore_emulator_counter("races") == 0);
  cudaStream_t s3 = non_blocking_stream();
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s1));
  CHECK_OK(launch_add(f.a, f.b, y2, kCount, f.s2));
  CHECK_OK(cudaEventRecord(f.e, f.s2));
  CHECK_OK(cudaStreamWaitEvent(s3, f.e, 0));
  CHECK_OK(cudaMemsetAsync(f.a, 0, 256, s3));                /* after the second reader, not after the first */
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(count_found("race") == 1);
  CHECK_OK(cudaStreamDestroy(s3));
  CHECK_OK(cudaFree(y2));
  CHECK_OK(cudaFree(y3));
}

static void neighbours_do_not_race() {
  fixture f;
  char *bytes = reinterpret_cast<char *>(f.y);
  CHECK_OK(cudaMemsetAsync(bytes, 1, 129, f.s1));
  CHECK_OK(cudaMemsetAsync(bytes + 129, 2, 127, f.s2));
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(ortcore_emulator_counter("races") == 0);
  CHECK_OK(cudaMemsetAsync(bytes + 127, 3, 2, f.s1));
  CHECK_OK(cudaMemsetAsync(bytes + 128, 4, 1, f.s2));
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(count_found("race") == 1);
}

static void frees_race() {
  fixture f;
  void *p;
  CHECK_OK(cudaMallocAsync(&p, 256, f.s1));
  CHECK_OK(cudaMemsetAsync(p, 0, 256, f.s1));
  CHECK_OK(cudaFreeAsync(p, f.s2));
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(found("race", {"cudaFreeAsync of allocation #", "cudaMemsetAsync of 256 bytes"}));
}

static void new_memory_has_no_past() {
  fixture f;
  void *first, *second;
  set("quarantine_bytes", 0);
  CHECK_OK(cudaMalloc(&first, 1 << 16));
  CHECK_OK(cudaMemsetAsync(first, 0, 1 << 16, f.s1));
  CHECK_OK(cudaFree(first));
  CHECK_OK(cudaMalloc(&second, 1 << 16));
  CHECK_OK(cudaMemsetAsync(second, 0, 1 << 16, f.s2));
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(ortcore_emulator_counter("races") == 0);
  CHECK_OK(cudaFree(second));
}

static void accesses_are_bounded_exactly() {
  fixture f;
  CHECK_OK(launch_load(f.a, kCount, f.y, f.s1));
  CHECK_OK(cudaStreamSynchronize(f.s1));
  CHECK(found("out_of_bounds", {"kernel load", "block 0, thread 0, reads 4 bytes at 0 bytes past the end of allocation #"}));
  CHECK_OK(launch_store(f.y, kCount + 1, 0.0f, f.s1));
  CHECK_OK(cudaStreamSynchronize(f.s1));
  CHECK(found("out_of_bounds", {"kernel store", "writes 4 bytes at 4 bytes past the end"}));
  (void)count_found("out_of_bounds");
}

static void host_memory_is_out_of_reach() {
  fixture f;
  float local = 1.0f;
  CHECK_OK(launch_load(&local, 0, f.y, f.s1));
  CHECK_ERROR(cudaStreamSynchronize(f.s1), cudaErrorIllegalAddress);
  CHECK(found("kernel_fault", {"kernel load", "reads 4 bytes of host memory", "which a device cannot reach"}));
  set("reset", 1);
}

/* Two nodes that the graph does not order. */
static void nodes_of_a_graph_race() {
  fixture f;
  cudaGraph_t g;
  cudaGraphNode_t first, second;
  cudaGraphExec_t exec;
  cudaMemsetParams zero = {f.y, 0, 0, 4, kCount, 1};
  CHECK_OK(cudaGraphCreate(&g, 0));
  CHECK_OK(cudaGraphAddMemsetNode(&first, g, nullptr, 0, &zero));
  CHECK_OK(cudaGraphAddMemcpyNode1D(&second, g, nullptr, 0, f.y, f.a, 256, cudaMemcpyDeviceToDevice));
  CHECK_OK(cudaGraphInstantiate(&exec, g, 0));
  CHECK_OK(cudaGraphLaunch(exec, f.s1));
  CHECK_OK(cudaStreamSynchronize(f.s1));
  CHECK(found("race", {"cudaGraphAddMemsetNode of 256 bytes (node 1 of the graph of operation", "cudaGraphAddMemcpyNode1D of 256 bytes"}));
  CHECK_OK(cudaGraphExecDestroy(exec));
  CHECK_OK(cudaGraphAddDependencies(g, &first, &second, nullptr, 1));
  CHECK_OK(cudaGraphInstantiate(&exec, g, 0));
  ortcore_emulator_clear();
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(cudaGraphLaunch(exec, i & 1 ? f.s2 : f.s1));    /* launches of one graph follow each other */
  }
  CHECK_OK(cudaGraphLaunch(exec, f.s1));
  CHECK_OK(cudaMemsetAsync(f.y, 0, 256, f.s1));
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(ortcore_emulator_counter("races") == 0);
  CHECK_OK(cudaGraphLaunch(exec, f.s1));
  CHECK_OK(cudaMemsetAsync(f.y, 0, 256, f.s2));
  CHECK_OK(cudaDeviceSynchronize());
  CHECK(count_found("race") > 0);
  CHECK_OK(cudaGraphExecDestroy(exec));
  CHECK_OK(cudaGraphDestroy(g));
}

int main() {
  return run_tests({
    {"a missing wait is named under every schedule", a_missing_wait_is_named_under_every_schedule},
    {"ordered work is not", ordered_work_is_not},
    {"default streams order", default_streams_order},
    {"staged copies race", staged_copies_race},
    {"two readers and a writer", two_readers_and_a_writer},
    {"neighbours do not race", neighbours_do_not_race},
    {"frees race", frees_race},
    {"new memory has no past", new_memory_has_no_past},
    {"accesses are bounded exactly", accesses_are_bounded_exactly},
    {"host memory is out of reach", host_memory_is_out_of_reach},
    {"nodes of a graph race", nodes_of_a_graph_race},
  });
}
