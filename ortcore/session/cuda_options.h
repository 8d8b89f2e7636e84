/* The options of CUDAExecutionProvider: onnxruntime's names, checked when they are given, read when a session is made. */
#ifndef ORTCORE_SESSION_CUDA_OPTIONS_H
#define ORTCORE_SESSION_CUDA_OPTIONS_H

#include <ortcore/device/device.h>
#include <ortcore/session/options.h>

typedef enum conv_search { CONV_SEARCH_EXHAUSTIVE, CONV_SEARCH_HEURISTIC, CONV_SEARCH_DEFAULT } conv_search;

typedef struct cuda_options {
  int32_t device_id;
  bool has_user_stream;
  void *user_stream;                                        /* a cudaStream_t; NULL is the legacy default stream */
  uint64_t memory_limit;                                    /* of the session's arena, in bytes; 0: none */
  ortc_arena_extend extend_strategy;
  external_memory external;                                 /* alloc NULL: none */
  bool graphs;                                              /* enable_cuda_graph */
  conv_search conv_search;
  bool conv_max_workspace, tf32, prefer_nhwc, cudnn;
} cuda_options;

/* Is that the name of an option, and that a value of it? The error names what there is. */
status cuda_option_check(const char *name, const char *value) MUST_CHECK;
/* What the options say together; those that are not given have their defaults. */
status cuda_options_read(const settings *given, cuda_options *out) MUST_CHECK;
/* Option `index` as it holds, given or by default. False out of range. */
bool cuda_option_at(size_t index, const settings *given, const char **out_name, const char **out_value);

#endif
