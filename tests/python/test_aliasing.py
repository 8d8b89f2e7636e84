"""Bound buffers that overlap each other, or that a model passes through."""
import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper as h

from . import models

A = np.arange(6, dtype=np.float32).reshape(3, 2)
B = np.ones((3, 2), np.float32)


@pytest.fixture
def bound(cpu_session):
    """A session of c = a + b and a binding whose inputs are A and B."""
    session = cpu_session(models.add())
    binding = session.io_binding()
    binding["a"], binding["b"] = A, B
    return session, binding


    nodes = [h.make_node("MatMul", ["a", "b"], ["c"])]
    square = [models.value(n, P.FLOAT, [2, 2]) for n in "ab"]
    session = cpu_session(models.model(nodes, square, [models.value("c", P.FLOAT, [2, 2])]))
    binding, a = session.io_binding(), np.array([[1, 2], [3, 4]], np.float32)
    binding["a"], binding["b"], binding["c"] = a, a, a
    with pytest.raises(RuntimeError, match="c"):
        session.run_with_iobinding(binding)
    assert a.tolist() == [[1, 2], [3, 4]]


def test_elementwise_in_place(bound):
    session, binding = bound
    a = A.copy()
    binding["a"], binding["c"] = a, a
    for k in range(1, 4):
        session.run_with_iobinding(binding)
        assert a.tolist() == (A + k).tolist()


def test_two_outputs_cannot_share_memory(cpu_session):
    session = cpu_session(models.two_outputs())
    binding, output = session.io_binding(), np.zeros((3, 2), np.float32)
    binding["a"], binding["b"], binding["total"], binding["product"] = A, B, output, output
    with pytest.raises(RuntimeError, match="total|product"):
        session.run_with_iobinding(binding)


def test_a_passed_through_input_is_copied_into_the_output(cpu_session):
    session = cpu_session(models.passthrough())
    binding, x, output = session.io_binding(), np.array([1, 2], np.float32), np.zeros(2, np.float32)
    binding.bind_cpu_input("x", x)
    binding.bind_output("x", "cpu", 0, np.float32, [2], output.ctypes.data)
    session.run_with_iobinding(binding)
    assert output.tolist() == [1, 2] and binding.get_outputs()[0].data_ptr() == output.ctypes.data


def test_an_output_may_become_an_input(bound):
    session, binding = bound
    binding.bind_output("c")
    session.run_with_iobinding(binding)
    first = binding.get_outputs()[0]
    binding.bind_ortvalue_input("a", first)
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].numpy().tolist() == (A + B + B).tolist() and first.numpy().tolist() == (A + B).tolist()


COUNT, WIDTH = 12, 4


@pytest.fixture
def negate(cpu_session):
    """A session of y0 = -x0 … y11 = -x11, each float32 [4], and its binding."""
    names = [(f"x{i}", f"y{i}") for i in range(COUNT)]
    vectors = [[models.value(pair[side], P.FLOAT, [WIDTH]) for pair in names] for side in (0, 1)]
    session = cpu_session(models.model([h.make_node("Neg", [x], [y]) for x, y in names], *vectors))
    return session, session.io_binding()


def test_any_layout_of_many_buffers(negate):
    """Whatever a run accepts it computes as if nothing overlapped; whatever it refuses it leaves alone; without overlaps it accepts."""
    session, binding = negate
    random, refused = np.random.default_rng(1), 0
    for trial in range(300):
        arena = random.standard_normal(COUNT * WIDTH * 4).astype(np.float32)
        if trial % 3 == 0:                                 # apart, in any order
            starts = random.permutation(2 * COUNT) * WIDTH
        elif trial % 3 == 1:                               # outputs over inputs of the same or another number
            starts = np.concatenate([np.arange(COUNT) * WIDTH, np.arange(COUNT) * WIDTH])
            swapped = random.integers(0, COUNT, 2)
            starts[COUNT + swapped] = starts[COUNT + swapped[::-1]]
        else:                                              # anywhere
            starts = random.integers(0, len(arena) - WIDTH, 2 * COUNT)
        buffers = [arena[start:start + WIDTH] for start in starts]
        for i in range(COUNT):
            binding[f"x{i}"], binding[f"y{i}"] = buffers[i], buffers[COUNT + i]
        expected, before = [-buffers[i] for i in range(COUNT)], arena.copy()
        try:
            session.run_with_iobinding(binding)
        except RuntimeError as error:
            assert trial % 3 and "overlap" in str(error) and np.array_equal(arena, before)
            refused += 1
        else:
            assert all(np.array_equal(buffers[COUNT + i], expected[i]) for i in range(COUNT))
    assert refused > 100


def test_results_are_never_overwritten_once_they_are_inputs(negate):
    """A chain through the engine's own memory: a result that has become an input keeps its contents."""
    session, binding = negate
    random = np.random.default_rng(2)
    inputs = [random.standard_normal(WIDTH).astype(np.float32) for _ in range(COUNT)]
    for i in range(COUNT):
        binding[f"x{i}"] = inputs[i]
        binding.bind_output(f"y{i}")
    for _ in range(50):
        session.run_with_iobinding(binding)
        results = binding.get_outputs()
        assert all(np.array_equal(y.numpy(), -x) for x, y in zip(inputs, results, strict=True))
        for i in random.permutation(COUNT)[:5]:
            result = results[random.integers(COUNT)]
            inputs[i] = result.numpy().copy()
            binding.bind_ortvalue_input(f"x{i}", result)


def test_a_loop_may_carry_the_number_of_its_iteration(cpu_session):
    """The memory that the number is in has the next one soon; what is carried is the one before."""
    body = h.make_graph([h.make_node("Identity", ["before"], ["seen"])], "body",
                        [models.value("i", P.INT64, []), models.value("c", P.BOOL, []), models.value("before", P.INT64, [])],
                        [models.value("c", P.BOOL, []), models.value("i", P.INT64, []), models.value("seen", P.INT64, [])])
    session = cpu_session(models.model([h.make_node("Loop", ["n", "", "first"], ["last", "all"], body=body)],
                                       [models.value("n", P.INT64, []), models.value("first", P.INT64, [])],
                                       [models.value("last", P.INT64, []), models.value("all", P.INT64, ["t"])]))
    last, every = session.run(None, {"n": np.array(4), "first": np.array(-1)})
    assert last == 3 and every.tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize("trips", [1, 2])
def test_a_loop_may_carry_the_condition_of_its_iteration(cpu_session, trips):
    """The memory that the condition is in has the next one soon; what is carried is the one before, also out of the loop."""
    body = h.make_graph([h.make_node("Less", ["i", "end"], ["go_on"])], "body",
                        [models.value("i", P.INT64, []), models.value("c", P.BOOL, []), models.value("before", P.BOOL, [])],
                        [models.value("go_on", P.BOOL, []), models.value("c", P.BOOL, []), models.value("before", P.BOOL, [])])
    session = cpu_session(models.model([h.make_node("Loop", ["", "", "first"], ["last", "all"], body=body)],
                                       [models.value("end", P.INT64, []), models.value("first", P.BOOL, [])],
                                       [models.value("last", P.BOOL, []), models.value("all", P.BOOL, ["t"])]))
    last, every = session.run(None, {"end": np.array(trips - 1), "first": np.array(False)})
    assert last and every.tolist() == [False, True][:trips]


def test_a_scan_may_carry_its_slice(cpu_session):
    """Slices along another axis than the first are gathered, each where the one before was."""
    body = h.make_graph([h.make_node("Identity", ["before"], ["seen"])], "body", [models.value("before", P.FLOAT, [3]), models.value("x", P.FLOAT, [3])],
                        [models.value("x", P.FLOAT, [3]), models.value("seen", P.FLOAT, [3])])
    session = cpu_session(models.model([h.make_node("Scan", ["first", "a"], ["last", "all"], body=body, num_scan_inputs=1, scan_input_axes=[1])],
                                       [models.value("first", P.FLOAT, [3]), models.value("a", P.FLOAT, [3, 2])],
                                       [models.value("last", P.FLOAT, [3]), models.value("all", P.FLOAT, ["t", 3])]))
    first = np.full(3, -1, np.float32)
    last, every = session.run(None, {"first": first, "a": A})
    assert last.tolist() == A[:, 1].tolist() and every.tolist() == [first.tolist(), A[:, 0].tolist()]
