"""IOBinding: what is bound, where results go, what is refused and when."""
import copy
import pickle
import threading

import numpy as np
import pytest
from onnx import TensorProto as P

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import InvalidArgument, SessionIOBinding

from . import models

A = np.arange(6, dtype=np.float32).reshape(3, 2)
B = np.ones((3, 2), np.float32)
make = ort.OrtValue.ortvalue_from_numpy


@pytest.fixture
def bound(cpu_session):
    """A session of c = a + b and a binding whose inputs are A and B."""
    session = cpu_session(models.add())
    binding = session.io_binding()
    binding.bind_cpu_input("a", A)
    binding.bind_cpu_input("b", B)
    return session, binding


def address(array):
    return array.ctypes.data


# ---- Inputs

def test_every_way_to_bind_inputs(cpu_session):
    session = cpu_session(models.add())
    ways = {
        "cpu_input": lambda b, n, x: b.bind_cpu_input(n, x),
        "pointer": lambda b, n, x: b.bind_input(n, "cpu", 0, np.float32, x.shape, address(x)),
        "keywords": lambda b, n, x: b.bind_input(name=n, device_type="cpu", device_id=0, element_type=np.float32, shape=x.shape, buffer_ptr=address(x)),
        "device": lambda b, n, x: b.bind_input(n, ort.OrtDevice.make("cpu", 0), 0, "float32", list(x.shape), address(x)),
        "ortvalue": lambda b, n, x: b.bind_ortvalue_input(n, make(x)),
        "item": lambda b, n, x: b.__setitem__(n, x),
        "native": lambda b, n, x: b._iobinding.bind_input(n, x),
    }
    for bind in ways.values():
        binding = session.io_binding()
        assert bind(binding, "a", A) is None and bind(binding, "b", B) is None
        binding.bind_output("c")
        assert session.run_with_iobinding(binding) is None
        assert binding.get_outputs()[0].numpy().tolist() == (A + B).tolist()


@pytest.mark.cpu_only
def test_inputs_are_read_in_place_and_anew(bound):
    session, binding = bound
    a = A.copy()
    binding.bind_cpu_input("a", a)
    binding.bind_output("c")
    session.run_with_iobinding(binding)
    a[:] = 100
    session.run_with_iobinding(binding)
    assert (binding.get_outputs()[0].numpy() == 101).all() and session.stats()["total"]["bytes_copied"] == 0


@pytest.mark.cpu_only
@pytest.mark.parametrize("a", [np.asfortranarray(A), A.astype(">f4"), np.repeat(A, 2, axis=1)[:, ::2]], ids=["fortran", "big_endian", "strided"])
def test_other_layouts_are_snapshots_and_counted(bound, a):
    session, binding = bound
    a = a.copy(order="K")
    binding.bind_cpu_input("a", a)
    binding.bind_output("c")
    if not a.flags.c_contiguous or not a.dtype.isnative:
        a[:] = 100
    session.run_with_iobinding(binding)
    assert session.stats()["latest"]["bytes_copied"] in (0, A.nbytes)
    assert binding.get_outputs()[0].numpy().tolist() in ((A + B).tolist(), (a + B).tolist())


@pytest.mark.cpu_only
def test_snapshot_of_a_transposed_array(bound):
    session, binding = bound
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    binding.bind_cpu_input("a", a.T)
    binding.bind_output("c")
    before = (a.T + B).tolist()
    a[:] = 100
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].numpy().tolist() == before and session.stats()["latest"]["bytes_copied"] == A.nbytes


@pytest.mark.parametrize("kind", [np.float32, np.dtype("float32"), "float32", "f4", "tensor(float)", P.FLOAT, 1, np.int64(1)])
def test_spellings_of_element_types(bound, kind):
    _, binding = bound
    binding.bind_input("a", "cpu", 0, kind, [3, 2], address(A))


def test_bad_inputs_are_refused_and_change_nothing(bound):
    session, binding = bound
    binding.bind_output("c")
    pointer = address(A)
    refused = [
        lambda: binding.bind_cpu_input("zz", A),
        lambda: binding.bind_cpu_input("c", A),
        lambda: binding.bind_cpu_input("a", A.astype(float)),
        lambda: binding.bind_cpu_input("a", A[0]),
        lambda: binding.bind_cpu_input("a", np.zeros((3, 3), np.float32)),
        lambda: binding.bind_cpu_input("a", [[1.0, 2.0]]),
        lambda: binding.bind_cpu_input("a", None),
        lambda: binding.bind_cpu_input("a", "text"),
        lambda: binding.bind_ortvalue_input("zz", make(A)),
        lambda: binding.bind_ortvalue_input("a", make(A.astype(float))),
        lambda: binding.bind_input("zz", "cpu", 0, np.float32, [3, 2], pointer),
        lambda: binding.bind_input("a", "cpu", 0, np.float64, [3, 2], pointer),
        lambda: binding.bind_input("a", "cpu", 0, np.float32, [3, 3], pointer),
        lambda: binding.bind_input("a", "cpu", 0, np.float32, [-3, 2], pointer),
        lambda: binding.bind_input("a", "cpu", 0, np.float32, [2**40, 2**40], pointer),
        lambda: binding.bind_input("a", "cpu", 0, np.float32, [3, 2], 0),
        lambda: binding.bind_input("a", "cpu", 0, 99, [3, 2], pointer),
        lambda: binding.bind_input("a", "cpu", 0, "junk", [3, 2], pointer),
        lambda: binding.bind_input("a", "cpu", 0, P.STRING, [3, 2], pointer),
        lambda: binding.bind_input("a", "cuda", 0, np.float32, [3, 2], pointer),
        lambda: binding.bind_input("a", "rocm", 0, np.float32, [3, 2], pointer),
    ]
    for bind in refused:
        with pytest.raises(RuntimeError):
            bind()
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].numpy().tolist() == (A + B).tolist()


def test_arguments_of_wrong_types(bound):
    _, binding = bound
    pointer = address(A)
    for bind in (
        lambda: binding.bind_cpu_input(None, A), lambda: binding.bind_output(5), lambda: binding.bind_output(b"c"),
        lambda: binding.bind_input("a"), lambda: binding.bind_input("a", "cpu", 0, np.float32, [3, 2]),
        lambda: binding.bind_input("a", "cpu", 0, None, [3, 2], pointer), lambda: binding.bind_input("a", "cpu", "0", np.float32, [3, 2], pointer),
        lambda: binding.bind_ortvalue_input("a", A), lambda: binding.bind_ortvalue_output("c", None),
        *(lambda s=s: binding.bind_input("a", "cpu", 0, np.float32, s, pointer) for s in ([3.0, 2], "32", 6, None)),
        *(lambda p=p: binding.bind_input("a", "cpu", 0, np.float32, [3, 2], p) for p in (None, "0", 1.5, -1, 2**64)),
    ):
        with pytest.raises(TypeError):
            bind()


def test_overridable_initializers(cpu_session):
    session = cpu_session(models.overridable())
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.zeros((1, 2), np.float32))
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == [[10, 20]]
    binding.bind_ortvalue_input("W", make(np.array([5, 6], np.float32)))
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == [[5, 6]]
    fixed = cpu_session(models.weighted(np.zeros(2, np.float32))).io_binding()
    with pytest.raises(RuntimeError, match="W"):
        fixed.bind_ortvalue_input("W", make(np.zeros(2, np.float32)))


def test_missing_inputs_are_named(bound):
    session, binding = bound
    binding.bind_output("c")
    binding.clear_binding_inputs()
    binding.bind_cpu_input("a", A)
    with pytest.raises(RuntimeError, match="b"):
        session.run_with_iobinding(binding)


# ---- Outputs

def test_every_way_to_bind_outputs(bound):
    session, binding = bound
    ways = {
        "pointer": lambda o: binding.bind_output("c", "cpu", 0, np.float32, o.shape, address(o)),
        "array": lambda o: binding.bind_output("c", o),
        "ortvalue": lambda o: binding.bind_ortvalue_output("c", make(o)),
        "item": lambda o: binding.__setitem__("c", o),
        "capacity": lambda o: binding.bind_output("c", capacity=o),
        "capacity_pointer": lambda o: binding.bind_output("c", buffer_ptr=address(o), capacity=o.nbytes),
        "native": lambda o: binding._iobinding.bind_output("c", ort.OrtDevice.make("cpu", 0), np.float32, o.shape, address(o)),
    }
    for name, bind in ways.items():
        output = np.zeros((3, 2), np.float32)
        bind(output)
        session.run_with_iobinding(binding)
        assert output.tolist() == (A + B).tolist(), name
        assert binding.get_outputs()[0].data_ptr() == address(output), name
        assert binding.get_outputs()[0].shape() == [3, 2]
    assert len(binding.get_outputs()) == 1


@pytest.mark.cpu_only
def test_results_are_written_without_a_copy(bound):
    session, binding = bound
    output = np.zeros((3, 2), np.float32)
    binding.bind_output("c", output)
    session.run_with_iobinding(binding)
    before = session.stats()["total"]["allocations"]
    session.run_with_iobinding(binding)
    assert session.stats()["latest"]["bytes_copied"] == 0 and session.stats()["total"]["allocations"] == before


def test_engine_memory_stays_put_while_the_shape_does(bound):
    session, binding = bound
    binding.bind_output("c")
    addresses = set()
    for k in range(3):
        binding.bind_cpu_input("a", A * k)
        session.run_with_iobinding(binding)
        addresses.add(binding.get_outputs()[0].data_ptr())
    assert len(addresses) == 1
    for rows in (2, 3, 1):
        binding.bind_cpu_input("a", A[:rows])
        binding.bind_cpu_input("b", B[:rows])
        session.run_with_iobinding(binding)
        assert binding.get_outputs()[0].numpy().tolist() == (A + B)[:rows].tolist()


def test_binding_an_output_anew_leaves_old_results_alone(bound):
    session, binding = bound
    binding.bind_output("c")
    session.run_with_iobinding(binding)
    old = binding.get_outputs()[0]
    binding.bind_cpu_input("a", A + 50)
    binding.bind_output("c")
    session.run_with_iobinding(binding)
    assert old.numpy().tolist() == (A + B).tolist() and old.data_ptr() != binding.get_outputs()[0].data_ptr()


def test_bad_outputs_are_refused(bound):
    session, binding = bound
    output = np.zeros((3, 2), np.float32)
    read_only = output.copy()
    read_only.flags.writeable = False
    pointer = address(output)
    for bind in (
        lambda: binding.bind_output("zz"), lambda: binding.bind_output("a"), lambda: binding.bind_output("c", "CPU"),
        lambda: binding.bind_output("c", "cpu", 0, None, (3, 2), pointer), lambda: binding.bind_output("c", "cpu", 0, np.float32, None, pointer),
        lambda: binding.bind_output("c", "cpu", 0, np.float32, (3, 2), 0), lambda: binding.bind_output("c", "cpu", 0, np.float64, (3, 2), pointer),
        lambda: binding.bind_output("c", "cpu", 0, np.float32, (-3, 2), pointer), lambda: binding.bind_output("c", "cpu", 0, P.STRING, (3, 2), pointer),
        lambda: binding.bind_output("c", read_only), lambda: binding.bind_ortvalue_output("c", make(read_only)),
        lambda: binding.bind_output("c", output.T), lambda: binding.bind_output("c", output.astype(">f4")),
        lambda: binding.bind_ortvalue_output("c", make(np.zeros((3, 2)))),
    ):
        with pytest.raises((RuntimeError, ValueError)):
            bind()
    assert binding.get_outputs() == []
    with pytest.raises(RuntimeError, match="[Aa]t least one output"):
        session.run_with_iobinding(binding)


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (6,), (3, 2, 1)])
def test_a_buffer_of_another_shape_is_refused_untouched(bound, shape):
    session, binding = bound
    output = np.full(16, -7, np.float32)
    with pytest.raises(RuntimeError, match="c"):
        binding.bind_output("c", "cpu", 0, np.float32, shape, address(output))
        session.run_with_iobinding(binding)
    assert (output == -7).all()


@pytest.mark.cpu_only
def test_devices_that_are_not_there(bound):
    session, binding = bound
    for device in ("cuda", "gpu", "npu"):
        binding.bind_output("c", device)
        session.run_with_iobinding(binding)
        assert binding.get_outputs()[0].device_name() == "cpu"


def test_order_and_subsets_of_outputs(cpu_session):
    session = cpu_session(models.two_outputs())
    binding = session.io_binding()
    binding["a"], binding["b"] = A, B
    for name in ("shape", "total", "shape"):
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    shape, total = binding.copy_outputs_to_cpu()
    assert shape.tolist() == [3, 2] and total.tolist() == (A + B).tolist()
    assert binding["total"].numpy().tolist() == total.tolist()
    with pytest.raises(KeyError, match="product"):
        binding["product"]


def test_capacity_tells_the_true_shape(cpu_session):
    session = cpu_session(models.nonzero())
    binding = session.io_binding()
    x, room = np.array([1, 0, 1], np.float32), np.full(8, -1, np.int64)
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", capacity=room)
    for values, expected in (([1, 0, 1], [[0, 2]]), ([1, 1, 1], [[0, 1, 2]])):
        x[:] = values
        session.run_with_iobinding(binding)
        result = binding.get_outputs()[0]
        assert result.numpy().tolist() == expected and result.data_ptr() == address(room)
    binding.bind_output("y", capacity=room[:1])
    with pytest.raises(RuntimeError, match="y"):
        session.run_with_iobinding(binding)


def test_allocators_get_the_final_shape(cpu_session, watch):
    session = cpu_session(models.nonzero())
    binding, calls, made = session.io_binding(), [], []

    def allocate(shape, dtype, size):
        calls.append((shape, dtype, size))
        array, alive = watch(np.full(shape, -1, dtype))
        made.append((address(array), alive))
        return array

    binding.bind_cpu_input("x", np.array([1, 0, 1], np.float32))
    binding.bind_output("y", allocator=allocate)
    session.run_with_iobinding(binding)
    result = binding.get_outputs()[0]
    assert calls == [((1, 2), np.dtype(np.int64), 16)] and result.data_ptr() == made[0][0] and result.numpy().tolist() == [[0, 2]]
    session.run_with_iobinding(binding)
    assert len(calls) == 2 and made[0][1]() and result.numpy().tolist() == [[0, 2]]
    del result
    assert not made[0][1]()
    binding.clear_binding_outputs()
    assert not made[1][1]()


# ---- Runs and results

def test_bindings_of_other_sessions_are_refused(bound, cpu_session):
    _, binding = bound
    binding.bind_output("c")
    with pytest.raises(ValueError, match="another session"):
        cpu_session(models.add()).run_with_iobinding(binding)
    for wrong in (None, 5, A):
        with pytest.raises(TypeError, match="IOBinding"):
            cpu_session(models.add()).run_with_iobinding(wrong)


def test_results_before_the_first_run(bound):
    _, binding = bound
    assert binding.get_outputs() == []
    binding.bind_output("c")
    value, = binding.get_outputs()
    assert not value.has_value() and not value.is_tensor() and not value.is_sparse_tensor() and not value.is_tensor_sequence()
    for question in (value.data_type, value.element_type, value.shape, value.numpy, value.data_ptr, value.device_name, value.tensor_size_in_bytes,
                     value.__dlpack__, value.__dlpack_device__, binding.copy_outputs_to_cpu, lambda: value.update_inplace(A)):
        with pytest.raises(RuntimeError):
            question()


def test_copies_are_fresh_and_views_are_not(bound):
    session, binding = bound
    binding.bind_output("c")
    session.run_with_iobinding(binding)
    copies = binding.copy_outputs_to_cpu() + binding.copy_outputs_to_cpu()
    views = [binding.get_outputs()[0].numpy() for _ in range(2)]
    assert not np.shares_memory(*copies) and np.shares_memory(*views) and not np.shares_memory(copies[0], views[0])
    assert copies[0].flags.writeable and views[0].flags.writeable


def test_the_vector_follows_the_binding(bound):
    session, binding = bound
    binding.bind_output("c")
    vector = binding.get_outputs_as_ortvaluevector()
    assert len(vector) == 1 and not vector[0].has_value()
    session.run_with_iobinding(binding)
    assert vector[0].has_value() and binding._iobinding.get_outputs()[0].data_ptr() == vector[0].data_ptr()
    with pytest.raises(RuntimeError, match="bind"):
        vector.push_back(make(A))
    binding.clear_binding_outputs()
    assert len(vector) == 0


def test_a_failed_run_keeps_earlier_results(bound):
    session, binding = bound
    binding.bind_output("c")
    session.run_with_iobinding(binding)
    binding.bind_cpu_input("a", A[:2])
    with pytest.raises(InvalidArgument):
        session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].numpy().tolist() == (A + B).tolist()


def test_empty_and_scalar_tensors(cpu_session):
    session = cpu_session(models.add())
    binding, empty = session.io_binding(), np.zeros((0, 2), np.float32)
    binding["a"], binding["b"], binding["c"] = empty, empty, empty.copy()
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].shape == (0, 2)
    binding.bind_input("a", "cpu", 0, np.float32, [0, 2], 0)
    session.run_with_iobinding(binding)
    session = cpu_session(models.identity(shape=()))
    binding = session.io_binding()
    binding["x"], binding["y"] = np.array(3, np.float32), np.array(0, np.float32)
    session.run_with_iobinding(binding)
    assert binding["y"].numpy().shape == () and binding["y"].numpy() == 3


def test_strings_sequences_and_optionals(cpu_session):
    session = cpu_session(models.identity(P.STRING))
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.array(["a", "ü"]))
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == ["a", "ü"]
    session = cpu_session(models.sequence_identity())
    binding = session.io_binding()
    binding["x"] = [A, B[0]]
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert [item.tolist() for item in binding.copy_outputs_to_cpu()[0]] == [A.tolist(), B[0].tolist()]
    session = cpu_session(models.optional_has_element())
    binding = session.io_binding()
    binding["x"], binding["y"] = None, None
    session.run_with_iobinding(binding)


def test_staged_outputs_of_every_kind(cpu_session):
    """Computed beside the bound memory, and copied there at the end: numbers and strings, which are counted, into buffers, capacities and allocators."""
    options = ort.RunOptions()
    options.add_run_config_entry("stage_outputs", "1")
    words = np.array([f"a string that is longer than a pointer {i}" for i in range(6)], object)
    session = cpu_session(models.identity(P.STRING))
    source, memory = ort.OrtValue.ortvalue_from_numpy(words), ort.OrtValue.ortvalue_from_numpy(words[::-1].copy())
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", source)
    binding.bind_ortvalue_output("y", memory)
    for _ in range(3):
        session.run_with_iobinding(binding, options)
    del source, binding
    assert memory.numpy().tolist() == words.tolist()
    numbers = cpu_session(models.identity())
    x, room, given = np.arange(5, dtype=np.float32), np.zeros(9, np.float32), []
    for how in ({"capacity": room}, {"allocator": lambda shape, dtype, size: given.append(np.empty(shape, dtype)) or given[-1]}):
        binding = numbers.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_output("y", **how)
        numbers.run_with_iobinding(binding, options)
        assert binding.get_outputs()[0].numpy().tolist() == x.tolist()
    assert room[:5].tolist() == x.tolist() and given[0].tolist() == x.tolist()


def test_small_things(bound, cpu_session):
    session, binding = bound
    assert isinstance(ort.IOBinding(session), ort.IOBinding) and isinstance(ort.SessionIOBinding(session._sess), SessionIOBinding)
    for wrong in (None, 5):
        with pytest.raises(AttributeError):
            ort.IOBinding(wrong)
    for method in (binding.synchronize_inputs, binding.synchronize_outputs, binding.clear_binding_inputs, binding.clear_binding_outputs):
        assert method() is None
    copy.copy(binding)
    for refused in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            refused(binding)
    assert binding._session is session._sess


def test_a_binding_for_each_thread(cpu_session):
    session, wrong = cpu_session(models.add()), []

    def work(k):
        binding = session.io_binding()
        binding["a"], binding["b"] = A * k, B
        binding.bind_output("c")
        for _ in range(50):
            session.run_with_iobinding(binding)
            if not (binding.get_outputs()[0].numpy() == A * k + 1).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
