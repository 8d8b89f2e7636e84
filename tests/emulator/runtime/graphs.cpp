/* Capture and graphs: what may be captured, what a graph does when it is launched, updated, or has outlived its memory. */
#include "test.h"

#include <thread>

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(float);

struct fixture {
  float *a = device_floats(kCount, 3.0f), *b = device_floats(kCount, 4.0f), *y = device_floats(kCount, 0.0f);
  cudaStream_t s = non_blocking_stream(), other = non_blocking_stream();
  cudaEvent_t e = plain_event();
  ~fixture() {
    for (float *p : {a, b, y}) (void)cudaFree(p);
    CHECK_OK(cudaStreamDestroy(s));
    CHECK_OK(cudaStreamDestroy(other));
    CHECK_OK(cudaEventDestroy(e));
  }
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) { CHECK_OK(cudaStreamBeginCapture(s, mode)); }
  cudaGraph_t end() {
    cudaGraph_t g = nullptr;
    CHECK_OK(cudaStreamEndCapture(s, &g));
    return g;
  }
  /* y = a + b on the other stream, joined, then y = y + b. */
  cudaGraph_t forked() {
    begin();
    CHECK_OK(cudaEventRecord(e, s));
    CHECK_OK(cudaStreamWaitEvent(other, e, 0));
    CHECK_OK(launch_add(a, b, y, kCount, other));
    CHECK_OK(cudaEventRecord(e, other));
    CHECK_OK(cudaStreamWaitEvent(s, e, 0));
    CHECK_OK(launch_add(y, b, y, kCount, s));
    return end();
  }
};

static cudaGraphExec_t instantiated(cudaGraph_t g) {
  cudaGraphExec_t exec = nullptr;
  CHECK_OK(cudaGraphInstantiate(&exec, g, 0));
  return exec;
}

static void captured_work_runs_when_launched() {
  fixture f;
  cudaGraph_t g = f.forked();
  CHECK(ortcore_emulator_counter("launches") == 0);
  CHECK(host_floats(f.y, kCount, f.s)[0] == 0.0f);
  cudaGraphExec_t exec = instantiated(g);
  CHECK_OK(cudaGraphDestroy(g));                           /* the executable one goes on */
  CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK(host_floats(f.y, kCount, f.s)[kCount - 1] == 11.0f);
  CHECK_OK(cudaGraphLaunch(exec, f.other));
  CHECK_OK(cudaGraphExecDestroy(exec));                    /* and so does its pending launch */
  CHECK(host_floats(f.y, kCount, f.other)[0] == 11.0f);
  CHECK(ortcore_emulator_counter("launches") == 4 && ortcore_emulator_counter("graph_launches") == 2);
}

static void graphs_keep_their_dependencies() {
  fixture f;
  cudaGraph_t g = f.forked();
  cudaGraphExec_t exec = instantiated(g);
  set("policy", ORTCORE_EMULATOR_RANDOM);
  for (int seed = 0; seed < 20; ++seed) {
    set("seed", seed);
    CHECK_OK(cudaMemsetAsync(f.y, 0, kBytes, f.s));
    CHECK_OK(cudaGraphLaunch(exec, f.s));
    CHECK(host_floats(f.y, kCount, f.s)[5] == 11.0f);
  }
  cudaGraphNode_t nodes[8] = {}, from[8], to[8];
  size_t count = 8, edges = 8;
  CHECK_OK(cudaGraphGetNodes(g, nodes, &count));
  CHECK_OK(cudaGraphGetEdges(g, from, to, nullptr, &edges));
  CHECK(count == 2 && edges == 1 && from[0] == nodes[0] && to[0] == nodes[1] && !nodes[2]);
  cudaGraphNodeType type;
  CHECK_OK(cudaGraphNodeGetType(nodes[1], &type));
  CHECK(type == cudaGraphNodeTypeKernel);
  CHECK_OK(cudaGraphExecDestroy(exec));
  CHECK_OK(cudaGraphDestroy(g));
}

static void capture_status() {
  fixture f;
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  cudaGraph_t g;
  const cudaGraphNode_t *dependencies;
  size_t count;
  CHECK_OK(cudaStreamIsCapturing(f.s, &status));
  CHECK(status == cudaStreamCaptureStatusNone);
  f.begin();
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s));
  CHECK_OK(cudaStreamIsCapturing(f.s, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK_OK(cudaStreamGetCaptureInfo(f.s, &status, &id, &g, &dependencies, nullptr, &count));
  CHECK(id != 0 && g && count == 1 && dependencies[0]);
  CHECK_ERROR(cudaStreamQuery(f.s), cudaErrorStreamCaptureUnsupported);
  CHECK_OK(cudaStreamIsCapturing(f.s, &status));
  CHECK(status == cudaStreamCaptureStatusInvalidated);
  CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorStreamCaptureInvalidated);
  CHECK(g == nullptr);
  CHECK(found("capture", {"cudaStreamQuery during the capture on stream "}));
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s));         /* the stream is usable again */
  CHECK(host_floats(f.y, kCount, f.s)[0] == 7.0f);
}

/* Each call spoils the capture, returns its error, and is named. */
static void forbidden_calls() {
  fixture f;
  void *p = nullptr;
  float host[kCount];
  struct forbidden {
    const char *name;
    cudaError_t (*call)(fixture &, void **, float *);
  };
  const forbidden calls[] = {
    {"cudaStreamSynchronize", [](fixture &x, void **, float *) { return cudaStreamSynchronize(x.s); }},
    {"cudaDeviceSynchronize", [](fixture &, void **, float *) { return cudaDeviceSynchronize(); }},
    {"cudaMalloc", [](fixture &, void **out, float *) { return cudaMalloc(out, 64); }},
    {"cudaMallocHost", [](fixture &, void **out, float *) { return cudaMallocHost(out, 64); }},
    {"cudaFree", [](fixture &x, void **, float *) { return cudaFree(x.b); }},
    {"cudaMemcpy", [](fixture &x, void **, float *to) { return cudaMemcpy(to, x.a, kBytes, cudaMemcpyDeviceToHost); }},
    {"cudaMemset", [](fixture &x, void **, float *) { return cudaMemset(x.y, 0, kBytes); }},
    {"cudaEventQuery", [](fixture &x, void **, float *) { return cudaEventQuery(x.e); }},
    {"cudaStreamDestroy", [](fixture &x, void **, float *) { return cudaStreamDestroy(x.s); }},
  };
  for (const forbidden &c : calls) {
    cudaGraph_t g;
    f.begin();
    CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s));
    CHECK_ERROR(c.call(f, &p, host), cudaErrorStreamCaptureUnsupported);
    CHECK_ERROR(launch_add(f.a, f.b, f.y, kCount, f.s), cudaErrorStreamCaptureInvalidated);
    CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorStreamCaptureInvalidated);
    CHECK(found("capture", {std::string(c.name) + " during the capture on stream "}));
  }
}

static void capture_modes() {
  fixture f;
  void *p = nullptr;
  cudaGraph_t g;
  f.begin(cudaStreamCaptureModeRelaxed);
  CHECK_OK(cudaMalloc(&p, 64));
  CHECK_OK(cudaGraphDestroy(f.end()));
  f.begin();
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CHECK_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(mode == cudaStreamCaptureModeGlobal);
  CHECK_OK(cudaFree(p));
  CHECK_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(mode == cudaStreamCaptureModeRelaxed);
  std::thread([] {                                          /* another thread's allocations are its own business */
    void *q;
    CHECK_OK(cudaMalloc(&q, 64));
    CHECK_OK(cudaFree(q));
  }).join();
  CHECK_OK(cudaGraphDestroy(f.end()));
  f.begin(cudaStreamCaptureModeGlobal);
  std::thread([] {                                          /* but not during a global capture */
    void *q;
    CHECK_ERROR(cudaMalloc(&q, 64), cudaErrorStreamCaptureUnsupported);
  }).join();
  CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorStreamCaptureInvalidated);
  f.begin();
  std::thread([&] { CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorStreamCaptureWrongThread); }).join();
  CHECK_OK(cudaGraphDestroy(f.end()));
  CHECK(count_found("capture") == 2);
}

static void the_default_stream_and_captures() {
  fixture f;
  cudaStream_t blocking;
  cudaGraph_t g;
  cudaStreamCaptureStatus status;
  CHECK_ERROR(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  CHECK(found("capture", {"cudaStreamBeginCapture on the default stream of device 0"}));
  CHECK_OK(cudaStreamCreate(&blocking));
  CHECK_OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  CHECK_ERROR(cudaStreamIsCapturing(nullptr, &status), cudaErrorStreamCaptureImplicit);
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s));         /* a non-blocking stream goes on */
  CHECK_ERROR(launch_add(f.a, f.b, f.y, kCount, nullptr), cudaErrorStreamCaptureImplicit);
  CHECK_ERROR(cudaStreamEndCapture(blocking, &g), cudaErrorStreamCaptureInvalidated);
  CHECK(found("capture", {"cudaLaunchKernel during the capture", "it is on the default stream"}));
  f.begin();
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, nullptr));     /* so does the default stream beside one */
  CHECK_OK(cudaGraphDestroy(f.end()));
  CHECK_OK(cudaStreamSynchronize(nullptr));
  CHECK_OK(cudaStreamDestroy(blocking));
}

static void captures_end_joined() {
  fixture f;
  cudaGraph_t g;
  f.begin();
  CHECK_OK(cudaEventRecord(f.e, f.s));
  CHECK_OK(cudaStreamWaitEvent(f.other, f.e, 0));
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.other));
  CHECK_ERROR(cudaStreamEndCapture(f.other, &g), cudaErrorStreamCaptureUnmatched);
  CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorStreamCaptureInvalidated);
  f.begin();
  CHECK_OK(cudaEventRecord(f.e, f.s));
  CHECK_OK(cudaStreamWaitEvent(f.other, f.e, 0));
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.other));
  CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorStreamCaptureUnjoined);
  CHECK(found("capture", {"is ahead of it with kernel add"}));
  CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorIllegalState);
  CHECK(count_found("capture") == 3);
}

static void captures_stay_apart() {
  fixture f;
  cudaGraph_t g;
  cudaEvent_t outside = plain_event();
  CHECK_OK(cudaEventRecord(outside, f.other));
  f.begin();
  CHECK_ERROR(cudaStreamWaitEvent(f.s, outside, 0), cudaErrorStreamCaptureIsolation);
  CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorStreamCaptureInvalidated);
  f.begin();
  CHECK_OK(cudaStreamBeginCapture(f.other, cudaStreamCaptureModeThreadLocal));
  CHECK_OK(cudaEventRecord(f.e, f.s));
  CHECK_ERROR(cudaStreamWaitEvent(f.other, f.e, 0), cudaErrorStreamCaptureMerge);
  CHECK_ERROR(cudaStreamEndCapture(f.other, &g), cudaErrorStreamCaptureInvalidated);
  CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorStreamCaptureInvalidated);
  f.begin();
  CHECK_OK(cudaEventRecord(f.e, f.s));
  CHECK_ERROR(cudaEventSynchronize(f.e), cudaErrorCapturedEvent);
  CHECK_ERROR(cudaStreamEndCapture(f.s, &g), cudaErrorStreamCaptureInvalidated);
  CHECK_ERROR(cudaStreamBeginCapture(f.s, static_cast<cudaStreamCaptureMode>(3)), cudaErrorInvalidValue);
  CHECK(count_found("capture") == 3);
  CHECK_OK(cudaEventDestroy(outside));
}

static void stale_graphs_are_named() {
  fixture f;
  CHECK(ortcore_emulator_name(f.a, "weights") == 0);
  cudaGraph_t g = f.forked();
  cudaGraphExec_t exec = instantiated(g);
  CHECK_OK(cudaFree(f.a));
  CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK(found("stale_graph", {"node 1 of the graph, kernel add", "\"weights\" (256 bytes from cudaMalloc)", "which cudaFree has freed"}));
  CHECK_OK(cudaStreamSynchronize(f.s));
  set("quarantine_bytes", 0);
  std::vector<float *> until_reused;
  while (until_reused.size() < 1000 && (until_reused.empty() || until_reused.back() != f.a)) until_reused.push_back(device_floats(kCount, 1.0f));
  f.a = nullptr;
  CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK_OK(cudaStreamSynchronize(f.s));
  CHECK(found("stale_graph", {"\"weights\"", "which was freed, and whose place allocation #"}));
  for (float *p : until_reused) CHECK_OK(cudaFree(p));
  CHECK_OK(cudaGraphExecDestroy(exec));
  CHECK_OK(cudaGraphDestroy(g));
}

static void updates() {
  fixture f;
  cudaGraphExecUpdateResultInfo info;
  cudaGraph_t g = f.forked();
  cudaGraphExec_t exec = instantiated(g);
  float *twenty = device_floats(kCount, 20.0f);
  std::swap(f.a, twenty);
  cudaGraph_t same = f.forked();
  CHECK_OK(cudaGraphExecUpdate(exec, same, &info));
  CHECK(info.result == cudaGraphExecUpdateSuccess);
  CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK(host_floats(f.y, kCount, f.s)[1] == 28.0f);
  f.begin();
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s));
  CHECK_OK(cudaMemsetAsync(f.y, 0, kBytes, f.s));
  cudaGraph_t different = f.end();
  CHECK_ERROR(cudaGraphExecUpdate(exec, different, &info), cudaErrorGraphExecUpdateFailure);
  CHECK(info.result == cudaGraphExecUpdateErrorNodeTypeChanged && info.errorNode);
  f.begin();
  CHECK_OK(launch_add(f.a, f.b, f.y, kCount, f.s));
  cudaGraph_t shorter = f.end();
  CHECK_ERROR(cudaGraphExecUpdate(exec, shorter, &info), cudaErrorGraphExecUpdateFailure);
  CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
  CHECK_OK(cudaGraphLaunch(exec, f.s));                     /* as it was */
  CHECK(host_floats(f.y, kCount, f.s)[1] == 28.0f);
  for (cudaGraph_t each : {g, same, different, shorter}) CHECK_OK(cudaGraphDestroy(each));
  CHECK_OK(cudaGraphExecDestroy(exec));
  CHECK_OK(cudaFree(twenty));
}

static void parameters_of_nodes() {
  fixture f;
  cudaGraph_t g;
  cudaGraphNode_t copy, kernel, clear;
  cudaKernelNodeParams params = {}, got = {};
  int count = kCount;
  float *twenty = device_floats(kCount, 20.0f);
  std::vector<float> out(kCount);
  CHECK_OK(cudaGraphCreate(&g, 0));
  cudaMemsetParams zero = {f.y, 0, 0, 4, kCount, 1};
  CHECK_OK(cudaGraphAddMemsetNode(&clear, g, nullptr, 0, &zero));
  void *arguments[] = {&f.a, &f.b, &f.y, &count};
  params = {const_cast<void *>(add_kernel), dim3(1), dim3(64), 0, arguments, nullptr};
  CHECK_OK(cudaGraphAddKernelNode(&kernel, g, &clear, 1, &params));
  CHECK_OK(cudaGraphAddMemcpyNode1D(&copy, g, &kernel, 1, out.data(), f.y, kBytes, cudaMemcpyDeviceToHost));
  cudaGraphExec_t exec = instantiated(g);
  CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK_OK(cudaStreamSynchronize(f.s));
  CHECK(out[3] == 7.0f);
  CHECK_OK(cudaGraphKernelNodeGetParams(kernel, &got));
  CHECK(got.func == add_kernel && got.blockDim.x == 64 && *static_cast<float **>(got.kernelParams[1]) == f.b);
  arguments[0] = &twenty;
  CHECK_OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &params));
  CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK_OK(cudaStreamSynchronize(f.s));
  CHECK(out[3] == 24.0f);
  CHECK_OK(cudaGraphNodeSetEnabled(exec, kernel, 0));
  CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK_OK(cudaStreamSynchronize(f.s));
  CHECK(out[3] == 0.0f);
  CHECK_OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, out.data(), f.b, kBytes, cudaMemcpyDeviceToHost));
  CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK_OK(cudaStreamSynchronize(f.s));
  CHECK(out[3] == 4.0f);
  CHECK_ERROR(cudaGraphExecKernelNodeSetParams(exec, copy, &params), cudaErrorInvalidValue);
  CHECK_ERROR(cudaGraphMemsetNodeGetParams(kernel, &zero), cudaErrorInvalidValue);
  CHECK_OK(cudaGraphExecDestroy(exec));
  CHECK_OK(cudaGraphDestroy(g));
  CHECK_ERROR(cudaGraphLaunch(exec, f.s), cudaErrorInvalidValue);
  CHECK_ERROR(cudaGraphInstantiate(&exec, g, 0), cudaErrorInvalidValue);
  CHECK(count_found("handle") == 2);
  CHECK_OK(cudaFree(twenty));
}

static void cycles_are_refused() {
  cudaGraph_t g;
  cudaGraphNode_t a, b;
  cudaGraphExec_t exec;
  CHECK_OK(cudaGraphCreate(&g, 0));
  CHECK_OK(cudaGraphAddEmptyNode(&a, g, nullptr, 0));
  CHECK_OK(cudaGraphAddEmptyNode(&b, g, &a, 1));
  CHECK_OK(cudaGraphAddDependencies(g, &b, &a, nullptr, 1));
  CHECK_ERROR(cudaGraphInstantiate(&exec, g, 0), cudaErrorInvalidValue);
  CHECK_OK(cudaGraphDestroy(g));
}

static void memory_of_graphs() {
  fixture f;
  void *p;
  f.begin();
  CHECK_OK(cudaMallocAsync(&p, kBytes, f.s));
  CHECK_OK(cudaMemsetAsync(p, 0, kBytes, f.s));
  CHECK_OK(launch_add(static_cast<float *>(p), f.b, f.y, kCount, f.s));
  CHECK_OK(cudaFreeAsync(p, f.s));
  cudaGraph_t g = f.end();
  cudaGraphExec_t exec = instantiated(g);
  int64_t live = ortcore_emulator_counter("live_allocations");
  for (int i = 0; i < 3; ++i) CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK(host_floats(f.y, kCount, f.s)[0] == 4.0f);
  CHECK_OK(cudaGraphExecDestroy(exec));
  CHECK_OK(cudaGraphDestroy(g));
  CHECK(ortcore_emulator_counter("live_allocations") == live - 1);
}

static void host_memory_in_captures() {
  fixture f;
  std::vector<float> host(kCount, 1.0f);
  f.begin();
  CHECK_OK(cudaMemcpyAsync(f.y, host.data(), kBytes, cudaMemcpyHostToDevice, f.s));
  cudaGraph_t g = f.end();
  CHECK(found("pageable_capture", {"cudaMemcpyAsync of 256 bytes from pageable host to device memory"}));
  cudaGraphExec_t exec = instantiated(g);
  host.assign(kCount, 2.0f);
  CHECK_OK(cudaGraphLaunch(exec, f.s));
  CHECK(host_floats(f.y, kCount, f.s)[0] == 2.0f);          /* as it is at the launch */
  CHECK_OK(cudaGraphExecDestroy(exec));
  CHECK_OK(cudaGraphDestroy(g));
}

static void graphs_within_captures() {
  fixture f;
  cudaGraph_t inner = f.forked();
  cudaGraphExec_t inner_exec = instantiated(inner);
  f.begin();
  CHECK_OK(cudaGraphLaunch(inner_exec, f.s));
  CHECK_OK(launch_add(f.y, f.b, f.y, kCount, f.s));
  cudaGraph_t outer = f.end();
  cudaGraphExec_t outer_exec = instantiated(outer);
  CHECK_OK(cudaGraphLaunch(outer_exec, f.s));
  CHECK(host_floats(f.y, kCount, f.s)[0] == 15.0f);
  for (cudaGraphExec_t each : {inner_exec, outer_exec}) CHECK_OK(cudaGraphExecDestroy(each));
  for (cudaGraph_t each : {inner, outer}) CHECK_OK(cudaGraphDestroy(each));
}

int main() {
  return run_tests({
    {"captured work runs when launched", captured_work_runs_when_launched},
    {"graphs keep their dependencies", graphs_keep_their_dependencies},
    {"capture status", capture_status},
    {"forbidden calls", forbidden_calls},
    {"capture modes", capture_modes},
    {"the default stream and captures", the_default_stream_and_captures},
    {"captures end joined", captures_end_joined},
    {"captures stay apart", captures_stay_apart},
    {"stale graphs are named", stale_graphs_are_named},
    {"updates", updates},
    {"parameters of nodes", parameters_of_nodes},
    {"cycles are refused", cycles_are_refused},
    {"memory of graphs", memory_of_graphs},
    {"host memory in captures", host_memory_in_captures},
    {"graphs within captures", graphs_within_captures},
  });
}
