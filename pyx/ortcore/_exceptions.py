"""The exception classes: onnxruntime's names, one for each status code of the C ABI.

Each derives from RuntimeError, which onnxruntime raises where bindings are concerned, and from the builtin that fits its meaning, so that
`except RuntimeError`, `except InvalidArgument` and `except ValueError` all catch what their author expects.
"""

from ortcore._status_codes import STATUS_CODES


class OrtcoreError(RuntimeError):
    """Base of all errors that the engine reports. `code` is the status code, `node` the name of the node that failed, or ''."""

    code: int = 1
    node: str = ""

    def __init__(self, message: str = "", node: str = "") -> None:
        super().__init__(message)
        self.node = node

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


def _make_class(status: str, code: int, name: str, builtin: type[BaseException]) -> type[OrtcoreError]:
    bases: tuple[type, ...] = (OrtcoreError,) if issubclass(OrtcoreError, builtin) else (OrtcoreError, builtin)
    text = f"Status {code} ({status}) of the engine."
    return type(name, bases, {"code": code, "status": status, "__doc__": text, "__module__": "ortcore.capi.onnxruntime_pybind11_state"})


CLASSES = {code: _make_class(status, code, name, builtin) for status, code, name, builtin in STATUS_CODES}
BY_NAME = {cls.__name__: cls for cls in CLASSES.values()}


def from_status(code: int, message: str, node: str) -> OrtcoreError:
    """The exception for a status, with onnxruntime's form of text."""
    cls = CLASSES.get(code, CLASSES[1])
    return cls(f"[ONNXRuntimeError] : {code} : {cls.status} : {message}", node)  # type: ignore[attr-defined]
