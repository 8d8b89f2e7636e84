"""The devices that providers run on."""
from __future__ import annotations

from ortcore._device import OrtMemoryInfo
from ortcore._errors import make_error
from ortcore._process import get_available_providers, get_device_count, get_device_name, get_version_string
from ortcore._stream import OrtSyncStream
from ortcore.enums import OrtAllocatorType, OrtDeviceMemoryType, OrtDeviceVendorId, OrtHardwareDeviceType, OrtMemType

CUDA = "CUDAExecutionProvider"


class OrtHardwareDevice:
    """A piece of hardware."""

    def __init__(self, type: OrtHardwareDeviceType, vendor: str, vendor_id: int, device_id: int, metadata: dict[str, str]):
        self.type, self.vendor, self.vendor_id, self.device_id, self.metadata = type, vendor, vendor_id, device_id, metadata


class OrtEpDevice:
    """A device as one provider uses it."""

    def __init__(self, ep_name: str, device: OrtHardwareDevice):
        self.ep_name = ep_name
        self.ep_vendor = "ortcore"
        self.ep_metadata = {"version": get_version_string()}
        self.ep_options: dict[str, str] = {}
        self.device = device

    def memory_info(self, memory_type: OrtDeviceMemoryType) -> OrtMemoryInfo | None:
        """Where the device's memory of that kind is; None on the CPU, whose memory is everybody's."""
        if self.device.type != OrtHardwareDeviceType.GPU:
            return None
        name, kind = ("Cuda", OrtMemType.DEFAULT) if memory_type == OrtDeviceMemoryType.DEFAULT else ("CudaPinned", OrtMemType.CPU_OUTPUT)
        return OrtMemoryInfo(name, OrtAllocatorType.ORT_DEVICE_ALLOCATOR, self.device.device_id, kind)

    def create_sync_stream(self) -> OrtSyncStream:
        """A new stream; an error on the CPU."""
        if self.device.type != OrtHardwareDeviceType.GPU:
            raise make_error(2, "the CPU has no streams")
        return OrtSyncStream("cuda", self.device.device_id)


def _gpus() -> list[OrtHardwareDevice]:
    count = get_device_count(CUDA) if CUDA in get_available_providers() else 0
    return [OrtHardwareDevice(OrtHardwareDeviceType.GPU, "NVIDIA", int(OrtDeviceVendorId.NVIDIA), i, {"name": get_device_name(CUDA, i) or ""})
            for i in range(count)]


def get_hardware_devices() -> list[OrtHardwareDevice]:
    """The hardware that providers can run on, GPUs first."""
    return [*_gpus(), OrtHardwareDevice(OrtHardwareDeviceType.CPU, "", 0, 0, {})]


def get_ep_devices() -> list[OrtEpDevice]:
    """The devices of the available providers, in the providers' order."""
    return [OrtEpDevice(CUDA if device.type == OrtHardwareDeviceType.GPU else "CPUExecutionProvider", device) for device in get_hardware_devices()]


def register_execution_provider_library(registration_name: str, library_path: str) -> None:
    """Not supported: providers are part of ortcore."""
    raise make_error(1, f"the library '{library_path}' cannot be registered as '{registration_name}': providers are part of ortcore")


def unregister_execution_provider_library(registration_name: str) -> None:
    """Not supported: providers are part of ortcore."""
    raise make_error(1, f"no library is registered as '{registration_name}'")
