/* What the files of the CUDA plugin share.
 *
 * The plugin links nothing of the core. The core's pure sources are compiled into it (meson.build lists them); what those need from below is
 * forwarded by host.c, so that ERROR(), TRY, zones and attributes work here as they do in ops/. */
#ifndef ORTCORE_PROVIDER_CUDA_PLUGIN_H
#define ORTCORE_PROVIDER_CUDA_PLUGIN_H

#include <ortcore/kernels/cuda/fault.h>
#include <ortcore/provider/provider.h>

extern const provider_host *plugin_host;                   /* the core's services */

/* A table of rows, named in meson.build's list of families, in <family>.c. Ends with {0}. */
#define KERNEL_FAMILY(family) const kernel_row cuda_rows_##family[]

/* A CUDA runtime error as a status; NULL for cudaSuccess. `what` says what was attempted. */
status cuda_status(int error, const char *what) MUST_CHECK;
/* What a launcher of kernels/cuda/ returned. */
static inline status cuda_launched(int error) { return error ? cuda_status(error, "the kernel could not be launched") : OK; }
/* The cudaStream_t of a stream of this provider, for launchers. */
void *cuda_raw(const stream *s);
/* Where a kernel of that node on that stream tells what it finds, for its arguments. Waiting for the stream, or for an event recorded on it, gives
 * the error, which names the node, and clears it. */
cuda_fault_place cuda_fault(const kernel_ctx *k, const stream *s);
/* Copies from device memory when the work before is done, which it waits for: where the shape of an output is found by a kernel. */
status cuda_fetch(stream *s, const void *from, void *to, size_t bytes) MUST_CHECK;

/* specialise of rows that keep nothing for a set of dims: with it, kernel_output_inferred knows the outputs' dims also where those of the inputs
 * are found only while the model runs. */
static inline status cuda_specialise_nothing(specialise_ctx *c, void **out_spec) {
  (void)c;
  *out_spec = NULL;
  return OK;
}

#define CUDA_FLOATS (TS(FLOAT) | TS(FLOAT16) | TS(BFLOAT16))

#endif
