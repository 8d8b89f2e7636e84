from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import disjoint_base

from ortcore._binding import IOBinding
from ortcore._options import NativeRunOptions
from ortcore._session import NativeSession
from ortcore._value import OrtValue

@disjoint_base
class SessionBase:
    _sess: NativeSession | None
    def _native(self) -> NativeSession: ...
    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: NativeRunOptions | None = None) -> list[Any]: ...
    def run_with_ort_values(self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, Any],
                            run_options: NativeRunOptions | None = None) -> list[OrtValue]: ...
    def run_with_iobinding(self, iobinding: IOBinding, run_options: NativeRunOptions | None = None) -> None: ...
    def io_binding(self) -> IOBinding: ...
