/* What the files of the CUDA plugin share. */
#ifndef ORTCORE_PROVIDER_CUDA_PLUGIN_H
#define ORTCORE_PROVIDER_CUDA_PLUGIN_H

#include <ortcore/provider/provider.h>

/* The core's services: the plugin links nothing of the core, and neither side keeps a copy of the other's state. */
extern const provider_host *plugin_host;

/* return CUDA_ERROR(FAIL, "...") as ERROR() does in the core. */
#define CUDA_ERROR(code, ...) plugin_host->make_status(ORTC_##code, __VA_ARGS__)

/* A CUDA runtime error as a status; NULL for cudaSuccess. `what` says what was attempted. */
status cuda_status(int error, const char *what) MUST_CHECK;

/* Kernel rows of provider/cuda/elementwise.c. */
extern const kernel_row cuda_elementwise_rows[];
extern const size_t cuda_elementwise_row_count;

#endif
