"""A small library of device arrays, over the CUDA runtime: what torch or cupy would be to ortcore, where they are not installed.

Arrays offer their address, `__cuda_array_interface__` and DLPack; streams and events have handles as those of other libraries have.
"""
import ctypes
from contextlib import contextmanager
from functools import cache

import numpy as np

import ortcore.cuda
from ortcore.cuda import emulation

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
NON_BLOCKING, NO_TIMING = 1, 2


@cache
def runtime():
    if ortcore.cuda.is_emulated():
        return emulation.library()
    return ctypes.CDLL("libcudart.so.13")


def available():
    try:
        return runtime() is not None
    except OSError:
        return False


def call(name, *arguments):
    error = getattr(runtime(), name)(*arguments)
    assert error == 0, f"{name}: CUDA error {error}"


class Stream:
    """As cuda.core's and torch's: with `__cuda_stream__`."""

    def __init__(self, device=0):
        handle = ctypes.c_void_p()
        with on(device):
            call("cudaStreamCreateWithFlags", ctypes.byref(handle), NON_BLOCKING)
        self.handle = handle.value

    def __cuda_stream__(self):
        return 0, self.handle

    def synchronize(self):
        call("cudaStreamSynchronize", ctypes.c_void_p(self.handle))

    def wait(self, event):
        call("cudaStreamWaitEvent", ctypes.c_void_p(self.handle), ctypes.c_void_p(event.handle), 0)

    def record(self):
        return Event(self)


class Event:
    """As cuda.core's: with `handle`."""

    def __init__(self, stream):
        handle = ctypes.c_void_p()
        call("cudaEventCreateWithFlags", ctypes.byref(handle), NO_TIMING)
        self.handle = handle.value
        call("cudaEventRecord", ctypes.c_void_p(self.handle), ctypes.c_void_p(stream.handle))


class on:
    """Makes a device current."""

    def __init__(self, device):
        self.device = device

    def __enter__(self):
        before = ctypes.c_int()
        call("cudaGetDevice", ctypes.byref(before))
        self.before = before.value
        call("cudaSetDevice", self.device)

    def __exit__(self, *exception):
        call("cudaSetDevice", self.before)


# ---- DLPack ---------------------------------------------------------------------------------------------------------

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class ManagedTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", DELETER)]


_exported = {}


@DELETER
def _delete(address):
    _exported.pop(address)


def _capsule(array):
    shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    strides = None if array.strides is None else (ctypes.c_int64 * array.ndim)(*(step // array.dtype.itemsize for step in array.strides))
    tensor = ManagedTensor(array.pointer, 2, array.device, array.ndim, CODES[array.dtype.kind], array.dtype.itemsize * 8, 1, shape, strides, 0, None, _delete)
    _exported[ctypes.addressof(tensor)] = tensor, shape, strides, array
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(ctypes.addressof(tensor), b"dltensor", None)


def exported_count():
    """How many DLPack tensors are still held by somebody."""
    return len(_exported)


# ---- Arrays ---------------------------------------------------------------------------------------------------------

class DeviceArray:
    """An array on a device. `stream` is where it is being written; a consumer that DLPack or the interface names is made to wait for it."""

    def __init__(self, shape, dtype=np.float32, device=0, stream=None):
        pointer = ctypes.c_void_p()
        self.shape, self.dtype, self.device, self.stream, self.strides = tuple(shape), np.dtype(dtype), device, stream, None
        self.ndim, self.nbytes = len(self.shape), int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        with on(device):
            call("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(max(self.nbytes, 1)))
        self.pointer, self.owned = pointer.value, True
        self.asked = []                                    # streams that DLPack consumers named

    def __del__(self):
        if self.owned:
            self.free()

    def free(self):
        self.owned = False
        runtime().cudaFree(ctypes.c_void_p(self.pointer))

    def data_ptr(self):
        return self.pointer

    def fill(self, array):
        """Copies an array there: at once, or enqueued on the array's stream."""
        array = np.ascontiguousarray(array, self.dtype)
        if self.stream is None:
            call("cudaMemcpy", ctypes.c_void_p(self.pointer), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(self.nbytes), HOST_TO_DEVICE)
            call("cudaStreamSynchronize", None)
        else:
            self.source = array
            call("cudaMemcpyAsync", ctypes.c_void_p(self.pointer), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(self.nbytes), HOST_TO_DEVICE,
                 ctypes.c_void_p(self.stream.handle))
        return self

    def numpy(self):
        array = np.empty(self.shape, self.dtype)
        call("cudaMemcpy", ctypes.c_void_p(array.ctypes.data), ctypes.c_void_p(self.pointer), ctypes.c_size_t(self.nbytes), DEVICE_TO_HOST)
        return array


class InterfaceArray(DeviceArray):
    """As numba's and older cupy's."""

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.pointer, False), "strides": self.strides, "version": 3,
                "stream": None if self.stream is None else self.stream.handle}


class DlpackArray(DeviceArray):
    """As torch's and cupy's."""

    def __dlpack_device__(self):
        return 2, self.device

    def __dlpack__(self, *, stream=None):
        self.asked.append(stream)
        if self.stream is not None and stream not in (-1, self.stream.handle):
            event = self.stream.record()
            call("cudaStreamWaitEvent", ctypes.c_void_p(stream), ctypes.c_void_p(event.handle), 0)
        return _capsule(self)


def array(source, kind=DeviceArray, **arguments):
    """The same on the device."""
    source = np.asarray(source)
    return kind(source.shape, source.dtype, **arguments).fill(source)


class Graph:
    """What a stream recorded, to be launched."""

    def launch(self, stream):
        call("cudaGraphLaunch", ctypes.c_void_p(self.handle), ctypes.c_void_p(stream.handle))


@contextmanager
def captured(stream):
    """Work that is enqueued on the stream meanwhile becomes the graph that this gives."""
    graph, recorded, executable = Graph(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cudaStreamBeginCapture", ctypes.c_void_p(stream.handle), 1)     # for this thread
    try:
        yield graph
    finally:
        call("cudaStreamEndCapture", ctypes.c_void_p(stream.handle), ctypes.byref(recorded))
    call("cudaGraphInstantiate", ctypes.byref(executable), recorded, ctypes.c_ulonglong(0))
    graph.handle = executable.value
