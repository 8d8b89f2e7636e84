/* Errors: what they are called, and the last one of a thread. */
#include <emulator/runtime/api.h>
#include <emulator/runtime/devices.h>

namespace emulator {

namespace {

struct error_row {
  cudaError_t code;
  const char *name, *text;
};

const error_row error_rows[] = {
  {cudaSuccess, "cudaSuccess", "no error"},
  {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
  {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
  {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
  {cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "the driver is shutting down"},
  {cudaErrorProfilerDisabled, "cudaErrorProfilerDisabled", "profiler disabled"},
  {cudaErrorProfilerNotInitialized, "cudaErrorProfilerNotInitialized", "profiler not initialized"},
  {cudaErrorProfilerAlreadyStarted, "cudaErrorProfilerAlreadyStarted", "profiler already started"},
  {cudaErrorProfilerAlreadyStopped, "cudaErrorProfilerAlreadyStopped", "profiler already stopped"},
  {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
  {cudaErrorVersionTranslation, "cudaErrorVersionTranslation", "version translation"},
  {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
  {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
  {cudaErrorInvalidHostPointer, "cudaErrorInvalidHostPointer", "invalid host pointer"},
  {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
  {cudaErrorInvalidTexture, "cudaErrorInvalidTexture", "invalid texture"},
  {cudaErrorInvalidTextureBinding, "cudaErrorInvalidTextureBinding", "invalid texture binding"},
  {cudaErrorInvalidChannelDescriptor, "cudaErrorInvalidChannelDescriptor", "invalid channel descriptor"},
  {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
  {cudaErrorAddressOfConstant, "cudaErrorAddressOfConstant", "address of constant"},
  {cudaErrorTextureFetchFailed, "cudaErrorTextureFetchFailed", "texture fetch failed"},
  {cudaErrorTextureNotBound, "cudaErrorTextureNotBound", "texture not bound"},
  {cudaErrorSynchronizationError, "cudaErrorSynchronizationError", "synchronization error"},
  {cudaErrorInvalidFilterSetting, "cudaErrorInvalidFilterSetting", "invalid filter setting"},
  {cudaErrorInvalidNormSetting, "cudaErrorInvalidNormSetting", "invalid norm setting"},
  {cudaErrorMixedDeviceExecution, "cudaErrorMixedDeviceExecution", "mixed device execution"},
  {cudaErrorNotYetImplemented, "cudaErrorNotYetImplemented", "not yet implemented"},
  {cudaErrorMemoryValueTooLarge, "cudaErrorMemoryValueTooLarge", "memory value too large"},
  {cudaErrorStubLibrary, "cudaErrorStubLibrary", "stub library"},
  {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "the CUDA driver is older than the CUDA runtime"},
  {cudaErrorCallRequiresNewerDriver, "cudaErrorCallRequiresNewerDriver", "call requires newer driver"},
  {cudaErrorInvalidSurface, "cudaErrorInvalidSurface", "invalid surface"},
  {cudaErrorDuplicateVariableName, "cudaErrorDuplicateVariableName", "duplicate variable name"},
  {cudaErrorDuplicateTextureName, "cudaErrorDuplicateTextureName", "duplicate texture name"},
  {cudaErrorDuplicateSurfaceName, "cudaErrorDuplicateSurfaceName", "duplicate surface name"},
  {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", "the device is busy or gone"},
  {cudaErrorIncompatibleDriverContext, "cudaErrorIncompatibleDriverContext", "incompatible driver context"},
  {cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration", "a kernel was called without a launch configuration"},
  {cudaErrorPriorLaunchFailure, "cudaErrorPriorLaunchFailure", "prior launch failure"},
  {cudaErrorLaunchMaxDepthExceeded, "cudaErrorLaunchMaxDepthExceeded", "launch max depth exceeded"},
  {cudaErrorLaunchFileScopedTex, "cudaErrorLaunchFileScopedTex", "launch file scoped tex"},
  {cudaErrorLaunchFileScopedSurf, "cudaErrorLaunchFileScopedSurf", "launch file scoped surf"},
  {cudaErrorSyncDepthExceeded, "cudaErrorSyncDepthExceeded", "sync depth exceeded"},
  {cudaErrorLaunchPendingCountExceeded, "cudaErrorLaunchPendingCountExceeded", "launch pending count exceeded"},
  {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
  {cudaErrorNoDevice, "cudaErrorNoDevice", "there is no CUDA device"},
  {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
  {cudaErrorDeviceNotLicensed, "cudaErrorDeviceNotLicensed", "device not licensed"},
  {cudaErrorSoftwareValidityNotEstablished, "cudaErrorSoftwareValidityNotEstablished", "software validity not established"},
  {cudaErrorStartupFailure, "cudaErrorStartupFailure", "startup failure"},
  {cudaErrorInvalidKernelImage, "cudaErrorInvalidKernelImage", "invalid kernel image"},
  {cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "device uninitialized"},
  {cudaErrorMapBufferObjectFailed, "cudaErrorMapBufferObjectFailed", "map buffer object failed"},
  {cudaErrorUnmapBufferObjectFailed, "cudaErrorUnmapBufferObjectFailed", "unmap buffer object failed"},
  {cudaErrorArrayIsMapped, "cudaErrorArrayIsMapped", "array is mapped"},
  {cudaErrorAlreadyMapped, "cudaErrorAlreadyMapped", "already mapped"},
  {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", "the kernel was not compiled for this device"},
  {cudaErrorAlreadyAcquired, "cudaErrorAlreadyAcquired", "already acquired"},
  {cudaErrorNotMapped, "cudaErrorNotMapped", "not mapped"},
  {cudaErrorNotMappedAsArray, "cudaErrorNotMappedAsArray", "not mapped as array"},
  {cudaErrorNotMappedAsPointer, "cudaErrorNotMappedAsPointer", "not mapped as pointer"},
  {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "an uncorrectable ECC error"},
  {cudaErrorUnsupportedLimit, "cudaErrorUnsupportedLimit", "unsupported limit"},
  {cudaErrorDeviceAlreadyInUse, "cudaErrorDeviceAlreadyInUse", "device already in use"},
  {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported", "peer access unsupported"},
  {cudaErrorInvalidPtx, "cudaErrorInvalidPtx", "invalid ptx"},
  {cudaErrorInvalidGraphicsContext, "cudaErrorInvalidGraphicsContext", "invalid graphics context"},
  {cudaErrorNvlinkUncorrectable, "cudaErrorNvlinkUncorrectable", "nvlink uncorrectable"},
  {cudaErrorJitCompilerNotFound, "cudaErrorJitCompilerNotFound", "jit compiler not found"},
  {cudaErrorUnsupportedPtxVersion, "cudaErrorUnsupportedPtxVersion", "unsupported ptx version"},
  {cudaErrorJitCompilationDisabled, "cudaErrorJitCompilationDisabled", "jit compilation disabled"},
  {cudaErrorUnsupportedExecAffinity, "cudaErrorUnsupportedExecAffinity", "unsupported exec affinity"},
  {cudaErrorUnsupportedDevSideSync, "cudaErrorUnsupportedDevSideSync", "unsupported dev side sync"},
  {cudaErrorContained, "cudaErrorContained", "contained"},
  {cudaErrorInsufficientLoaderVersion, "cudaErrorInsufficientLoaderVersion", "insufficient loader version"},
  {cudaErrorInvalidSource, "cudaErrorInvalidSource", "invalid source"},
  {cudaErrorFileNotFound, "cudaErrorFileNotFound", "file not found"},
  {cudaErrorSharedObjectSymbolNotFound, "cudaErrorSharedObjectSymbolNotFound", "shared object symbol not found"},
  {cudaErrorSharedObjectInitFailed, "cudaErrorSharedObjectInitFailed", "shared object init failed"},
  {cudaErrorOperatingSystem, "cudaErrorOperatingSystem", "operating system"},
  {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
  {cudaErrorIllegalState, "cudaErrorIllegalState", "not possible in the present state"},
  {cudaErrorLossyQuery, "cudaErrorLossyQuery", "lossy query"},
  {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
  {cudaErrorNotReady, "cudaErrorNotReady", "not ready yet"},
  {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "a kernel accessed memory that is not there"},
  {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "the launch needs more resources than there are"},
  {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the kernel ran too long and was stopped"},
  {cudaErrorLaunchIncompatibleTexturing, "cudaErrorLaunchIncompatibleTexturing", "launch incompatible texturing"},
  {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
  {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
  {cudaErrorSetOnActiveProcess, "cudaErrorSetOnActiveProcess", "set on active process"},
  {cudaErrorContextIsDestroyed, "cudaErrorContextIsDestroyed", "context is destroyed"},
  {cudaErrorAssert, "cudaErrorAssert", "assert"},
  {cudaErrorTooManyPeers, "cudaErrorTooManyPeers", "too many peers"},
  {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered", "the memory is registered already, or part of it is"},
  {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered", "the memory is not registered"},
  {cudaErrorHardwareStackError, "cudaErrorHardwareStackError", "hardware stack error"},
  {cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction", "a kernel came to an illegal instruction"},
  {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
  {cudaErrorInvalidAddressSpace, "cudaErrorInvalidAddressSpace", "invalid address space"},
  {cudaErrorInvalidPc, "cudaErrorInvalidPc", "invalid pc"},
  {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
  {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "a cooperative launch of more blocks than fit the device"},
  {cudaErrorTensorMemoryLeak, "cudaErrorTensorMemoryLeak", "tensor memory leak"},
  {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
  {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
  {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", "system not ready"},
  {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch", "system driver mismatch"},
  {cudaErrorCompatNotSupportedOnDevice, "cudaErrorCompatNotSupportedOnDevice", "compat not supported on device"},
  {cudaErrorMpsConnectionFailed, "cudaErrorMpsConnectionFailed", "mps connection failed"},
  {cudaErrorMpsRpcFailure, "cudaErrorMpsRpcFailure", "mps rpc failure"},
  {cudaErrorMpsServerNotReady, "cudaErrorMpsServerNotReady", "mps server not ready"},
  {cudaErrorMpsMaxClientsReached, "cudaErrorMpsMaxClientsReached", "mps max clients reached"},
  {cudaErrorMpsMaxConnectionsReached, "cudaErrorMpsMaxConnectionsReached", "mps max connections reached"},
  {cudaErrorMpsClientTerminated, "cudaErrorMpsClientTerminated", "mps client terminated"},
  {cudaErrorCdpNotSupported, "cudaErrorCdpNotSupported", "cdp not supported"},
  {cudaErrorCdpVersionMismatch, "cudaErrorCdpVersionMismatch", "cdp version mismatch"},
  {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "not permitted while a stream captures"},
  {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated", "the capture was spoilt by an error before"},
  {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge", "two captures would become one"},
  {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched", "the capture began on another stream"},
  {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "the capture has work that its first stream does not wait for"},
  {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation", "captured work would depend on work outside the capture"},
  {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit", "the default stream would depend on a stream that captures"},
  {cudaErrorCapturedEvent, "cudaErrorCapturedEvent", "the event was last recorded in a capture"},
  {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread", "the capture was begun by another thread"},
  {cudaErrorTimeout, "cudaErrorTimeout", "timeout"},
  {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure", "the graph differs in more than an update can change"},
  {cudaErrorExternalDevice, "cudaErrorExternalDevice", "external device"},
  {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", "invalid cluster size"},
  {cudaErrorFunctionNotLoaded, "cudaErrorFunctionNotLoaded", "function not loaded"},
  {cudaErrorInvalidResourceType, "cudaErrorInvalidResourceType", "invalid resource type"},
  {cudaErrorInvalidResourceConfiguration, "cudaErrorInvalidResourceConfiguration", "invalid resource configuration"},
  {cudaErrorStreamDetached, "cudaErrorStreamDetached", "stream detached"},
  {cudaErrorGraphRecaptureFailure, "cudaErrorGraphRecaptureFailure", "graph recapture failure"},
  {cudaErrorFabricNotReady, "cudaErrorFabricNotReady", "fabric not ready"},
  {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
  {cudaErrorApiFailureBase, "cudaErrorApiFailureBase", "api failure base"},
};

const error_row *find_row(cudaError_t code) {
  for (const error_row &row : error_rows) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

/* A device that has failed says so each time. */
cudaError_t last_error() {
  device *d = used_device(this_thread.device);
  return d && d->failed ? d->failed : this_thread.last_error;
}

}  // namespace

}  // namespace emulator

using namespace emulator;

const char *cudaGetErrorName(cudaError_t code) {
  const error_row *row = find_row(code);
  return row ? row->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t code) {
  const error_row *row = find_row(code);
  return row ? row->text : "unrecognized error code";
}

cudaError_t cudaPeekAtLastError() {
  call gate("cudaPeekAtLastError", driverless);
  return last_error();
}

cudaError_t cudaGetLastError() {
  call gate("cudaGetLastError", driverless);
  cudaError_t error = last_error();
  this_thread.last_error = cudaSuccess;
  return error;
}
