/* CUDA's errors as statuses that say what was done, to which GPU, and what can be done about it. */
#include <ortcore/provider/cuda/gpu.h>

/* What the error's own text does not tell. A lost error is one after which CUDA answers every call of this process with the same error. */
static const struct { cudaError_t error; bool lost; const char *advice; } known[] = {
  {cudaErrorMemoryAllocation, false, "Release what is not needed, lower gpu_mem_limit of other sessions, or run smaller batches."},
  {cudaErrorInvalidDevice, false, "device_id counts the GPUs that CUDA shows to this process; CUDA_VISIBLE_DEVICES hides and renumbers them."},
  {cudaErrorNoKernelImageForDevice, false, "This GPU is older than compute capability 8.0, which the kernels need."},
  {cudaErrorUnsupportedPtxVersion, false, "The driver is older than the compiler of these kernels: update the NVIDIA driver."},
  {cudaErrorInvalidResourceHandle, false, "A stream or event was destroyed, or belongs to another device or context."},
  {cudaErrorStreamCaptureUnsupported, false, "A stream that is being captured into a CUDA graph cannot do this: finish the capture first."},
  {cudaErrorStreamCaptureInvalidated, false, "An earlier operation during the capture was not allowed, and the CUDA graph is void."},
  {cudaErrorStreamCaptureImplicit, false, "Work on the legacy default stream cannot be captured: use a stream of your own."},
  {cudaErrorStreamCaptureWrongThread, false, "A capture must be ended by the thread that began it."},
  {cudaErrorIllegalAddress, true, "A kernel accessed memory that is not there: memory that was bound by its pointer and freed too early is the usual reason."},
  {cudaErrorMisalignedAddress, true, "A kernel accessed memory at an address that is not a multiple of the element's size."},
  {cudaErrorLaunchTimeout, true, "A kernel ran longer than the display driver or the debugger allows."},
  {cudaErrorLaunchFailure, true, "A kernel failed while it ran; compute-sanitizer names the place."},
  {cudaErrorAssert, true, "A kernel of some library in this process failed an assertion."},
  {cudaErrorHardwareStackError, true, NULL},
  {cudaErrorIllegalInstruction, true, NULL},
  {cudaErrorInvalidAddressSpace, true, NULL},
  {cudaErrorInvalidPc, true, NULL},
  {cudaErrorECCUncorrectable, true, "The memory of this GPU is faulty or it must be reset."},
  {cudaErrorNvlinkUncorrectable, true, NULL},
  {cudaErrorContextIsDestroyed, true, "Somebody destroyed the device's context, for example by cudaDeviceReset()."},
  {cudaErrorDevicesUnavailable, false, "Another process may hold this GPU exclusively."},
  {cudaErrorCudartUnloading, false, "The process is ending."},
};

static status explain(const char *where, cudaError_t error, const char *what) {
  (void)cudaGetLastError();
  const char *advice = NULL;
  bool lost = false;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (known[i].error != error) continue;
    advice = known[i].advice;
    lost = known[i].lost;
  }
  ortc_status_code code = error == cudaErrorMemoryAllocation ? ORTC_OUT_OF_MEMORY : ORTC_EP_FAIL;
  return status_make(code, "%s%s%s: %s (CUDA error %d, %s)%s%s%s", where ? where : "", where ? ": " : "", what, cudaGetErrorString(error), (int)error,
                     cudaGetErrorName(error), advice ? ". " : "", advice ? advice : "",
                     lost ? " The device is lost to this process: CUDA refuses all further work on it until the process is started again." : "");
}

status cuda_status(int error, const char *what) { return error == cudaSuccess ? OK : explain(NULL, (cudaError_t)error, what); }

status gpu_status(const gpu *g, cudaError_t error, const char *what) { return error == cudaSuccess ? OK : explain(g->title, error, what); }
