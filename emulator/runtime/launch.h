/* A kernel as work: what to run, with which parameters. */
#ifndef EMULATOR_RUNTIME_LAUNCH_H
#define EMULATOR_RUNTIME_LAUNCH_H

#include <emulator/runtime/scheduler.h>
#include <emulator/runtime/symbols.h>

namespace emulator {

struct kernel_work final : work {
  const void *function;                                     /* the host function that stands for it */
  const kernel_symbol *symbol;
  dim3 grid, block;
  size_t dynamic_shared;
  std::vector<char> params;                                 /* laid out as the PTX parameter space */
  mutable std::vector<void *> arguments;                    /* pointers into it, for who asks a node for its parameters */

  cudaGraphNodeType type() const override { return cudaGraphNodeTypeKernel; }
  std::string describe() const override;
  void spans(std::vector<span> *out) const override;
  cudaError_t run(stream &on, const operation &op) const override;
  void enqueued(stream &on, operation *op) const override;

 private:
  void check_red_zones(const stream &on, const operation &op) const;
};

/* Checks what a launch checks. `arguments` are pointers to the kernel's arguments, which are copied. */
cudaError_t make_kernel_work(const void *function, const dim3 &grid, const dim3 &block, void **arguments, size_t dynamic_shared,
                             std::shared_ptr<kernel_work> *out);

}  // namespace emulator

#endif
