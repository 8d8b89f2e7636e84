"""The names of onnxruntime's native module: errors, native classes, enumerations."""
from __future__ import annotations

from ortcore import *  # noqa: F403
from ortcore import _errors
from ortcore._errors import Error as Error
from ortcore._errors import InvalidInput as InvalidInput
from ortcore._errors import InvalidType as InvalidType
from ortcore._errors import WrongClass as WrongClass
from ortcore._session import NativeSession
from ortcore.devices import get_hardware_devices as get_hardware_devices
from ortcore.enums import ArenaExtendStrategy as ArenaExtendStrategy
from ortcore.options import SessionOptions as SessionOptions
from ortcore.sparse import SparseCooView as SparseCooView
from ortcore.sparse import SparseCsrView as SparseCsrView
from ortcore.vector import OrtValueVector as OrtValueVector

InferenceSession = NativeSession  # type: ignore[assignment,misc]
Fail = _errors.Fail
InvalidArgument = _errors.InvalidArgument
NoSuchFile = _errors.NoSuchFile
NoModel = _errors.NoModel
EngineError = _errors.EngineError
RuntimeException = _errors.RuntimeException
InvalidProtobuf = _errors.InvalidProtobuf
ModelLoaded = _errors.ModelLoaded
NotImplemented = _errors.NotImplemented
InvalidGraph = _errors.InvalidGraph
EPFail = _errors.EPFail
ModelLoadCanceled = _errors.ModelLoadCanceled
ModelRequiresCompilation = _errors.ModelRequiresCompilation
NotFound = _errors.NotFound
OutOfMemory = _errors.OutOfMemory


class DeviceReset(Error):
    """A device was lost. ortcore does not raise it; it is here to be caught."""


kNextPowerOfTwo = ArenaExtendStrategy.kNextPowerOfTwo
kSameAsRequested = ArenaExtendStrategy.kSameAsRequested


def get_default_session_options() -> SessionOptions:
    """A new SessionOptions."""
    return SessionOptions()
