"""Devices as onnxruntime's plugin API describes them."""

from __future__ import annotations

from typing import Any

from ortcore import _session
from ortcore._enums import OrtHardwareDeviceType


class OrtHardwareDevice:
    """A piece of hardware."""

    def __init__(self, kind: OrtHardwareDeviceType, vendor: str) -> None:
        self.type, self.vendor = kind, vendor
        self.vendor_id = self.device_id = 0
        self.metadata: dict[str, str] = {}


class OrtEpDevice:
    """A provider on a piece of hardware."""

    def __init__(self, name: str, device: OrtHardwareDevice) -> None:
        self.ep_name, self.ep_vendor, self.device = name, "ortcore", device
        self.ep_metadata = {"version": _session.version()}
        self.ep_options: dict[str, str] = {}

    def memory_info(self, memory_type: Any) -> None:
        """None: the CPU's memory needs no description."""
        return None

    def create_sync_stream(self) -> Any:
        raise RuntimeError("streams can be made for devices other than the CPU only")


def get_hardware_devices() -> list[OrtHardwareDevice]:
    """The hardware that providers of this build can use."""
    return [OrtHardwareDevice(OrtHardwareDeviceType(0), "CPU")]


def get_ep_devices() -> list[OrtEpDevice]:
    """Providers and the hardware they would run on."""
    return [OrtEpDevice("CPUExecutionProvider", get_hardware_devices()[0])]


def register_execution_provider_library(registration_name: str, library_path: str) -> None:
    """Provider libraries of onnxruntime cannot be loaded."""
    from ortcore._exceptions import from_status

    raise from_status(1, f"execution provider libraries of onnxruntime cannot be loaded ({library_path})", "")


def unregister_execution_provider_library(registration_name: str) -> None:
    from ortcore._exceptions import from_status

    raise from_status(1, f"no execution provider library is registered as {registration_name!r}", "")
