# cython: language_level=3, freethreading_compatible=True, auto_pickle=False
"""Statuses of the C library as exceptions.

The classes are generated from the table in ortcore.h. They have onnxruntime's names, and each derives from `RuntimeError` and from the
builtin that fits (`NoSuchFile` is a `FileNotFoundError`), so that code written for either spelling catches them.
"""
import operator

from ortcore._capi cimport ortc_status, ortc_status_get_code, ortc_status_get_message, ortc_status_get_node, ortc_status_release

cdef extern from *:
    """
    #include "ortcore.h"
    static const struct status_row { int code; const char *name, *python_class, *builtin; } status_rows[] = {
    #define STATUS_ROW(name, number, python_class, builtin) {number, #name, #python_class, #builtin},
      ORTC_STATUS_CODES(STATUS_ROW)
    #undef STATUS_ROW
      {0, 0, 0, 0}
    };
    """
    struct status_row:
        int code
        const char *name
        const char *python_class
        const char *builtin
    const status_row status_rows[1]


class Error(RuntimeError):
    """What all of ortcore's errors are.

    Attributes:
        code: the status code, an int; names and numbers are onnxruntime's.
        node: name of the node of the model that failed, or "".
    """

    code = 0
    node = ""

    def __str__(self):
        return str(self.args[0]) if self.args else ""


cdef dict code_names = {}
cdef dict classes = {}


def _make_classes():
    import builtins
    cdef size_t i = 0
    while status_rows[i].code:
        name = status_rows[i].python_class.decode()
        builtin = getattr(builtins, status_rows[i].builtin.decode())
        bases = (Error,) if builtin is RuntimeError else (Error, builtin)
        code_names[status_rows[i].code] = status_rows[i].name.decode()
        classes[status_rows[i].code] = type(name, bases, {"code": status_rows[i].code, "__module__": "ortcore.capi.onnxruntime_pybind11_state",
                                                          "__doc__": f"Status {status_rows[i].code}, {status_rows[i].name.decode()}."})
        i += 1


_make_classes()
globals().update({cls.__name__: cls for cls in classes.values()})

InvalidArgument = classes[2]


class InvalidType(InvalidArgument, TypeError):
    """An object that cannot stand for the value wanted: its Python type or its dtype does not fit."""

    __module__ = "ortcore.capi.onnxruntime_pybind11_state"


class InvalidInput(InvalidArgument, classes[1]):
    """What was fed, or reaches a node, does not fit: a size, an index, a value that is missing. onnxruntime says Fail or InvalidArgument, by kernel."""

    __module__ = "ortcore.capi.onnxruntime_pybind11_state"


class WrongClass(TypeError, AttributeError):
    """An argument of the wrong Python class. In onnxruntime it is an AttributeError, from inside the wrapper."""

    __module__ = "ortcore.capi.onnxruntime_pybind11_state"


def error_classes():
    """{code: class} of all codes of the C library."""
    return dict(classes)


def make_error(code, message):
    """An exception as the C library would raise it; for checks made in Python."""
    return classes[code](f"[ONNXRuntimeError] : {code} : {code_names[code]} : {message}")


def whole_number(value, what, least, most):
    """`value` as an int, which must be from `least` to `most`; the error names the argument by `what`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidType(f"{what} must be an int, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise InvalidType(f"{what} is {number}; it must be from {least} to {most}")
    return number


def list_of(values, what):
    """A list of the items of any iterable but text; the error names the argument by `what`."""
    if isinstance(values, (str, bytes)):
        raise InvalidType(f"{what} must be a list, not the {type(values).__name__} {values!r}")
    try:
        return list(values)
    except TypeError:
        raise InvalidType(f"{what} must be a list, not {type(values).__name__}") from None


def bytes_like(buffer, what):
    """A view of its bytes, which holds it; the error names the argument by `what`."""
    try:
        return memoryview(buffer)
    except TypeError:
        raise InvalidType(f"{what} must be bytes-like, not {type(buffer).__name__}") from None


def pair_of_ints(pair, what):
    """A device or a version as DLPack has them; the error names the argument by `what`."""
    try:
        first, second = pair
        return operator.index(first), operator.index(second)
    except (TypeError, ValueError):
        raise InvalidType(f"{what} must be a pair of ints, not {pair!r}") from None


def refuse_shape(shape, most_rank):
    """Raises what is wrong with a shape."""
    try:
        dims = list(shape)
    except TypeError:
        raise InvalidType(f"a shape is a sequence of ints, not {type(shape).__name__}") from None
    if len(dims) > most_rank:
        raise InvalidType(f"a shape of rank {len(dims)}; ortcore's tensors have at most {most_rank}")
    for i, dim in enumerate(dims):
        whole_number(dim, f"dim {i} of a shape", -2**63, 2**63 - 1)


cdef object raise_status(ortc_status *status, str binding_step, bint fed):
    """Raises `status` and releases it. `binding_step` replaces the code in the text, as onnxruntime's bindings have it; `fed`: by what was fed."""
    code = ortc_status_get_code(status)
    message = ortc_status_get_message(status).decode("utf-8", "replace")
    node = ortc_status_get_node(status).decode("utf-8", "replace")
    ortc_status_release(status)
    if binding_step is None:
        text = f"[ONNXRuntimeError] : {code} : {code_names[code]} : {message}"
    else:
        text = f"{binding_step}: {message}"
    error = (InvalidInput if (node or fed) and classes[code] is InvalidArgument else classes[code])(text)
    error.node = node
    raise error
