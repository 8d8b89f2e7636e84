/* SIGSEGV and SIGBUS: kernels' own faults go to the executor, host accesses of device or pinned memory are reported, and then whoever handled
 * the signal before has it. */
#ifndef EMULATOR_RUNTIME_FAULT_H
#define EMULATOR_RUNTIME_FAULT_H

namespace emulator {

/* Installs the handler, or puts it back in front if another one was installed since. */
void install_fault_handler();
/* Host accesses that were survived become findings. The lock is held. */
void collect_host_faults();

}  // namespace emulator

#endif
