"""The devices that providers run on."""
from __future__ import annotations

from ortcore._device import OrtMemoryInfo
from ortcore._errors import make_error
from ortcore._process import get_available_providers, get_version_string
from ortcore.enums import OrtDeviceMemoryType, OrtHardwareDeviceType


class OrtHardwareDevice:
    """A piece of hardware."""

    def __init__(self, type: OrtHardwareDeviceType, vendor: str, vendor_id: int, device_id: int, metadata: dict[str, str]):
        self.type, self.vendor, self.vendor_id, self.device_id, self.metadata = type, vendor, vendor_id, device_id, metadata


class OrtSyncStream:
    """A stream of a device. There are none on the CPU."""

    def __init__(self) -> None:
        raise make_error(9, "streams are made by a device that has them")

    def get_handle(self) -> int:
        """Address of the device's own stream object."""
        raise NotImplementedError


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
        return None

    def create_sync_stream(self) -> OrtSyncStream:
        """A new stream; an error on the CPU."""
        raise make_error(2, "the CPU has no streams")


def get_hardware_devices() -> list[OrtHardwareDevice]:
    """The hardware that providers could run on."""
    return [OrtHardwareDevice(OrtHardwareDeviceType.CPU, "", 0, 0, {})]


def get_ep_devices() -> list[OrtEpDevice]:
    """The devices of the available providers."""
    return [OrtEpDevice("CPUExecutionProvider", get_hardware_devices()[0])] if "CPUExecutionProvider" in get_available_providers() else []


def register_execution_provider_library(registration_name: str, library_path: str) -> None:
    """Not supported: providers are part of ortcore."""
    raise make_error(1, f"the library '{library_path}' cannot be registered as '{registration_name}': providers are part of ortcore")


def unregister_execution_provider_library(registration_name: str) -> None:
    """Not supported: providers are part of ortcore."""
    raise make_error(1, f"no library is registered as '{registration_name}'")
