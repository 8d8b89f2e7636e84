"""Runs share a budget of threads: one that gets fewer than its session planned for computes the same bits, in the memory that was planned."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import helper as h
from onnx import numpy_helper

import ortcore as ort

from . import models, networks

MOST = 8
random = np.random.default_rng(7)


def floats(*shape, dtype=np.float32):
    return random.standard_normal(shape).astype(dtype)


def codes(*shape, dtype=np.uint8):
    return random.integers(0, 100, shape).astype(dtype)


def one_node(op, inputs, outputs=("y",), constants=(), **attributes):
    """A model of one node, and its feed; inputs by number in `constants` are initializers."""
    names = [f"i{k}" if x is not None else "" for k, x in enumerate(inputs)]
    feed = {names[k]: x for k, x in enumerate(inputs) if x is not None and k not in constants}
    given = [h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in feed.items()]
    weights = [numpy_helper.from_array(inputs[k], names[k]) for k in constants]
    graph = h.make_graph([h.make_node(op, names, outputs, **attributes)], op, given, [h.make_empty_tensor_value_info(y) for y in outputs], weights)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9).SerializeToString(), feed


ZERO = np.array(7, np.uint8)
CASES = {
    "MatMul": one_node("MatMul", [floats(40, 96), floats(96, 500)]),
    "MatMul of doubles": one_node("MatMul", [floats(40, 96, dtype=np.float64), floats(96, 500, dtype=np.float64)]),
    "MatMul of halves": one_node("MatMul", [floats(9, 96, dtype=np.float16), floats(96, 500, dtype=np.float16)]),
    "MatMul of a row": one_node("MatMul", [floats(1, 700), floats(700, 900)]),
    "MatMul of many": one_node("MatMul", [floats(12, 20, 30), floats(12, 30, 40)]),
    "MatMul of ints": one_node("MatMul", [codes(40, 96, dtype=np.int32), codes(96, 500, dtype=np.int32)]),
    "Gemm": one_node("Gemm", [floats(4, 96), floats(900, 96), floats(900)], constants=(1, 2), transB=1),
    "MatMulInteger": one_node("MatMulInteger", [codes(9, 64), codes(64, 700), ZERO]),
    "Conv to few": one_node("Conv", [floats(1, 96, 13, 13), floats(1, 96, 1, 1)], constants=(1,)),
    "Conv to four": one_node("Conv", [floats(1, 96, 13, 13), floats(4, 96, 1, 1)], constants=(1,)),
    "Conv of 3 x 3": one_node("Conv", [floats(1, 32, 28, 28), floats(32, 32, 3, 3)], constants=(1,), pads=[1] * 4),
    "Conv of doubles": one_node("Conv", [floats(1, 32, 20, 20, dtype=np.float64), floats(8, 32, 3, 3, dtype=np.float64)]),
    "Conv by groups": one_node("Conv", [floats(1, 32, 28, 28), floats(32, 1, 3, 3)], constants=(1,), group=32),
    "ConvTranspose": one_node("ConvTranspose", [floats(1, 8, 20, 20), floats(8, 4, 3, 3)]),
    "ConvInteger": one_node("ConvInteger", [codes(1, 8, 20, 20), codes(4, 8, 3, 3)]),
    "LSTM": one_node("LSTM", [floats(12, 3, 40), floats(1, 128, 40), floats(1, 128, 32)], ("y", "h", "c"), constants=(1, 2), hidden_size=32),
    "GRU": one_node("GRU", [floats(12, 3, 40), floats(1, 96, 40), floats(1, 96, 32)], ("y", "h"), constants=(1, 2), hidden_size=32),
    "TopK": one_node("TopK", [floats(40, 3000), np.array([7])], ("values", "indices")),
    "ReduceSum": one_node("ReduceSum", [floats(3, 40000)], keepdims=0),
    "ReduceSum of all": one_node("ReduceSum", [floats(200000)]),
    "Softmax": one_node("Softmax", [floats(3, 50000)]),
    "LayerNormalization": one_node("LayerNormalization", [floats(3, 50000), floats(50000)]),
    "InstanceNormalization": one_node("InstanceNormalization", [floats(1, 3, 200, 200), floats(3), floats(3)]),
    "Resize": one_node("Resize", [floats(1, 3, 40, 40), None, np.array([1, 1, 2.5, 2.5], np.float32)], mode="cubic"),
    "DFT": one_node("DFT", [floats(9, 1000, 1)]),
    "Einsum": one_node("Einsum", [floats(6, 40, 50), floats(6, 50, 300)], equation="bij,bjk->bik"),
    "CumSum": one_node("CumSum", [floats(300, 300), np.array(0)]),
    "a residual network": (networks.resnet(), {"x": floats(2, 3, 32, 32)}),
    "a transformer": (networks.bert_tiny(), {"ids": random.integers(0, 1000, (1, 24))}),
    "a perceptron": (networks.mlp(512, 1024, 512), {"x": floats(16, 512)}),
}


@pytest.fixture
def budget():
    before = ort.get_thread_budget()
    yield ort.set_thread_budget
    ort.set_thread_budget(before)


@pytest.mark.parametrize("case", CASES)
def test_fewer_threads_than_planned(case, budget):
    model, feed = CASES[case]
    options = ort.SessionOptions()
    options.intra_op_num_threads = MOST
    budget(MOST)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    want = session.run(None, feed)
    for threads in (MOST, 5, 3, 2, 1, MOST):
        budget(threads)
        for _ in range(2):
            assert [y.tobytes() for y in session.run(None, feed)] == [y.tobytes() for y in want]


def test_the_model_of_a_run_beside_another(budget):
    """As above, but the budget is spent by a run in progress: the allocator of its output holds it."""
    budget(2)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    model, feed = CASES["Conv to few"]
    session, other = (ort.InferenceSession(m, options) for m in (model, models.identity()))
    want, got = session.run(None, feed), []
    binding = other.io_binding()
    binding["x"] = np.ones(4, np.float32)

    def allocate(shape, dtype, size):
        got.append(session.run(None, feed))
        return np.empty(shape, dtype)

    binding.bind_output("y", allocator=allocate)
    other.run_with_iobinding(binding)
    assert np.array_equal(got[0][0], want[0])


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_helpers_stay_off_the_core_of_their_caller():
    """Where another program keeps a core busy, two spinning threads of a team on the other one would take turns of milliseconds at every loop."""
    program = """if True:
        import os, pathlib
        import ortcore as ort
        from python.test_threads import CASES
        model, feed = CASES["MatMul"]
        options = ort.SessionOptions()
        options.intra_op_num_threads = 2
        ort.set_thread_budget(2)
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        before = set(os.listdir("/proc/self/task"))
        cores = os.sched_getaffinity(0)
        for _ in range(20):
            session.run(None, feed)
        made = set(os.listdir("/proc/self/task")) - before
        assert os.sched_getaffinity(0) == cores            # the caller itself goes where it likes
        print(len(cores), *(len(os.sched_getaffinity(int(thread))) for thread in made))
        """
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}).stdout
    cores, *helpers = map(int, output.split())
    if not helpers:
        pytest.skip("this build has no threads")
    assert helpers == [cores - 1]
