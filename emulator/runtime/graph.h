/* Graphs as they are built, and as they are launched. */
#ifndef EMULATOR_RUNTIME_GRAPH_H
#define EMULATOR_RUNTIME_GRAPH_H

#include <emulator/runtime/handles.h>
#include <emulator/runtime/scheduler.h>

#include <memory>
#include <vector>

namespace emulator {

struct graph;

struct graph_node {
  cudaGraphNode_t handle;
  std::weak_ptr<graph> home;
  std::shared_ptr<const work> what;
  std::vector<std::shared_ptr<graph_node>> dependencies;
};

struct graph {
  cudaGraph_t handle;
  std::vector<std::shared_ptr<graph_node>> nodes;           /* dependencies before their dependents */
};

/* A node of an instantiated graph. */
struct graph_step {
  cudaGraphNode_t node;                                     /* of the graph that it was made from */
  std::shared_ptr<const work> what;
  std::vector<size_t> dependencies;                         /* indices of steps before it */
  bool enabled = true;
  uint32_t lane = 0;                                        /* in vector clocks: a chain of steps */
};

/* An allocation that steps were given, as it was then. */
struct graph_memory {
  uint64_t address, id;
  size_t step;
  std::string text;                                         /* for the finding, when it is gone */
};

struct graph_exec {
  cudaGraphExec_t handle;
  std::shared_ptr<std::vector<graph_step>> steps;           /* shared with launches that are pending: see writable_steps() */
  std::vector<graph_memory> memory;
  uint64_t checked = 0;                                     /* memory_changes when they were last looked at */
  unsigned long long flags = 0;
  mark last_launch;                                         /* launches of one executable graph come after each other */
  vector_clock after;                                       /* what comes before the end of it */
};

extern handle_table<cudaGraph_t, graph> &graphs;
extern handle_table<cudaGraphNode_t, graph_node> &graph_nodes;
extern handle_table<cudaGraphExec_t, graph_exec> &graph_execs;

std::shared_ptr<graph> make_graph();
void destroy_graph(graph &g);
std::shared_ptr<graph_node> add_node(graph &g, std::shared_ptr<const work> what, std::vector<std::shared_ptr<graph_node>> dependencies);

/* Nodes in an order in which each comes after its dependencies; fewer than there are if they depend on themselves. */
std::vector<std::shared_ptr<graph_node>> in_order(const graph &g);

cudaError_t add_to_graph(const char *call, cudaGraphNode_t *out, cudaGraph_t handle, const cudaGraphNode_t *dependencies, size_t count,
                         std::shared_ptr<const work> what);

/* NULL, with a finding that names `call`, for what is none or was destroyed. */
std::shared_ptr<graph> find_graph(const char *call, cudaGraph_t handle);
std::shared_ptr<graph_node> find_node(const char *call, cudaGraphNode_t handle);
std::shared_ptr<graph_exec> find_exec(const char *call, cudaGraphExec_t handle);

/* Before a change: launches that are pending keep what they were made with. */
std::vector<graph_step> &writable_steps(graph_exec &exec);
/* The step that a node became; NULL if the graph was made from another one. */
graph_step *step_of(graph_exec &exec, cudaGraphNode_t node);
/* Looks up the allocations of the steps' work, after they were set. */
void note_memory(graph_exec &exec);

}  // namespace emulator

#endif
