"""Every argument of the API given something that it cannot be: the error is one of ortcore's own words, which names the argument."""
import re

import numpy as np
import pytest

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import OrtValueVector
from ortcore.options import Setting

from . import models

A = np.ones((3, 2), np.float32)
CPU = ort.OrtDevice.make("cpu", 0)
MODEL = models.add()
WRONG = [2**70, -1, "zz", None, 5.5, object(), [], {}]
# How what Python, numpy and Cython say begins, where nobody looked at the argument.
UNNAMED = re.compile(r"'\w+' object |object of type|object is not|unhashable|int\(\) argument|memoryview:|Python int|can't convert|Cannot convert|"
                     r"invalid literal|expected |an integer is required|must be |unsupported operand|'[<>]=?' not supported|\w+\(\) (takes|missing)")


def make(model=MODEL, **arguments):
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"], enable_fallback=arguments.pop("enable_fallback", 0), **arguments)


SESSION = make()
VALUE = ort.OrtValue.ortvalue_from_numpy(A)
FEED = {"a": A, "b": A}


def bind_input(device="cpu", device_id=0, kind=np.float32, shape=(3, 2), pointer=A.ctypes.data):
    SESSION.io_binding().bind_input("a", device, device_id, kind, shape, pointer)


def sparse(shape=(1,), values=A[0, :1], indices=(0,), device=CPU):
    ort.SparseTensor.sparse_coo_from_numpy(shape, values, indices, device)


def options(call):
    return lambda x: call(ort.SessionOptions(), x)


CALLS = {
    "ortvalue_from_numpy, array": ort.OrtValue.ortvalue_from_numpy,
    "ortvalue_from_numpy, device_type": lambda x: ort.OrtValue.ortvalue_from_numpy(A, x),
    "ortvalue_from_numpy, device_id": lambda x: ort.OrtValue.ortvalue_from_numpy(A, "cpu", x),
    "ortvalue_from_shape_and_type, shape": lambda x: ort.OrtValue.ortvalue_from_shape_and_type(x, np.float32),
    "ortvalue_from_shape_and_type, dim": lambda x: ort.OrtValue.ortvalue_from_shape_and_type([x], np.float32),
    "ortvalue_from_shape_and_type, element_type": lambda x: ort.OrtValue.ortvalue_from_shape_and_type([1], x),
    "ortvalue_from_shape_and_type, memory_info": lambda x: ort.OrtValue.ortvalue_from_shape_and_type([1], 1, memory_info=x),
    "ortvalue_from_numpy_with_onnx_type": lambda x: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(A, x),
    "from_dlpack": ort.OrtValue.from_dlpack,
    "update_inplace": lambda x: VALUE.update_inplace(x),
    "__dlpack__, dl_device": lambda x: VALUE.__dlpack__(dl_device=x),
    "__dlpack__, max_version": lambda x: VALUE.__dlpack__(max_version=x),
    "copy_tensors, src": lambda x: ort.copy_tensors(x, [VALUE]),
    "copy_tensors, an item": lambda x: ort.copy_tensors([x], [VALUE]),
    "copy_tensors, stream": lambda x: ort.copy_tensors([VALUE], [VALUE], x),
    "bind_cpu_input, name": lambda x: SESSION.io_binding().bind_cpu_input(x, A),
    "bind_cpu_input, array": lambda x: SESSION.io_binding().bind_cpu_input("a", x),
    "bind_input, device_type": lambda x: bind_input(device=x),
    "bind_input, device_id": lambda x: bind_input(device_id=x),
    "bind_input, element_type": lambda x: bind_input(kind=x),
    "bind_input, shape": lambda x: bind_input(shape=x),
    "bind_input, buffer_ptr": lambda x: bind_input(pointer=x),
    "bind_output, device_type": lambda x: SESSION.io_binding().bind_output("c", x),
    "bind_output, capacity": lambda x: SESSION.io_binding().bind_output("c", capacity=x),
    "bind_output, allocator": lambda x: SESSION.io_binding().bind_output("c", allocator=x),
    "binding[...]": lambda x: SESSION.io_binding()[x],
    "wait_for": lambda x: SESSION.io_binding().wait_for(x),
    "IOBinding": ort.IOBinding,
    "OrtSyncStream, device": ort.OrtSyncStream,
    "OrtSyncStream, device_id": lambda x: ort.OrtSyncStream("cpu", x),
    "OrtSyncStream.wait_for": lambda x: ort.OrtSyncStream("cpu", 0).wait_for(x),
    "run, output_names": lambda x: SESSION.run(x, FEED),
    "run, an output's name": lambda x: SESSION.run([x], FEED),
    "run, input_feed": lambda x: SESSION.run(None, x),
    "run, an input": lambda x: SESSION.run(None, {"a": x, "b": A}),
    "run, run_options": lambda x: SESSION.run(None, FEED, x),
    "run_async, input_feed": lambda x: SESSION.run_async(None, x, None, None),
    "run_async, callback": lambda x: SESSION.run_async(None, {}, x, None),
    "run_with_iobinding": lambda x: SESSION.run_with_iobinding(x),
    "run_with_ortvaluevector, feed_names": lambda x: SESSION.run_with_ortvaluevector(ort.RunOptions(), x, OrtValueVector(), [], OrtValueVector(), []),
    "run_with_ortvaluevector, feeds": lambda x: SESSION.run_with_ortvaluevector(ort.RunOptions(), [], x, [], OrtValueVector(), []),
    "memory_stats": lambda x: SESSION.memory_stats(x),
    "create_ortvalue_from_shape_and_type": lambda x: SESSION.create_ortvalue_from_shape_and_type([1], 1, x),
    "InferenceSession, model": lambda x: make(x),
    "InferenceSession, providers": lambda x: ort.InferenceSession(MODEL, providers=x, enable_fallback=0),
    "InferenceSession, provider_options": lambda x: make(provider_options=x),
    "InferenceSession, sess_options": lambda x: make(sess_options=x),
    "InferenceSession, enable_fallback": lambda x: make(enable_fallback=x),
    "InferenceSession, disabled_optimizers": lambda x: make(disabled_optimizers=x),
    "InferenceSession, external_data": lambda x: make(external_data=x),
    "InferenceSession, a file of external_data": lambda x: make(external_data={"w": x}),
    "add_provider, name": options(lambda o, x: o.add_provider(x, {})),
    "add_provider, options": options(lambda o, x: o.add_provider("CPUExecutionProvider", x)),
    "add_provider_for_devices": options(lambda o, x: o.add_provider_for_devices(x, {})),
    "add_provider_for_devices, a device": options(lambda o, x: o.add_provider_for_devices([x], {})),
    "add_initializer, name": options(lambda o, x: o.add_initializer(x, VALUE)),
    "add_initializer, value": options(lambda o, x: o.add_initializer("w", x)),
    "add_external_initializers, names": options(lambda o, x: o.add_external_initializers(x, [VALUE])),
    "add_external_initializers, values": options(lambda o, x: o.add_external_initializers(["w"], x)),
    "files in memory, names": options(lambda o, x: o.add_external_initializers_from_files_in_memory(x, [b""], [0])),
    "files in memory, a buffer": options(lambda o, x: o.add_external_initializers_from_files_in_memory(["w"], [x], [0])),
    "files in memory, a length": options(lambda o, x: o.add_external_initializers_from_files_in_memory(["w"], [b""], [x])),
    "free dimension": options(lambda o, x: o.add_free_dimension_override_by_name("N", x)),
    "config entry, key": options(lambda o, x: o.add_session_config_entry(x, "1")),
    "config entry, value": options(lambda o, x: o.add_session_config_entry("k", x)),
    **{f"{cls.__name__}.{name}": lambda x, cls=cls, name=name: setattr(cls(), name, x)
       for cls in (ort.SessionOptions, ort.RunOptions) for name, kind in vars(cls).items() if isinstance(kind, (Setting, property))},
    "OrtValueVector.push_back": lambda x: OrtValueVector().push_back(x),
    "OrtDevice.make": lambda x: ort.OrtDevice.make(x, 0),
    "OrtArenaCfg": lambda x: ort.OrtArenaCfg(x, 0, 0, 0),
    "create_and_register_allocator": lambda x: ort.create_and_register_allocator(x, None),
    "sparse, dense_shape": lambda x: sparse(shape=x),
    "sparse, values": lambda x: sparse(values=x),
    "sparse, indices": lambda x: sparse(indices=x),
    "sparse, device": lambda x: sparse(device=x),
    "set_seed": lambda x: x is None or ort.set_seed(x if x != -1 else None),
    "set_default_logger_severity": lambda x: ort.set_default_logger_severity(x),
    "set_default_logger_callback": lambda x: x is None or ort.set_default_logger_callback(x),
    "set_thread_budget": lambda x: ort.set_thread_budget(x),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", CALLS)
def test_errors_are_ours_and_name_the_argument(call):
    for given in WRONG:
        try:
            CALLS[call](given)
        except (ort.Error, TypeError, ValueError, RuntimeError, LookupError, BufferError, MemoryError) as error:
            assert not UNNAMED.match(str(error)), f"{given!r}: {type(error).__name__}: {error}"
