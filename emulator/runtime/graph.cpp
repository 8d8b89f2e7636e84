/* Graphs while they are built: nodes and what they depend on. */
#include <emulator/runtime/graph.h>

#include <emulator/runtime/api.h>
#include <emulator/runtime/report.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace emulator {

handle_table<cudaGraph_t, graph> &graphs = *new handle_table<cudaGraph_t, graph>(handle_kind::graph);
handle_table<cudaGraphNode_t, graph_node> &graph_nodes = *new handle_table<cudaGraphNode_t, graph_node>(handle_kind::graph_node);
handle_table<cudaGraphExec_t, graph_exec> &graph_execs = *new handle_table<cudaGraphExec_t, graph_exec>(handle_kind::graph_exec);

namespace {

template <class Handle, class T>
std::shared_ptr<T> find_in(const handle_table<Handle, T> &table, const char *call, Handle handle, const char *what) {
  std::shared_ptr<T> found = table.find(handle);
  if (found) return found;
  if (table.was_live(handle)) {
    report("handle", "%s is given %s %llu, which was destroyed", call, what, static_cast<unsigned long long>(table.number(handle)));
  } else {
    report("handle", "%s is given %p, which is no %s", call, static_cast<void *>(handle), what);
  }
  return nullptr;
}

/* The nodes of these handles; false if one of them is none of the graph's. */
bool nodes_of(const char *call, const graph &g, const cudaGraphNode_t *handles, size_t count, std::vector<std::shared_ptr<graph_node>> *out) {
  for (size_t i = 0; i < count; ++i) {
    std::shared_ptr<graph_node> node = find_node(call, handles[i]);
    if (!node || node->home.lock().get() != &g) return false;
    out->push_back(node);
  }
  return true;
}

struct empty_work final : work {
  cudaGraphNodeType type() const override { return cudaGraphNodeTypeEmpty; }
  std::string describe() const override { return "an empty node"; }
  cudaError_t run(stream &, const operation &) const override { return cudaSuccess; }
};

/* Writes what fits; NULL asks for the number alone. */
template <class T, class F> void give(size_t available, T *out, size_t *count, F &&at) {
  if (!out) {
    *count = available;
    return;
  }
  size_t written = std::min(*count, available);
  for (size_t i = 0; i < *count; ++i) out[i] = i < written ? at(i) : T{};
  *count = written;
}

std::shared_ptr<graph> clone(const graph &g) {
  std::shared_ptr<graph> copy = make_graph();
  std::unordered_map<const graph_node *, std::shared_ptr<graph_node>> copies;
  for (auto &node : in_order(g)) {
    std::vector<std::shared_ptr<graph_node>> dependencies;
    for (auto &before : node->dependencies) dependencies.push_back(copies.at(before.get()));
    copies[node.get()] = add_node(*copy, node->what, std::move(dependencies));
  }
  return copy;
}

}  // namespace

void destroy_graph(graph &g) {
  for (auto &node : g.nodes) {
    node->dependencies.clear();                             /* a long chain would be destroyed by recursion */
    graph_nodes.remove(node->handle);
  }
  graphs.remove(g.handle);
}

std::shared_ptr<graph> make_graph() {
  auto g = std::make_shared<graph>();
  g->handle = graphs.add(g);
  return g;
}

std::shared_ptr<graph_node> add_node(graph &g, std::shared_ptr<const work> what, std::vector<std::shared_ptr<graph_node>> dependencies) {
  auto node = std::make_shared<graph_node>();
  node->home = graphs.find(g.handle);
  node->what = std::move(what);
  node->dependencies = std::move(dependencies);
  node->handle = graph_nodes.add(node);
  g.nodes.push_back(node);
  return node;
}

std::shared_ptr<graph> find_graph(const char *call, cudaGraph_t handle) { return find_in(graphs, call, handle, "graph"); }
std::shared_ptr<graph_node> find_node(const char *call, cudaGraphNode_t handle) { return find_in(graph_nodes, call, handle, "graph node"); }
std::shared_ptr<graph_exec> find_exec(const char *call, cudaGraphExec_t handle) { return find_in(graph_execs, call, handle, "executable graph"); }

std::vector<std::shared_ptr<graph_node>> in_order(const graph &g) {
  std::unordered_map<const graph_node *, size_t> missing;
  std::unordered_map<const graph_node *, std::vector<std::shared_ptr<graph_node>>> dependents;
  std::vector<std::shared_ptr<graph_node>> order;
  for (auto &node : g.nodes) {
    missing[node.get()] = node->dependencies.size();
    for (auto &before : node->dependencies) dependents[before.get()].push_back(node);
    if (node->dependencies.empty()) order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (auto &after : dependents[order[i].get()]) {
      if (--missing[after.get()] == 0) order.push_back(after);
    }
  }
  return order;
}

cudaError_t add_to_graph(const char *call, cudaGraphNode_t *out, cudaGraph_t handle, const cudaGraphNode_t *dependencies, size_t count,
                         std::shared_ptr<const work> what) {
  std::shared_ptr<graph> g = find_graph(call, handle);
  std::vector<std::shared_ptr<graph_node>> after;
  if (!out || !g || !nodes_of(call, *g, dependencies, count, &after)) return cudaErrorInvalidValue;
  *out = add_node(*g, std::move(what), std::move(after))->handle;
  return cudaSuccess;
}

}  // namespace emulator

using namespace emulator;

cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned flags) {
  return api("cudaGraphCreate", ordinary, [&] {
    if (!out || flags) return cudaErrorInvalidValue;
    *out = make_graph()->handle;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return api("cudaGraphDestroy", releasing, [&] {
    std::shared_ptr<graph> g = find_graph("cudaGraphDestroy", handle);
    if (!g) return cudaErrorInvalidValue;
    destroy_graph(*g);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphClone(cudaGraph_t *out, cudaGraph_t handle) {
  return api("cudaGraphClone", ordinary, [&] {
    std::shared_ptr<graph> g = find_graph("cudaGraphClone", handle);
    if (!out || !g) return cudaErrorInvalidValue;
    *out = clone(*g)->handle;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count) {
  return api("cudaGraphAddEmptyNode", ordinary, [&] {
    return add_to_graph("cudaGraphAddEmptyNode", out, graph, dependencies, count, std::make_shared<empty_work>());
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *, size_t count) {
  return api("cudaGraphAddDependencies", ordinary, [&] {
    std::shared_ptr<graph> g = find_graph("cudaGraphAddDependencies", handle);
    std::vector<std::shared_ptr<graph_node>> before, after;
    if (!g || !nodes_of("cudaGraphAddDependencies", *g, from, count, &before) || !nodes_of("cudaGraphAddDependencies", *g, to, count, &after)) {
      return cudaErrorInvalidValue;
    }
    for (size_t i = 0; i < count; ++i) after[i]->dependencies.push_back(before[i]);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t *out, size_t *count) {
  return api("cudaGraphGetNodes", ordinary, [&] {
    std::shared_ptr<graph> g = find_graph("cudaGraphGetNodes", handle);
    if (!g || !count) return cudaErrorInvalidValue;
    give(g->nodes.size(), out, count, [&](size_t i) { return g->nodes[i]->handle; });
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t *out, size_t *count) {
  return api("cudaGraphGetRootNodes", ordinary, [&] {
    std::shared_ptr<graph> g = find_graph("cudaGraphGetRootNodes", handle);
    if (!g || !count) return cudaErrorInvalidValue;
    std::vector<cudaGraphNode_t> roots;
    for (auto &node : g->nodes) {
      if (node->dependencies.empty()) roots.push_back(node->handle);
    }
    give(roots.size(), out, count, [&](size_t i) { return roots[i]; });
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data, size_t *count) {
  return api("cudaGraphGetEdges", ordinary, [&] {
    std::shared_ptr<graph> g = find_graph("cudaGraphGetEdges", handle);
    if (!g || !count || !from != !to) return cudaErrorInvalidValue;
    std::vector<std::pair<cudaGraphNode_t, cudaGraphNode_t>> edges;
    for (auto &node : g->nodes) {
      for (auto &before : node->dependencies) edges.emplace_back(before->handle, node->handle);
    }
    size_t available = *count;
    give(edges.size(), from, count, [&](size_t i) { return edges[i].first; });
    if (to) give(edges.size(), to, &available, [&](size_t i) { return edges[i].second; });
    if (data) memset(data, 0, *count * sizeof *data);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t handle, cudaGraphNode_t *out, cudaGraphEdgeData *data, size_t *count) {
  return api("cudaGraphNodeGetDependencies", ordinary, [&] {
    std::shared_ptr<graph_node> node = find_node("cudaGraphNodeGetDependencies", handle);
    if (!node || !count) return cudaErrorInvalidValue;
    give(node->dependencies.size(), out, count, [&](size_t i) { return node->dependencies[i]->handle; });
    if (data) memset(data, 0, *count * sizeof *data);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType *out) {
  return api("cudaGraphNodeGetType", ordinary, [&] {
    std::shared_ptr<graph_node> node = find_node("cudaGraphNodeGetType", handle);
    if (!node || !out) return cudaErrorInvalidValue;
    *out = node->what->type();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return api("cudaGraphDestroyNode", releasing, [&] {
    std::shared_ptr<graph_node> node = find_node("cudaGraphDestroyNode", handle);
    std::shared_ptr<graph> g = node ? node->home.lock() : nullptr;
    if (!g) return cudaErrorInvalidValue;
    for (auto &other : g->nodes) {
      auto &list = other->dependencies;
      list.erase(std::remove(list.begin(), list.end(), node), list.end());
    }
    g->nodes.erase(std::remove(g->nodes.begin(), g->nodes.end(), node), g->nodes.end());
    graph_nodes.remove(handle);
    return cudaSuccess;
  });
}
