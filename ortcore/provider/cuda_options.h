/* What a session wants of CUDAExecutionProvider: the options that the core acts on, and those that kernels do. */
#ifndef ORTCORE_PROVIDER_CUDA_OPTIONS_H
#define ORTCORE_PROVIDER_CUDA_OPTIONS_H

#include <ortcore/device/device.h>

typedef enum conv_search { CONV_SEARCH_EXHAUSTIVE, CONV_SEARCH_HEURISTIC, CONV_SEARCH_DEFAULT } conv_search;

typedef struct cuda_options cuda_options;
struct cuda_options {
  int32_t device_id;
  bool has_user_stream;
  void *user_stream;                                        /* a cudaStream_t; NULL is the legacy default stream */
  uint64_t memory_limit;                                    /* of the session's arena, in bytes; 0: none */
  ortc_arena_extend extend_strategy;
  external_memory external;                                 /* alloc NULL: none */
  bool graphs;                                              /* enable_cuda_graph */
  conv_search conv_search;
  bool conv_max_workspace, tf32, prefer_nhwc, cudnn;
};

#endif
