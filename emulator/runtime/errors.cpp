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
  {cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "driver shutting down"},
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
  {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
  {cudaErrorCallRequiresNewerDriver, "cudaErrorCallRequiresNewerDriver", "call requires newer driver"},
  {cudaErrorInvalidSurface, "cudaErrorInvalidSurface", "invalid surface"},
  {cudaErrorDuplicateVariableName, "cudaErrorDuplicateVariableName", "duplicate variable name"},
  {cudaErrorDuplicateTextureName, "cudaErrorDuplicateTextureName", "duplicate texture name"},
  {cudaErrorDuplicateSurfaceName, "cudaErrorDuplicateSurfaceName", "duplicate surface name"},
  {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
  {cudaErrorIncompatibleDriverContext, "cudaErrorIncompatibleDriverContext", "incompatible driver context"},
  {cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration", "__global__ function call is not configured"},
  {cudaErrorPriorLaunchFailure, "cudaErrorPriorLaunchFailure", "prior launch failure"},
  {cudaErrorLaunchMaxDepthExceeded, "cudaErrorLaunchMaxDepthExceeded", "launch max depth exceeded"},
  {cudaErrorLaunchFileScopedTex, "cudaErrorLaunchFileScopedTex", "launch file scoped tex"},
  {cudaErrorLaunchFileScopedSurf, "cudaErrorLaunchFileScopedSurf", "launch file scoped surf"},
  {cudaErrorSyncDepthExceeded, "cudaErrorSyncDepthExceeded", "sync depth exceeded"},
  {cudaErrorLaunchPendingCountExceeded, "cudaErrorLaunchPendingCountExceeded", "launch pending count exceeded"},
  {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
  {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
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
  {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
  {cudaErrorAlreadyAcquired, "cudaErrorAlreadyAcquired", "already acquired"},
  {cudaErrorNotMapped, "cudaErrorNotMapped", "not mapped"},
  {cudaErrorNotMappedAsArray, "cudaErrorNotMappedAsArray", "not mapped as array"},
  {cudaErrorNotMappedAsPointer, "cudaErrorNotMappedAsPointer", "not mapped as pointer"},
  {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
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
  {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
  {cudaErrorLossyQuery, "cudaErrorLossyQuery", "lossy query"},
  {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
  {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
  {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
  {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
  {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
  {cudaErrorLaunchIncompatibleTexturing, "cudaErrorLaunchIncompatibleTexturing", "launch incompatible texturing"},
  {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
  {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
  {cudaErrorSetOnActiveProcess, "cudaErrorSetOnActiveProcess", "set on active process"},
  {cudaErrorContextIsDestroyed, "cudaErrorContextIsDestroyed", "context is destroyed"},
  {cudaErrorAssert, "cudaErrorAssert", "assert"},
  {cudaErrorTooManyPeers, "cudaErrorTooManyPeers", "too many peers"},
  {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"},
  {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
  {cudaErrorHardwareStackError, "cudaErrorHardwareStackError", "hardware stack error"},
  {cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
  {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
  {cudaErrorInvalidAddressSpace, "cudaErrorInvalidAddressSpace", "invalid address space"},
  {cudaErrorInvalidPc, "cudaErrorInvalidPc", "invalid pc"},
  {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
  {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
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
  {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
  {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
  {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
  {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
  {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
  {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
  {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking stream"},
  {cudaErrorCapturedEvent, "cudaErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
  {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread", "attempt to terminate a thread-local capture sequence from another thread"},
  {cudaErrorTimeout, "cudaErrorTimeout", "timeout"},
  {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"},
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
