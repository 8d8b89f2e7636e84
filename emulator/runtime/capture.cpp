#include <emulator/runtime/capture.h>

#include <emulator/runtime/api.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/streams.h>

#include <algorithm>
#include <set>

namespace emulator {

namespace {

auto &captures = *new std::vector<std::shared_ptr<capture>>;   /* that have begun and not ended */

bool forbids(const capture &c) {
  if (this_thread.capture_mode == cudaStreamCaptureModeRelaxed) return false;
  if (c.thread == std::this_thread::get_id()) return c.mode != cudaStreamCaptureModeRelaxed;
  return c.mode == cudaStreamCaptureModeGlobal && this_thread.capture_mode == cudaStreamCaptureModeGlobal;
}

/* Nodes that a stream of the capture comes after, all of them and those before them. */
std::set<const graph_node *> reached_from(const std::vector<std::shared_ptr<graph_node>> &ends) {
  std::set<const graph_node *> seen;
  std::vector<const graph_node *> next;
  for (auto &node : ends) next.push_back(node.get());
  while (!next.empty()) {
    const graph_node *node = next.back();
    next.pop_back();
    if (!seen.insert(node).second) continue;
    for (auto &before : node->dependencies) next.push_back(before.get());
  }
  return seen;
}

/* The first node that the origin stream does not come after; NULL if there is none. */
const graph_node *unjoined_node(const capture &c) {
  std::set<const graph_node *> joined = reached_from(c.origin->frontier);
  for (size_t i = c.nodes_before; i < c.into->nodes.size(); ++i) {
    const graph_node *node = c.into->nodes[i].get();
    if (!joined.count(node)) return node;
  }
  return nullptr;
}

void leave_capture(const std::shared_ptr<capture> &c) {
  for (auto &s : all_streams()) {
    if (s->capturing != c) continue;
    s->capturing = nullptr;
    s->frontier.clear();
  }
  captures.erase(std::remove(captures.begin(), captures.end(), c), captures.end());
}

/* `into` NULL: a new graph. */
cudaError_t begin(const char *name, cudaStream_t handle, std::shared_ptr<graph> into, std::vector<std::shared_ptr<graph_node>> after,
                  cudaStreamCaptureMode mode) {
  static uint64_t last_id = 0;
  std::shared_ptr<stream> s = find_stream(name, handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  if (s->is_default) {
    report("capture", "%s on %s, which cannot be captured: create a stream for it", name, s->describe().c_str());
    return cudaErrorStreamCaptureUnsupported;
  }
  if (s->capturing) {
    report("capture", "%s on %s, which captures already", name, s->describe().c_str());
    return cudaErrorIllegalState;
  }
  auto c = std::make_shared<capture>();
  c->id = ++last_id;
  c->own_graph = !into;
  c->into = into ? into : make_graph();
  c->nodes_before = c->into->nodes.size();
  c->origin = s;
  c->mode = mode;
  c->thread = std::this_thread::get_id();
  s->capturing = c;
  s->frontier = std::move(after);
  captures.push_back(c);
  return cudaSuccess;
}

cudaError_t end(cudaStream_t handle, cudaGraph_t *out) {
  *out = nullptr;
  std::shared_ptr<stream> s = find_stream("cudaStreamEndCapture", handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  std::shared_ptr<capture> c = s->capturing;
  if (!c) {
    report("capture", "cudaStreamEndCapture on %s, which does not capture", s->describe().c_str());
    return cudaErrorIllegalState;
  }
  if (c->origin != s) {
    return invalidate(*c, "cudaStreamEndCapture", cudaErrorStreamCaptureUnmatched,
                      "the capture has to be ended on " + c->origin->describe() + ", where it began");
  }
  if (c->mode != cudaStreamCaptureModeRelaxed && c->thread != std::this_thread::get_id()) {
    report("capture", "cudaStreamEndCapture in another thread than cudaStreamBeginCapture; only a relaxed capture can be ended so");
    return cudaErrorStreamCaptureWrongThread;
  }
  const graph_node *unjoined = c->invalidated ? nullptr : unjoined_node(*c);
  leave_capture(c);
  if ((c->invalidated || unjoined) && c->own_graph) destroy_graph(*c->into);
  if (c->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (unjoined) {
    report("capture", "the capture on %s ends while another stream is ahead of it with %s: let %s wait for an event that is recorded after it",
           s->describe().c_str(), unjoined->what->describe().c_str(), s->describe().c_str());
    return cudaErrorStreamCaptureUnjoined;
  }
  *out = c->into->handle;
  return cudaSuccess;
}

}  // namespace

cudaError_t invalidate(capture &c, const char *call, cudaError_t error, const std::string &why) {
  if (!c.invalidated) report("capture", "%s during the capture on %s: %s", call, c.origin->describe().c_str(), why.c_str());
  c.invalidated = true;
  return error;
}

cudaError_t refuse_in_capture(const char *call) {
  for (auto &c : captures) {
    if (!forbids(*c)) continue;
    return invalidate(*c, call, cudaErrorStreamCaptureUnsupported, "a capture does not see it; call it before, or capture in relaxed mode");
  }
  return cudaSuccess;
}

cudaError_t refuse_for_stream(const char *call, const stream &s) {
  if (s.capturing) return invalidate(*s.capturing, call, cudaErrorStreamCaptureUnsupported, "nothing that is captured runs before the graph is launched");
  return refuse_implicit(call, s);
}

const stream *implied_capture(const stream &s) {
  if (captures.empty() || !s.is_default) return nullptr;
  for (auto &other : all_streams()) {
    if (other->capturing && other->blocking() && other->owner == s.owner) return other.get();
  }
  return nullptr;
}

cudaError_t refuse_implicit(const char *call, const stream &s) {
  const stream *other = implied_capture(s);
  if (!other) return cudaSuccess;
  return invalidate(*other->capturing, call, cudaErrorStreamCaptureImplicit,
                    "it is on the default stream, which orders itself with " + other->describe() + "; create streams with cudaStreamNonBlocking");
}

cudaError_t add_to_capture(const char *call, stream &s, std::shared_ptr<const work> what) {
  (void)call;
  if (s.capturing->invalidated) return cudaErrorStreamCaptureInvalidated;
  s.frontier = {add_node(*s.capturing->into, std::move(what), s.frontier)};
  return cudaSuccess;
}

cudaError_t join_capture(const char *call, const std::shared_ptr<stream> &s, const std::shared_ptr<capture> &c,
                         const std::vector<std::shared_ptr<graph_node>> &after) {
  if (c->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (s->capturing && s->capturing != c) {
    c->invalidated = true;
    return invalidate(*s->capturing, call, cudaErrorStreamCaptureMerge, "the event belongs to another capture, and two captures cannot become one");
  }
  if (!s->capturing && s->is_default) {
    return invalidate(*c, call, cudaErrorStreamCaptureImplicit, "the default stream cannot join a capture");
  }
  s->capturing = c;
  for (auto &node : after) {
    if (std::find(s->frontier.begin(), s->frontier.end(), node) == s->frontier.end()) s->frontier.push_back(node);
  }
  return cudaSuccess;
}

void end_all_captures() {
  while (!captures.empty()) leave_capture(std::shared_ptr<capture>(captures.back()));
}

}  // namespace emulator

using namespace emulator;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return api("cudaStreamBeginCapture", ordinary, [&] { return begin("cudaStreamBeginCapture", handle, nullptr, {}, mode); });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph, const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *,
                                          size_t count, cudaStreamCaptureMode mode) {
  return api("cudaStreamBeginCaptureToGraph", ordinary, [&] {
    auto into = find_graph("cudaStreamBeginCaptureToGraph", graph);
    std::vector<std::shared_ptr<graph_node>> after;
    for (size_t i = 0; i < count; ++i) after.push_back(find_node("cudaStreamBeginCaptureToGraph", dependencies[i]));
    if (!into || std::count(after.begin(), after.end(), nullptr)) return cudaErrorInvalidValue;
    return begin("cudaStreamBeginCaptureToGraph", handle, into, after, mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *out) {
  return api("cudaStreamEndCapture", ordinary, [&] { return out ? end(handle, out) : cudaErrorInvalidValue; });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus *out) {
  return api("cudaStreamIsCapturing", ordinary, [&] {
    if (!out) return cudaErrorInvalidValue;
    std::shared_ptr<stream> s = find_stream("cudaStreamIsCapturing", handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (implied_capture(*s)) return cudaErrorStreamCaptureImplicit;
    *out = !s->capturing ? cudaStreamCaptureStatusNone : s->capturing->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus *out_status, unsigned long long *out_id, cudaGraph_t *out_graph,
                                     const cudaGraphNode_t **out_dependencies, const cudaGraphEdgeData **out_edges, size_t *out_count) {
  return api("cudaStreamGetCaptureInfo", ordinary, [&] {
    static thread_local std::vector<cudaGraphNode_t> dependencies;   /* valid until the stream is used again */
    if (!out_status) return cudaErrorInvalidValue;
    std::shared_ptr<stream> s = find_stream("cudaStreamGetCaptureInfo", handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (implied_capture(*s)) return cudaErrorStreamCaptureImplicit;
    const capture *c = s->capturing.get();
    *out_status = !c ? cudaStreamCaptureStatusNone : c->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    if (!c || c->invalidated) return cudaSuccess;
    dependencies.clear();
    for (auto &node : s->frontier) dependencies.push_back(node->handle);
    if (out_id) *out_id = c->id;
    if (out_graph) *out_graph = c->into->handle;
    if (out_dependencies) *out_dependencies = dependencies.data();
    if (out_edges) *out_edges = nullptr;
    if (out_count) *out_count = dependencies.size();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t *nodes, const cudaGraphEdgeData *, size_t count, unsigned flags) {
  return api("cudaStreamUpdateCaptureDependencies", ordinary, [&] {
    std::shared_ptr<stream> s = find_stream("cudaStreamUpdateCaptureDependencies", handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (!s->capturing) return cudaErrorIllegalState;
    std::vector<std::shared_ptr<graph_node>> after;
    for (size_t i = 0; i < count; ++i) after.push_back(find_node("cudaStreamUpdateCaptureDependencies", nodes[i]));
    if (std::count(after.begin(), after.end(), nullptr)) return cudaErrorInvalidValue;
    if (flags == cudaStreamSetCaptureDependencies) s->frontier.clear();
    s->frontier.insert(s->frontier.end(), after.begin(), after.end());
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode) {
  return api("cudaThreadExchangeStreamCaptureMode", ordinary, [&] {
    if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
    std::swap(*mode, this_thread.capture_mode);
    return cudaSuccess;
  });
}
