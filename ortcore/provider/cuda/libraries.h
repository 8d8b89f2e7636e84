/* NVIDIA's libraries for matrix products (cuBLASLt) and convolutions (cuDNN), as one table of functions each.
 *
 * They are opened at run time if they are there, so nothing links them and no header of theirs is needed: what is used of their interface is
 * declared in library_tables.h, with their names. Everything that they compute, our own kernels compute too; without the libraries it is only
 * slower. On the emulated GPU stand-ins take their place (emulator/libraries/), found by the same names. */
#ifndef ORTCORE_PROVIDER_CUDA_LIBRARIES_H
#define ORTCORE_PROVIDER_CUDA_LIBRARIES_H

#include <ortcore/provider/cuda/library_tables.h>
#include <ortcore/provider/cuda/plugin.h>

/* Opened on first use and kept; NULL where it is missing or too old, and then *out_why_not (if wanted) says which file was looked for and what
 * to install. Thread-safe; logged once. */
const cublas_functions *cuda_cublas(const char **out_why_not);
const cudnn_functions *cuda_cudnn(const char **out_why_not);
/* Folders to look into first, separated by colons; before the first use of either library, later calls have no effect. */
void cuda_set_library_folders(const char *folders);

/* A handle for work on that stream, made on first use and released with the stream (cuDNN's) or never (cuBLASLt's, one a device). The device
 * must be current, as it is in `launch` and `specialise`. */
status cuda_cublas_handle(const device *d, cublas_handle *out) MUST_CHECK;
status cuda_cudnn_handle(stream *s, cudnn_handle *out) MUST_CHECK;
/* A result of theirs as a status; NULL for success. `what` says what was attempted. */
status cublas_check(cublas_status result, const char *what) MUST_CHECK;
status cudnn_check(cudnn_status result, const char *what) MUST_CHECK;

/* Only the emulated GPU's plugin has this: the stand-in of that name, NULL if there is none. */
void *emulated_library_function(const char *name) __attribute__((weak, visibility("hidden")));

#endif
