"""SessionIOBinding: an IOBinding with the signatures of onnxruntime's native class, for programs that reach for `binding._iobinding`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ortcore._binding import IOBinding
from ortcore._device import OrtDevice
from ortcore.vector import OrtValueVector


class SessionIOBinding:
    """The same binding, whose outputs are an OrtValueVector and whose devices are OrtDevices."""

    def __init__(self, session: Any):
        self._binding: IOBinding = session if isinstance(session, IOBinding) else IOBinding(session)
        self.bind_ortvalue_input = self._binding.bind_ortvalue_input
        self.bind_ortvalue_output = self._binding.bind_ortvalue_output
        self.clear_binding_inputs = self._binding.clear_binding_inputs
        self.clear_binding_outputs = self._binding.clear_binding_outputs
        self.synchronize_inputs = self._binding.synchronize_inputs
        self.synchronize_outputs = self._binding.synchronize_outputs
        self.copy_outputs_to_cpu = self._binding.copy_outputs_to_cpu

    def bind_input(self, name: str, value: Any, element_type: Any = None, shape: Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        """bind_input(name, array), or bind_input(name, device, element_type, shape, buffer_ptr)."""
        if isinstance(value, OrtDevice):
            self._binding.bind_input(name, value, 0, element_type, shape or (), buffer_ptr)  # type: ignore[arg-type]
        else:
            self._binding.bind_cpu_input(name, value)

    def bind_output(self, name: str, device: OrtDevice, element_type: Any = None, shape: Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        """bind_output(name, device), or bind_output(name, device, element_type, shape, buffer_ptr)."""
        self._binding.bind_output(name, device, 0, element_type, shape, buffer_ptr)

    def get_outputs(self) -> OrtValueVector:
        """The bound outputs; the vector follows the binding."""
        return self._binding.get_outputs_as_ortvaluevector()

    def _run(self, session: Any, run_options: Any = None) -> None:
        self._binding._run(session, run_options)
