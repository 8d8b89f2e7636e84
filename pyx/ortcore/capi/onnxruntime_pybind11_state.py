"""The names of onnxruntime's native module: errors, native classes, enumerations."""
from __future__ import annotations

from ortcore import *  # noqa: F403
from ortcore import _errors, get_build_info, get_version_string
from ortcore._errors import Error, InvalidType
from ortcore._session import NativeSession as InferenceSession
from ortcore.devices import get_hardware_devices
from ortcore.enums import ArenaExtendStrategy
from ortcore.options import SessionOptions
from ortcore.sparse import SparseCooView, SparseCsrView
from ortcore.vector import OrtValueVector

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


__all__ = [name for name in globals() if not name.startswith("_")]
