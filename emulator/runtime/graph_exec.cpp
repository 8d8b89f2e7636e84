/* Graphs that are launched: their steps, the memory that they were made with, and whether it is still there. */
#include <emulator/runtime/api.h>
#include <emulator/runtime/capture.h>
#include <emulator/runtime/copies.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/graph.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/streams.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace emulator {

namespace {

/* One launch. */
struct graph_work final : work {
  std::shared_ptr<const std::vector<graph_step>> steps;
  mutable std::vector<vector_clock> clocks;                 /* of the steps, with race_check; a graph within a graph has none */

  explicit graph_work(std::shared_ptr<const std::vector<graph_step>> steps) : steps(std::move(steps)) {}
  cudaGraphNodeType type() const override { return cudaGraphNodeTypeGraph; }
  std::string describe() const override { return formatted("cudaGraphLaunch of a graph of %zu nodes", steps->size()); }
  void enqueued(stream &on, operation *op) const override;
  cudaError_t run(stream &on, const operation &op) const override;

 private:
  cudaError_t run_step(size_t i, stream &on, const operation &op) const;
};

/* Steps come after their dependencies and after what the launch comes after; what follows on the stream comes after them all. */
void graph_work::enqueued(stream &on, operation *op) const {
  for (const graph_step &step : *steps) {
    if (step.enabled) step.what->enqueued(on, op);
  }
  if (!settings.race_check) return;
  for (const graph_step &step : *steps) {
    vector_clock clock = op->after;
    for (size_t before : step.dependencies) clock.join(clocks[before]);
    clock.advance(step.lane);
    clocks.push_back(clock);
  }
  for (const vector_clock &clock : clocks) on.clock.join(clock);
}

cudaError_t graph_work::run_step(size_t i, stream &on, const operation &op) const {
  const graph_step &step = (*steps)[i];
  if (!step.enabled) return cudaSuccess;
  if (clocks.empty()) return step.what->run(on, op);
  std::string name = formatted("%s (node %zu of the graph of operation %llu on %s)", step.what->describe().c_str(), i + 1,
                               static_cast<unsigned long long>(op.id), on.describe().c_str());
  begin_accesses({op.id, step.lane, &clocks[i], name});
  cudaError_t error = step.what->run(on, op);
  end_accesses();
  return error;
}

/* In an order that the seed picks among those that the dependencies allow. */
cudaError_t graph_work::run(stream &on, const operation &op) const {
  std::vector<size_t> missing(steps->size()), ready;
  std::vector<std::vector<size_t>> dependents(steps->size());
  for (size_t i = 0; i < steps->size(); ++i) {
    missing[i] = (*steps)[i].dependencies.size();
    for (size_t before : (*steps)[i].dependencies) dependents[before].push_back(i);
    if (missing[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[random_number() % ready.size()], ready.back());
    size_t i = ready.back();
    ready.pop_back();
    open_device_memory();                                   /* a host function may have closed it */
    if (cudaError_t error = run_step(i, on, op)) return error;
    for (size_t after : dependents[i]) {
      if (--missing[after] == 0) ready.push_back(after);
    }
  }
  return cudaSuccess;
}

/* A step goes on in the lane of a step before it, if no other one does. */
void assign_lanes(std::vector<graph_step> *steps) {
  std::set<size_t> continued;
  for (graph_step &step : *steps) {
    for (size_t before : step.dependencies) {
      if (step.lane == 0 && continued.insert(before).second) step.lane = (*steps)[before].lane;
    }
    if (step.lane == 0) step.lane = new_lane();
  }
}

std::vector<graph_step> steps_of(const std::vector<std::shared_ptr<graph_node>> &order) {
  std::unordered_map<const graph_node *, size_t> index;
  std::vector<graph_step> steps;
  for (auto &node : order) {
    graph_step step = {node->handle, node->what, {}};
    for (auto &before : node->dependencies) step.dependencies.push_back(index.at(before.get()));
    index[node.get()] = steps.size();
    steps.push_back(std::move(step));
  }
  assign_lanes(&steps);
  return steps;
}

cudaError_t instantiate(const char *call, cudaGraphExec_t *out, cudaGraph_t handle, unsigned long long flags) {
  std::shared_ptr<graph> g = find_graph(call, handle);
  if (!out || !g) return cudaErrorInvalidValue;
  if (flags & cudaGraphInstantiateFlagDeviceLaunch) return cudaErrorNotSupported;
  *out = nullptr;
  std::vector<std::shared_ptr<graph_node>> order = in_order(*g);
  if (order.size() != g->nodes.size()) return cudaErrorInvalidValue;
  auto exec = std::make_shared<graph_exec>();
  exec->steps = std::make_shared<std::vector<graph_step>>(steps_of(order));
  exec->flags = flags;
  exec->handle = *out = graph_execs.add(exec);
  note_memory(*exec);
  return cudaSuccess;
}

/* Memory that was freed since, and perhaps given to someone else. */
void check_memory(graph_exec &exec, const stream &on) {
  if (exec.checked == memory_changes) return;
  exec.checked = memory_changes;
  for (const graph_memory &m : exec.memory) {
    const allocation *a = find_device_allocation(m.address);
    if (a && a->id == m.id && !a->freed) continue;
    std::string what = (*exec.steps)[m.step].what->describe();
    std::string now = a && a->id == m.id ? formatted("%s has freed", a->freed_by) : "was freed";
    if (a && a->id != m.id && !a->freed) now += formatted(", and whose place %s has taken", describe(*a).c_str());
    report("stale_graph", "cudaGraphLaunch on %s: node %zu of the graph, %s, was captured with %s, which %s since: capture the graph again or update it",
           on.describe().c_str(), m.step + 1, what.c_str(), m.text.c_str(), now.c_str());
  }
}

cudaError_t launch(cudaGraphExec_t handle, cudaStream_t where) {
  std::shared_ptr<graph_exec> exec = find_exec("cudaGraphLaunch", handle);
  std::shared_ptr<stream> s = find_stream("cudaGraphLaunch", where);
  if (!exec) return cudaErrorInvalidValue;
  if (!s) return cudaErrorInvalidResourceHandle;
  check_memory(*exec, *s);
  auto what = std::make_shared<graph_work>(exec->steps);
  if (s->capturing) return add_to_capture("cudaGraphLaunch", *s, what);
  if (cudaError_t error = refuse_implicit("cudaGraphLaunch", *s)) return error;
  ++counters.graph_launches;
  s->clock.join(exec->after);
  exec->last_launch = enqueue(s, what, {exec->last_launch});
  exec->after = s->clock;
  return cudaSuccess;
}

bool same_direction(const work &a, const work &b) {
  const auto *from = dynamic_cast<const copy_work *>(&a), *to = dynamic_cast<const copy_work *>(&b);
  return !from || !to || (from->to_place == to->to_place && from->from_place == to->from_place);
}

/* What an update cannot change. */
cudaGraphExecUpdateResult compare(const std::vector<graph_step> &now, const std::vector<graph_step> &then, size_t *out_different) {
  size_t i = 0;
  cudaGraphExecUpdateResult result = now.size() == then.size() ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
  for (; result == cudaGraphExecUpdateSuccess && i < now.size(); ++i) {
    cudaGraphNodeType type = now[i].what->type();
    if (type != then[i].what->type()) result = cudaGraphExecUpdateErrorNodeTypeChanged;
    else if (now[i].dependencies != then[i].dependencies) result = cudaGraphExecUpdateErrorTopologyChanged;
    else if (type == cudaGraphNodeTypeMemAlloc || type == cudaGraphNodeTypeMemFree) result = cudaGraphExecUpdateErrorNotSupported;
    else if (!same_direction(*now[i].what, *then[i].what)) result = cudaGraphExecUpdateErrorParametersChanged;
  }
  *out_different = i ? i - 1 : 0;
  return result;
}

cudaError_t update(cudaGraphExec_t exec_handle, cudaGraph_t graph_handle, cudaGraphExecUpdateResultInfo *out) {
  std::shared_ptr<graph_exec> exec = find_exec("cudaGraphExecUpdate", exec_handle);
  std::shared_ptr<graph> g = find_graph("cudaGraphExecUpdate", graph_handle);
  if (!exec || !g) return cudaErrorInvalidValue;
  std::vector<std::shared_ptr<graph_node>> order = in_order(*g);
  std::vector<graph_step> now = steps_of(order);
  size_t different = 0;
  cudaGraphExecUpdateResult result = compare(*exec->steps, now, &different);
  if (out) {
    *out = {};
    out->result = result;
    if (result != cudaGraphExecUpdateSuccess && different < now.size()) out->errorNode = now[different].node;
  }
  if (result != cudaGraphExecUpdateSuccess) return cudaErrorGraphExecUpdateFailure;
  exec->steps = std::make_shared<std::vector<graph_step>>(std::move(now));
  note_memory(*exec);
  return cudaSuccess;
}

}  // namespace

std::vector<graph_step> &writable_steps(graph_exec &exec) {
  if (exec.steps.use_count() > 1) exec.steps = std::make_shared<std::vector<graph_step>>(*exec.steps);
  return *exec.steps;
}

graph_step *step_of(graph_exec &exec, cudaGraphNode_t node) {
  for (graph_step &step : writable_steps(exec)) {
    if (step.node == node) return &step;
  }
  return nullptr;
}

void note_memory(graph_exec &exec) {
  std::set<std::pair<uint64_t, size_t>> seen;
  exec.memory.clear();
  exec.checked = 0;
  for (size_t i = 0; i < exec.steps->size(); ++i) {
    std::vector<span> spans;
    (*exec.steps)[i].what->spans(&spans);
    for (const span &s : spans) {
      const allocation *a = find_device_allocation(s.address);
      if (a && seen.insert({a->id, i}).second) exec.memory.push_back({s.address, a->id, i, describe(*a)});
    }
  }
}

}  // namespace emulator

using namespace emulator;

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
  return api("cudaGraphInstantiate", ordinary, [&] { return instantiate("cudaGraphInstantiate", out, graph, flags); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
  return api("cudaGraphInstantiateWithFlags", ordinary, [&] { return instantiate("cudaGraphInstantiateWithFlags", out, graph, flags); });
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *out, cudaGraph_t graph, cudaGraphInstantiateParams *params) {
  return api("cudaGraphInstantiateWithParams", ordinary, [&] {
    if (!params) return cudaErrorInvalidValue;
    cudaError_t error = instantiate("cudaGraphInstantiateWithParams", out, graph, params->flags);
    params->errNode_out = nullptr;
    params->result_out = error ? cudaGraphInstantiateError : cudaGraphInstantiateSuccess;
    return error;
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *out) {
  return api("cudaGraphExecUpdate", ordinary, [&] { return update(exec, graph, out); });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return api("cudaGraphLaunch", ordinary, [&] { return launch(exec, stream); });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return api("cudaGraphUpload", ordinary, [&] {
    return find_exec("cudaGraphUpload", exec) && find_stream("cudaGraphUpload", stream) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

/* Launches that are pending go on. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return api("cudaGraphExecDestroy", releasing, [&] {
    if (!find_exec("cudaGraphExecDestroy", handle)) return cudaErrorInvalidValue;
    graph_execs.remove(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long *out) {
  return api("cudaGraphExecGetFlags", ordinary, [&] {
    std::shared_ptr<graph_exec> exec = find_exec("cudaGraphExecGetFlags", handle);
    if (!exec || !out) return cudaErrorInvalidValue;
    *out = exec->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec_handle, cudaGraphNode_t node, unsigned enabled) {
  return api("cudaGraphNodeSetEnabled", ordinary, [&] {
    std::shared_ptr<graph_exec> exec = find_exec("cudaGraphNodeSetEnabled", exec_handle);
    graph_step *step = exec ? step_of(*exec, node) : nullptr;
    if (!step) return cudaErrorInvalidValue;
    step->enabled = enabled != 0;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec_handle, cudaGraphNode_t node, unsigned *out) {
  return api("cudaGraphNodeGetEnabled", ordinary, [&] {
    std::shared_ptr<graph_exec> exec = find_exec("cudaGraphNodeGetEnabled", exec_handle);
    graph_step *step = exec ? step_of(*exec, node) : nullptr;
    if (!step || !out) return cudaErrorInvalidValue;
    *out = step->enabled;
    return cudaSuccess;
  });
}
