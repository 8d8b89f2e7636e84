/* A provider: devices, and kernels for operators on them. The CPU's kernels are the `run` of ops/; a plugin brings a table of its own. */
#ifndef ORTCORE_PROVIDER_PROVIDER_H
#define ORTCORE_PROVIDER_PROVIDER_H

#include <ortcore/device/device.h>
#include <ortcore/ops/op.h>
#include <stdarg.h>

#define PROVIDER_CPU "CPUExecutionProvider"
#define PROVIDER_CUDA "CUDAExecutionProvider"

/* One operator on a plugin's device. It says the same as the operator's own row in ops/; the node's facts are inferred by that one. */
typedef struct kernel_row {
  const char *op, *domain;                                  /* domain NULL: ai.onnx */
  int since;                                                /* first opset served */
  typeset types;                                            /* of the first input */
  /* Bit i: the input is read, or the output written, by the host, and lies in host memory: shapes, axes, counts. Bit 31: all from 31 on. */
  uint32_t host_inputs, host_outputs;
  uint32_t inplace;                                         /* as op_def.inplace */
  bool (*supports)(const node *n, const fact *const *in);   /* NULL: all. A node that is not supported runs on the CPU */
  status (*prepare)(prepare_ctx *c, void **out_params);     /* NULL: op_def.prepare, whose params are what `launch` finds */
  void (*dispose)(void *params);                            /* of this row's own prepare */
  /* What `launch` reads that is no input, as prepare laid it out: NULL if there is none. It is copied to the device with the weights, at load. */
  const void *(*tables)(const void *params, size_t *out_bytes);
  status (*specialise)(specialise_ctx *c, void **out_spec); /* scratch_bytes is device memory; data only of constant host inputs */
  void (*dispose_spec)(void *spec);
  status (*launch)(kernel_ctx *k, stream *s);               /* enqueues on s; waits for it only where an output's shape is in device memory */
  const void *data;                                         /* constant of the row, for rows that share functions; found as `data` in every context */
} kernel_row;

/* What the core lends a plugin, and what a plugin gives the core. Both check that the other was built from the same sources. */
typedef struct provider_host {
  size_t size;
  const char *build_id;
  status (*make_status)(ortc_status_code code, const char *format, va_list arguments);
  status (*add_context)(status s, const char *format, va_list arguments);
  status (*at_node)(status s, const char *node);
  status (*out_of_memory)(void);
  void (*release_status)(status s);
  bool (*log_enabled)(ortc_severity severity);
  void (*log)(ortc_severity severity, const char *logid, const char *location, const char *format, ...) PRINTF_LIKE(4, 5);
  void *(*alloc)(size_t bytes);                             /* the heap of base/mem.h */
  void *(*calloc)(size_t count, size_t size);
  void *(*realloc)(void *data, size_t bytes);
  void (*free)(void *data);
} provider_host;

typedef struct provider {
  size_t size;
  const char *build_id;
  const char *name;                                         /* "CUDAExecutionProvider" */
  int (*device_count)(const char **out_why_not);            /* 0 and a reason where there is none */
  const device *(*device_at)(int index);                    /* made on first use; NULL without memory */
  /* Folders, separated by colons, in which it looks first for the vendor's libraries. Before its first use of them. */
  void (*set_library_folders)(const char *folders);
  const kernel_row *const *families;                        /* tables that end with a row whose op is NULL; ends with NULL */
} provider;

/* The plugin's one exported function: NULL if it was not built from the host's sources. */
typedef const provider *(*provider_entry_fn)(const provider_host *host);
#define PROVIDER_ENTRY "ortcore_provider"

/* The plugin in that file, which stays open for good. NULL with the reason in `why_not` if it cannot be used by this build. */
const provider *provider_open(const char *path, char *why_not, size_t capacity);
/* The CUDA plugin beside libortcore.so, opened on first use. NULL with the reason in *out_why_not if it cannot serve here. */
const provider *provider_cuda(const char **out_why_not);
/* CUDA will be the emulated device (libortcore_cuda_emulated.so) in this process, as with ORTCORE_CUDA=emulated in its environment. An error
 * once the real one has been looked for. */
status provider_emulate_cuda(void) MUST_CHECK;
/* The device of that memory; CUDA is opened for it if it was not. The error says why there is none. */
status provider_device(const ortc_memory_info *info, const device **out) MUST_CHECK;
/* In priority order, the CPU last; NULL out of range. */
const char *provider_available(size_t index);
bool provider_is_known(const char *name);
/* The plugin's kernel for a node: the row with the highest `since` that serves its opset, type and facts; NULL if there is none. */
const kernel_row *provider_find_kernel(const provider *p, const node *n, const fact *const *in);

#endif
