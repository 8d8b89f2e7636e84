/* Runs a grid of one translated kernel: what the emulated CUDA runtime calls. One grid at a time: the caller holds its lock around run_grid.
 * Generated files register their kernels and module variables when the library is loaded. */
#ifndef EMULATOR_EXECUTOR_EXECUTOR_H
#define EMULATOR_EXECUTOR_EXECUTOR_H

#include <stddef.h>
#include <stdint.h>

namespace emulator {

/* A kernel of the form that the translator writes. `body` runs one thread; `params` is a block laid out as the PTX parameter space. */
struct kernel_image {
  const char *name;                 /* as in the PTX and in __cudaRegisterFunction */
  void (*body)(const char *params);
  unsigned param_count;
  const unsigned *params;           /* param_count pairs: offset, size */
  unsigned param_bytes;             /* of the whole block */
  unsigned static_shared;           /* bytes of shared memory that the kernel declares itself */
  unsigned most_threads;            /* of a block, from __launch_bounds__; 0: the device's limit */
  const char *const *files;         /* of the source, for messages */
};

/* A module variable (__device__ or __constant__): its storage is in the generated file, and kernels read it there. */
struct variable_image {
  const char *name;
  void *address;
  size_t bytes;
  bool constant;
};

/* NULL: there is none of this name. */
const kernel_image *find_kernel(const char *name);
const variable_image *find_variable(const char *name);

/* What a generated file declares at namespace scope, so that the library knows its kernels once it is loaded. */
struct module_registration {
  module_registration(const kernel_image *kernels, unsigned kernel_count, const variable_image *variables, unsigned variable_count);
};

struct extent {
  unsigned x, y, z;
};

/* Why a grid stopped before its end. On a device each of them would be a sticky error, a hang, or silent garbage. */
enum class fault_kind : unsigned char {
  none,
  illegal_address,                  /* memory that is not there, or shared memory past its end */
  misaligned_address,
  barrier,                          /* threads of one block wait at different barriers, or for threads that have ended */
  warp,                             /* lanes of one mask at different instructions, or a lane that its own mask leaves out */
  step_limit,                       /* endless loop, spin-wait */
  stack,                            /* local memory beyond a thread's stack */
  unsupported,                      /* this CPU lacks instructions that translated code was compiled for */
};

struct fault {
  fault_kind kind;
  uint64_t address;                 /* of illegal_address and misaligned_address */
  char message[640];                /* kernel, block, thread, what happened, and the source line where it is known */
};

/* True: every block ran to its end. False: *out_fault says why not; memory is as the threads that ran left it. `dynamic_shared` is what the
 * launch asked for beyond static_shared. Nothing is checked that a launch checks (limits of the device). */
bool run_grid(const kernel_image *image, const char *params, extent grid, extent block, unsigned dynamic_shared, fault *out_fault);

/* Order in which the threads of a block get their turns, and the blocks of a grid: a schedule that a kernel relies upon shows up under another one. */
enum class schedule : unsigned char { forward, backward, shuffled };
void set_schedule(schedule order, uint64_t seed);

/* Backward branches that one block may take before run_grid gives up; 0 restores the default. */
void set_step_limit(uint64_t branches_per_block);

/* For a SIGSEGV or SIGBUS handler: does not return when a kernel is running on this thread (run_grid then returns illegal_address), returns false
 * when none is. The handler may run on an alternative stack; its signals must not stay blocked (SA_NODEFER). */
bool fault_in_kernel(const void *address);

/* --- watching accesses: race and bounds checks at the price of speed --- */

enum class access_kind : unsigned char { read, write, atomic };

struct access {
  uint64_t address;
  unsigned bytes;
  access_kind kind;
  const char *kernel;
  const char *file;                 /* of the .cu, NULL where unknown */
  unsigned line;
  uint64_t block;                   /* index within the grid, x fastest */
  unsigned thread;                  /* index within the block, x fastest */
  unsigned interval;                /* block-wide barriers this block has passed */
};

struct observer {
  void *self;
  /* Each load, store and atomic operation of global memory and of module variables, before it happens. NULL: not wanted. May call stop_kernel. */
  void (*global_access)(void *self, const access *a);
  /* Two threads touched the same shared memory without a barrier between them, one writing; once for each pair of lines. The kernel goes on. */
  void (*shared_race)(void *self, const char *message);
};

/* From the next run_grid on; NULL switches watching off. The struct must live as long. */
void set_observer(const observer *o);

/* For observers: ends the grid. `format` as printf's says what happened; where it happened is added. */
[[noreturn]] void stop_kernel(fault_kind kind, uint64_t address, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Switches between threads since the process began: for tests and profiles. */
uint64_t switch_count();

}  // namespace emulator

#endif
