/* Ranges for NVIDIA's profilers, by NVTX: runs and nodes as Nsight Systems shows them, in a domain named "ortcore".
 *
 * NVTX looks for a profiler once, when it is first called: the library that NVTX_INJECTION64_PATH names. Without one the domain is NULL. */
#include <nvtx3/nvToolsExt.h>
#include <ortcore/provider/cuda/gpu.h>
#include <stdio.h>

static struct { pthread_once_t once; nvtxDomainHandle_t domain; } attached = {.once = PTHREAD_ONCE_INIT};

static void find_profiler(void) { attached.domain = nvtxDomainCreateA("ortcore"); }

static void range_begin(const char *name, const char *detail) {
  char text[256];
  snprintf(text, sizeof text, detail && *detail ? "%.160s (%.80s)" : "%.160s", name, detail);
  nvtxEventAttributes_t range = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE, .messageType = NVTX_MESSAGE_TYPE_ASCII, .message.ascii = text};
  nvtxDomainRangePushEx(attached.domain, &range);
}

static void range_end(void) { nvtxDomainRangePop(attached.domain); }

const range_marks *gpu_marks(const device *d) {
  static const range_marks marks = {range_begin, range_end};
  (void)d;
  pthread_once(&attached.once, find_profiler);
  return attached.domain ? &marks : NULL;
}
