/* Nodes by their parameters: made, asked and changed, in graphs and in executable ones. */
#include <emulator/runtime/api.h>
#include <emulator/runtime/copies.h>
#include <emulator/runtime/graph.h>
#include <emulator/runtime/launch.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/streams.h>

namespace emulator {

namespace {

/* Parameters become work; `*out` stays as it was if they are refused. */

cudaError_t to_work(const char *, const cudaKernelNodeParams &p, std::shared_ptr<const work> *out) {
  if (p.extra) return cudaErrorNotSupported;
  std::shared_ptr<kernel_work> made;
  cudaError_t error = make_kernel_work(p.func, p.gridDim, p.blockDim, p.kernelParams, p.sharedMemBytes, &made);
  if (error == cudaSuccess) *out = made;
  return error;
}

cudaError_t to_work(const char *call, const cudaMemcpy3DParms &p, std::shared_ptr<const work> *out) {
  box_end to, from;
  box shape;
  std::shared_ptr<copy_work> made;
  if (cudaError_t error = parts_of(p, &to, &from, &shape)) return error;
  cudaError_t error = make_copy(call, to, from, shape, p.kind, &made);
  if (error == cudaSuccess) *out = made;
  return error;
}

cudaError_t to_work(const char *call, const cudaMemsetParams &p, std::shared_ptr<const work> *out) {
  std::shared_ptr<memset_work> made;
  box_end to = {static_cast<char *>(p.dst), p.pitch, 0};
  cudaError_t error = make_memset(call, to, {p.width * p.elementSize, p.height, 1}, p.value, p.elementSize, &made);
  if (error == cudaSuccess) *out = made;
  return error;
}

cudaError_t to_work(const char *, const cudaHostNodeParams &p, std::shared_ptr<const work> *out) {
  if (!p.fn) return cudaErrorInvalidValue;
  *out = std::make_shared<host_function_work>(p.fn, p.userData);
  return cudaSuccess;
}

cudaMemcpy3DParms one_row(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p = {};
  p.dstPtr = {to, bytes, bytes, 1};
  p.srcPtr = {const_cast<void *>(from), bytes, bytes, 1};
  p.extent = {bytes, 1, 1};
  p.kind = kind;
  return p;
}

/* The other way round. */

void to_params(const kernel_work &w, cudaKernelNodeParams *out) {
  w.arguments.clear();
  for (unsigned i = 0; i < w.symbol->image->param_count; ++i) {
    w.arguments.push_back(const_cast<char *>(w.params.data()) + w.symbol->image->params[2 * i]);
  }
  *out = {const_cast<void *>(w.function), w.grid, w.block, static_cast<unsigned>(w.dynamic_shared), w.arguments.data(), nullptr};
}

void to_params(const copy_work &w, cudaMemcpy3DParms *out) {
  *out = one_row(w.to.data, w.from.data, w.shape.width, cudaMemcpyDefault);
  out->extent = {w.shape.width, w.shape.height, w.shape.depth};
  if (w.to.pitch) out->dstPtr.pitch = w.to.pitch;
  if (w.from.pitch) out->srcPtr.pitch = w.from.pitch;
  out->dstPtr.ysize = w.to.slice && w.to.pitch ? w.to.slice / w.to.pitch : w.shape.height;
  out->srcPtr.ysize = w.from.slice && w.from.pitch ? w.from.slice / w.from.pitch : w.shape.height;
}

void to_params(const memset_work &w, cudaMemsetParams *out) {
  *out = {w.to.data, w.to.pitch, w.value, w.element, w.shape.width / w.element, w.shape.height};
}

void to_params(const host_function_work &w, cudaHostNodeParams *out) { *out = {w.function, w.argument}; }

template <class Params> cudaError_t add(const char *call, cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                                        const Params *p) {
  return api(call, ordinary, [&] {
    std::shared_ptr<const work> what;
    if (!p) return cudaErrorInvalidValue;
    if (cudaError_t error = to_work(call, *p, &what)) return error;
    return add_to_graph(call, out, graph, dependencies, count, what);
  });
}

template <class Work, class Params> cudaError_t get(const char *call, cudaGraphNode_t handle, Params *out) {
  return api(call, ordinary, [&] {
    std::shared_ptr<graph_node> node = find_node(call, handle);
    const Work *what = node ? dynamic_cast<const Work *>(node->what.get()) : nullptr;
    if (!what || !out) return cudaErrorInvalidValue;
    to_params(*what, out);
    return cudaSuccess;
  });
}

/* `slot` becomes what the parameters say, if it is of the same kind. */
template <class Params> cudaError_t change(const char *call, std::shared_ptr<const work> *slot, const Params &p) {
  std::shared_ptr<const work> what;
  if (cudaError_t error = to_work(call, p, &what)) return error;
  if (what->type() != (*slot)->type()) return cudaErrorInvalidValue;
  *slot = what;
  return cudaSuccess;
}

template <class Params> cudaError_t set(const char *call, cudaGraphNode_t handle, const Params *p) {
  return api(call, ordinary, [&] {
    std::shared_ptr<graph_node> node = find_node(call, handle);
    return node && p ? change(call, &node->what, *p) : cudaErrorInvalidValue;
  });
}

template <class Params> cudaError_t set_in_exec(const char *call, cudaGraphExec_t exec_handle, cudaGraphNode_t node, const Params *p) {
  return api(call, ordinary, [&] {
    std::shared_ptr<graph_exec> exec = find_exec(call, exec_handle);
    graph_step *step = exec ? step_of(*exec, node) : nullptr;
    if (!step || !p) return cudaErrorInvalidValue;
    cudaError_t error = change(call, &step->what, *p);
    note_memory(*exec);
    return error;
  });
}

}  // namespace

}  // namespace emulator

using namespace emulator;

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                                   const cudaKernelNodeParams *p) {
  return add("cudaGraphAddKernelNode", out, graph, dependencies, count, p);
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count, const cudaMemcpy3DParms *p) {
  return add("cudaGraphAddMemcpyNode", out, graph, dependencies, count, p);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count, void *to, const void *from,
                                     size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p = one_row(to, from, bytes, kind);
  return add("cudaGraphAddMemcpyNode1D", out, graph, dependencies, count, &p);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count, const cudaMemsetParams *p) {
  return add("cudaGraphAddMemsetNode", out, graph, dependencies, count, p);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count, const cudaHostNodeParams *p) {
  return add("cudaGraphAddHostNode", out, graph, dependencies, count, p);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *out) {
  return get<kernel_work>("cudaGraphKernelNodeGetParams", node, out);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms *out) {
  return get<copy_work>("cudaGraphMemcpyNodeGetParams", node, out);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams *out) {
  return get<memset_work>("cudaGraphMemsetNodeGetParams", node, out);
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams *out) {
  return get<host_function_work>("cudaGraphHostNodeGetParams", node, out);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *p) { return set("cudaGraphKernelNodeSetParams", node, p); }

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *p) { return set("cudaGraphMemcpyNodeSetParams", node, p); }

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p = one_row(to, from, bytes, kind);
  return set("cudaGraphMemcpyNodeSetParams1D", node, &p);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams *p) { return set("cudaGraphMemsetNodeSetParams", node, p); }

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams *p) { return set("cudaGraphHostNodeSetParams", node, p); }

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams *p) {
  return set_in_exec("cudaGraphExecKernelNodeSetParams", exec, node, p);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms *p) {
  return set_in_exec("cudaGraphExecMemcpyNodeSetParams", exec, node, p);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p = one_row(to, from, bytes, kind);
  return set_in_exec("cudaGraphExecMemcpyNodeSetParams1D", exec, node, &p);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemsetParams *p) {
  return set_in_exec("cudaGraphExecMemsetNodeSetParams", exec, node, p);
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaHostNodeParams *p) {
  return set_in_exec("cudaGraphExecHostNodeSetParams", exec, node, p);
}
