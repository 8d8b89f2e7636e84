/* A provider: devices, and kernels for operators on them. The CPU's kernels are the `run` of ops/; a plugin brings a table of its own. */
#ifndef ORTCORE_PROVIDER_PROVIDER_H
#define ORTCORE_PROVIDER_PROVIDER_H

#include <ortcore/ops/op.h>

#define PROVIDER_CPU "CPUExecutionProvider"
#define PROVIDER_CUDA "CUDAExecutionProvider"

typedef struct kernel_row {
  const char *op, *domain;                                  /* domain NULL: ai.onnx */
  int since;                                                /* first opset served */
  typeset types;                                            /* of the first input */
  bool (*supports)(const node *n, const fact *const *in);   /* NULL: all */
  status (*specialise)(specialise_ctx *c, void **out_spec);
  status (*launch)(kernel_ctx *k, void *stream);
} kernel_row;

/* What the core lends a plugin, and what a plugin gives the core. Both check that the other was built from the same sources. */
typedef struct provider_host {
  size_t size;
  const char *build_id;
  status (*make_status)(ortc_status_code code, const char *format, ...) PRINTF_LIKE(2, 3);
  void (*log)(ortc_severity severity, const char *logid, const char *location, const char *format, ...) PRINTF_LIKE(4, 5);
} provider_host;

typedef struct provider {
  size_t size;
  const char *build_id;
  const char *name;                                         /* "CUDAExecutionProvider" */
  int (*device_count)(const char **out_why_not);            /* 0 and a reason where there is none */
  size_t kernel_count;
  const kernel_row *kernels;
} provider;

/* The plugin's one exported function: NULL if it was not built from the host's sources. */
typedef const provider *(*provider_entry_fn)(const provider_host *host);
#define PROVIDER_ENTRY "ortcore_provider"

/* The plugin in that file, which stays open for good. NULL with the reason in `why_not` if it cannot be used by this build. */
const provider *provider_open(const char *path, char *why_not, size_t capacity);
/* The CUDA plugin beside libortcore.so, opened on first use. NULL with the reason in *out_why_not if it cannot serve here. */
const provider *provider_cuda(const char **out_why_not);
/* In priority order, the CPU last; NULL out of range. */
const char *provider_available(size_t index);
bool provider_is_known(const char *name);
/* The plugin's kernel for a node: the row with the highest `since` that serves its opset, type and facts; NULL if there is none. */
const kernel_row *provider_find_kernel(const provider *p, const node *n, const fact *const *in);

#endif
