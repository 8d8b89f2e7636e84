"""Who keeps whom alive: memory is held exactly as long as something needs it."""
import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import OrtValueVector

from . import models

A = np.arange(6, dtype=np.float32).reshape(3, 2)
make = ort.OrtValue.ortvalue_from_numpy


@pytest.fixture
def binding(cpu_session):
    return cpu_session(models.add()).io_binding()


WAYS = {
    "cpu_input": lambda b, x: b.bind_cpu_input("a", x),
    "ortvalue_input": lambda b, x: b.bind_ortvalue_input("a", make(x)),
    "dlpack_input": lambda b, x: b.bind_ortvalue_input("a", ort.OrtValue.from_dlpack(x)),
    "item": lambda b, x: b.__setitem__("a", x),
    "output": lambda b, x: b.bind_output("c", x),
    "ortvalue_output": lambda b, x: b.bind_ortvalue_output("c", make(x)),
    "capacity": lambda b, x: b.bind_output("c", capacity=x),
}


@pytest.mark.parametrize("bind", WAYS.values(), ids=WAYS)
def test_what_is_bound_is_held_until_cleared(binding, watch, bind):
    array, alive = watch(A)
    bind(binding, array)
    del array
    assert alive()
    binding.clear_binding_inputs()
    binding.clear_binding_outputs()
    assert not alive()


@pytest.mark.parametrize("bind", WAYS.values(), ids=WAYS)
def test_binding_anew_lets_go(binding, watch, bind):
    array, alive = watch(A)
    bind(binding, array)
    del array
    bind(binding, A.copy())
    assert not alive()


@pytest.mark.parametrize("bind", WAYS.values(), ids=WAYS)
def test_a_binding_that_goes_lets_go(cpu_session, watch, bind):
    binding = cpu_session(models.add()).io_binding()
    array, alive = watch(A)
    bind(binding, array)
    del array, binding
    assert not alive()


def test_a_refused_bind_holds_nothing(binding, watch):
    for name, shape in (("zz", (3, 2)), ("a", (6,))):
        array, alive = watch(A.reshape(shape))
        with pytest.raises(RuntimeError):
            binding.bind_cpu_input(name, array)
        with pytest.raises(RuntimeError):
            binding.bind_output("zz", capacity=array)
        del array
        assert not alive()


VIEWS = {
    "value": lambda v: v,
    "numpy": lambda v: v.numpy(),
    "asarray": np.asarray,
    "from_dlpack": np.from_dlpack,
    "dlpack_capsule": lambda v: v.__dlpack__(),
    "copy": lambda v: v.__copy__(),
    "native": lambda v: v._ortvalue,
    "again": lambda v: ort.OrtValue(v._ortvalue),
    "imported_again": lambda v: ort.OrtValue.from_dlpack(v),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_hold_the_source(watch, view):
    array, alive = watch(A)
    result = view(make(array))
    del array
    assert alive()
    del result
    assert not alive()


def test_vectors_hold_the_source(watch):
    array, alive = watch(A)
    vector = OrtValueVector()
    vector.push_back(make(array)._ortvalue)
    vector.push_back_batch([array], [array.ctypes.data], [np.float32], [[3, 2]], [ort.OrtDevice.make("cpu", 0)])
    del array
    assert alive() and vector[1].numpy().tolist() == A.tolist()
    del vector
    assert not alive()


def test_outputs_hold_bound_memory(cpu_session, watch):
    session = cpu_session(models.add())
    binding = session.io_binding()
    array, alive = watch(A)
    binding["a"], binding["b"] = A, A
    binding.bind_ortvalue_output("c", make(array))
    del array
    session.run_with_iobinding(binding)
    output = binding.get_outputs()[0]
    del binding, session
    assert alive() and output.numpy().tolist() == (A + A).tolist()
    del output
    assert not alive()


def test_plain_runs_hold_nothing(cpu_session, watch):
    array, alive = watch(A)
    session = cpu_session(models.add())
    result = session.run(None, {"a": array, "b": array})
    values = session.run_with_ort_values(None, {"a": make(array), "b": make(array)})
    del array
    assert not alive() and result[0].tolist() == values[0].numpy().tolist()
    array, alive = watch(A)
    with pytest.raises(RuntimeError):
        session.run(None, {"a": array, "b": array[:1]})
    del array
    assert not alive()


def test_options_and_sessions_hold_initializers(cpu_session, watch):
    weights, alive = watch(np.full(1000, 3, np.float32))
    options = ort.SessionOptions()
    options.add_initializer("W", make(weights))
    del weights
    assert alive()
    session = cpu_session(models.weighted(np.zeros(1000, np.float32)), sess_options=options)
    del options
    assert (session.run(None, {"x": np.zeros(1, np.float32)})[0] == 3).all()
    del session
    assert not alive()


def test_sessions_outlive_their_python_object(cpu_session):
    binding = cpu_session(models.add()).io_binding()
    binding["a"] = A
    output = cpu_session(models.add()).run(None, {"a": A, "b": A})[0]
    assert output.tolist() == (A + A).tolist()


def test_bytearrays_cannot_be_resized_while_used():
    memory = bytearray(np.ones(4, np.float32).tobytes())
    value = make(np.frombuffer(memory, np.float32))
    with pytest.raises(BufferError):
        memory.append(1)
    view = make(memoryview(memory).cast("f"))
    del value
    with pytest.raises(BufferError):
        memory.append(1)
    del view
    memory.append(1)


def test_last_references_dropped_on_other_threads(cpu_session, watch):
    array, alive = watch(A)
    holders = [make(array) for _ in range(100)]
    del array

    def drop():
        while holders:
            holders.pop()

    threads = [threading.Thread(target=drop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not alive()


def test_the_interpreter_may_end_while_memory_is_held():
    code = ("import numpy as np, ortcore as ort\n"
            f"session = ort.InferenceSession({models.add()!r})\n"
            "binding = session.io_binding()\n"
            "class Holder: pass\n"
            "loop = Holder(); loop.loop = loop; loop.value = ort.OrtValue.ortvalue_from_numpy(np.ones((3, 2), np.float32)); loop.binding = binding\n"
            "binding.bind_ortvalue_input('a', loop.value); binding.bind_output('c', allocator=lambda s, d, n: np.zeros(s, d))\n"
            "session.run_async(None, {'a': loop.value, 'b': loop.value}, lambda r, u, e: print(e or 'fine'), None)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "fine", "")


def test_an_allocator_may_refer_to_its_binding(cpu_session):
    """Such a cycle is garbage like any other, whether it was run or not."""
    class Pool:
        def __init__(self, binding):
            self.binding = binding

        def allocate(self, shape, dtype, size):
            assert self.binding is not None
            return np.empty(shape, dtype)

    gc.collect()
    for runs in (0, 2):
        session = cpu_session(models.add())
        binding = session.io_binding()
        pool = Pool(binding)
        binding["a"] = binding["b"] = A
        binding["c"] = pool.allocate
        for _ in range(runs):
            session.run_with_iobinding(binding)
        gone = weakref.ref(pool), weakref.ref(binding)
        del pool, binding
        gc.collect()
        assert [g() for g in gone] == [None, None]


def test_a_binding_stays_as_it_is_while_it_runs(cpu_session):
    """What a run reads and writes must not go away under it."""
    session = cpu_session(models.add())
    binding = session.io_binding()
    changes = {"bind output": lambda: binding.bind_output("c"), "bind input": lambda: binding.bind_cpu_input("a", A),
               "clear inputs": binding.clear_binding_inputs, "clear outputs": binding.clear_binding_outputs,
               "allocator": lambda: binding.__setitem__("c", np.empty)}
    for change in changes.values():
        binding["a"] = binding["b"] = A

        def allocate(shape, dtype, size, change=change):
            with pytest.raises(ValueError, match="running"):
                change()
            return np.empty(shape, dtype)

        binding["c"] = allocate
        session.run_with_iobinding(binding)
        assert binding["c"].numpy().tolist() == (A + A).tolist()
    binding.clear_binding_outputs()
