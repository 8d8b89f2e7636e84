/* The emulated GPU's controls, for tests and for tools: what it should do, what it did, what it found.
 *
 * libortcore_cuda_emulated.so exports these functions, and beside them the CUDA runtime's own (cudaMalloc and so on): a program that links
 * it, or that opens it with dlopen or ctypes, shares the emulated devices, their memory and their streams with ortcore.
 *
 *  Threads     All functions may be called from any thread.
 *  Strings     are UTF-8 and NUL-terminated. Those that a function lends live until ortcore_emulator_clear() is called. */
#ifndef ORTCORE_EMULATOR_H
#define ORTCORE_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORTCORE_EMULATOR_API __attribute__((visibility("default")))

/* ---- Settings -------------------------------------------------------------------------------------------------------------------------
 *
 * Sets one of the following; 0 on success, -1 for a key that is not here or a value out of its range (both are reported on stderr). Where a
 * line names an environment variable, that is read when the first CUDA function is called.
 *
 *   "seed"                  any. Schedules are the same for the same seed (ORTCORE_EMULATION_SEED; 0)
 *   "policy"                the order in which enqueued work runs, ORTCORE_EMULATOR_STARVE, _RANDOM or _EAGER (ORTCORE_EMULATION_POLICY, by
 *                           name; starve)
 *   "race_check"            1: watch every access of kernels and copies, and report accesses of two streams that nothing orders, and
 *                           accesses outside allocations (ORTCORE_EMULATION_RACE_CHECK; 0). Kernels run several times slower
 *   "verbose"               1: print findings on stderr when they are made (ORTCORE_EMULATION_VERBOSE; 0)
 *   "devices"               how many there are, 0 to 8 (ORTCORE_EMULATION_DEVICES; 1)
 *   "memory_bytes"          of each device (ORTCORE_EMULATION_MEMORY; 4 GiB)
 *   "quarantine_bytes"      freed memory of a device that is kept from being handed out again, so that late uses are seen (64 MiB)
 *   "poison_bytes"          at the start of fresh and of freed memory, filled with 0xff and 0xfe (1 MiB)
 *   "step_limit"            backward branches that a block of a kernel may take; 0: the default
 *   "fail_allocation"       n > 0: the n-th allocation from now on fails with cudaErrorMemoryAllocation, once; 0: none
 *   "fail_allocations_after" n >= 0: every allocation after n more fails; -1: none
 *   "sticky_error"          a cudaError_t: the current device fails with it from now on, in every function (700, 719, ...)
 *   "sticky_error_at_launch" n > 0: the n-th kernel that runs from now on fails as if it touched an illegal address; 0: none
 *   "device_lost"           1: the current device is gone (cudaErrorDevicesUnavailable); 0: it is back, with its errors forgotten
 *   "driver_error"          a cudaError_t that every function returns, as without a usable driver (35, 100); 0: none
 *   "reset"                 1: waits for nothing, drops all enqueued work, ends captures, forgets errors, findings, counters and injected
 *                           failures; memory, streams, events and graphs stay
 */
enum { ORTCORE_EMULATOR_STARVE = 0, ORTCORE_EMULATOR_RANDOM = 1, ORTCORE_EMULATOR_EAGER = 2 };

ORTCORE_EMULATOR_API int ortcore_emulator_configure(const char *key, int64_t value);

/* ---- Counters -------------------------------------------------------------------------------------------------------------------------
 *
 * Since the process began, the last "reset" or ortcore_emulator_clear(). -1 for a name that is not here.
 *
 *   "launches"              kernels launched (those of graphs are counted when the graph is)
 *   "graph_launches"        graphs launched
 *   "copies_host_to_device", "copies_device_to_host", "copies_device_to_device", "copies_host_to_host"
 *   "bytes_host_to_device", "bytes_device_to_host", "bytes_device_to_device", "bytes_host_to_host"
 *   "memsets"               cudaMemset and its relatives
 *   "allocations"           of device memory: cudaMalloc, cudaMallocAsync and their relatives
 *   "pinned_allocations"    cudaHostAlloc, cudaMallocHost, cudaHostRegister
 *   "live_allocations", "live_bytes", "peak_bytes"    device memory now in use, in all devices; the first two are never set back
 *   "synchronisations"      calls in which the host waited for a device: cudaStreamSynchronize, cudaDeviceSynchronize, cudaEventSynchronize,
 *                           cudaMemcpy, cudaFree, ...
 *   "pending"               operations that are enqueued and have not run
 *   "races"                 findings of the kinds "race" and "shared_race"
 *   "findings"              all findings
 */
ORTCORE_EMULATOR_API int64_t ortcore_emulator_counter(const char *name);

/* ---- Findings -------------------------------------------------------------------------------------------------------------------------
 *
 * What was found, in order. 0 on success; -1 (and two NULLs) past the last one. The text names operations, streams, allocations. Kinds:
 *
 *   "race"             two accesses of the same memory, one of them a write, that no stream, event or synchronisation orders
 *   "shared_race"      the same within a block, in its shared memory
 *   "use_after_free"   work enqueued with memory that was freed before
 *   "stale_graph"      a graph launched although it was captured with memory that was freed since
 *   "out_of_bounds"    memory beside an allocation was written, or, with race_check, touched
 *   "double_free", "invalid_free"
 *   "freed_write"      memory changed after it was freed
 *   "host_access"      host code touched device memory; the process gets its SIGSEGV as it would with a GPU
 *   "pinned_access"    host code touched pinned memory that a pending copy reads or writes
 *   "pageable_capture" a copy captured in a graph reads or writes pageable host memory each time the graph is launched
 *   "capture"          a call that a stream capture forbids
 *   "copy"             pointers that do not fit the direction of a copy, or a copy that leaves its allocation
 *   "launch"           a launch beyond the device's or the kernel's limits
 *   "kernel_fault"     a kernel that stopped: illegal address, diverged barrier, endless loop; a sticky error follows
 *   "handle"           a stream, event or graph that was destroyed or never existed
 *   "host_function"    a CUDA function called from within a host function
 *   "fork"             CUDA used in a child of the process that initialised it
 */
ORTCORE_EMULATOR_API int ortcore_emulator_finding(size_t index, const char **out_kind, const char **out_text);

/* Forgets findings and counters; what is enqueued, allocated or broken stays so. */
ORTCORE_EMULATOR_API void ortcore_emulator_clear(void);

/* The name that findings give the allocation which holds `pointer` (device or pinned memory), beside its number. -1 if there is none. */
ORTCORE_EMULATOR_API int ortcore_emulator_name(const void *pointer, const char *name);

#ifdef __cplusplus
}
#endif
#endif
