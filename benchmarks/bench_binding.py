"""What a call costs beside the computation: nanoseconds of run(), run_with_iobinding() and every bind, next to onnxruntime.

    python benchmarks/bench_binding.py [--rounds 15]

Two models: Identity on four floats, which computes nothing, and a perceptron of two layers; and bound runs of many Identities, the shape of a KV
cache: what checks that no two buffers clash must not grow with the square of their number. Engines take turns within a round; times are
medians over the rounds, the ratio the median of the rounds' ratios. "C loop" is the same bound run without Python, by binding_loop.c, compiled
here; onnxruntime has no headers in its package, so it stands alone.
"""
import argparse
import importlib
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from engines import is_installed

SHAPE = (1, 4)


def model(nodes, initializers=()):
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE)
    graph = helper.make_graph(nodes, "overhead", [value("x")], [value("y")], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def identity():
    return model([helper.make_node("Identity", ["x"], ["y"])])


def perceptron(hidden=16):
    weights = [np.full(s, 0.1, np.float32) for s in ((4, hidden), (hidden,), (hidden, 4), (4,))]
    nodes = [helper.make_node("Gemm", ["x", "w0", "w1"], ["h"]), helper.make_node("Relu", ["h"], ["r"]), helper.make_node("Gemm", ["r", "w2", "w3"], ["y"])]
    return model(nodes, [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])


def many(count):
    names = [(f"x{i}", f"y{i}") for i in range(count)]
    inputs, outputs = ([helper.make_tensor_value_info(pair[side], TensorProto.FLOAT, SHAPE) for pair in names] for side in (0, 1))
    graph = helper.make_graph([helper.make_node("Identity", [x], [y]) for x, y in names], "many", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def make_session(module, data):
    options = module.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return module.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def bound_run(module, data):
    """{what: a run with every input and output bound to an array of its own}"""
    session = make_session(module, data)
    binding, buffers = session.io_binding(), []
    for x, y in zip(session.get_inputs(), session.get_outputs(), strict=True):
        buffers += [np.ones(SHAPE, np.float32), np.empty(SHAPE, np.float32)]
        binding.bind_cpu_input(x.name, buffers[-2])
        binding.bind_output(y.name, "cpu", 0, np.float32, SHAPE, buffers[-1].ctypes.data)
    return {"run_with_iobinding": lambda buffers=buffers: session.run_with_iobinding(binding)}


def calls(module, data):
    """{what: a function without arguments} on one session, everything it needs made beforehand."""
    session = make_session(module, data)
    x, y = np.ones(SHAPE, np.float32), np.empty(SHAPE, np.float32)
    value, feeds = module.OrtValue.ortvalue_from_numpy(x), {"x": x}
    bound = session.io_binding()
    bound.bind_cpu_input("x", x)
    bound.bind_output("y", "cpu", 0, np.float32, SHAPE, y.ctypes.data)
    session.run_with_iobinding(bound)
    other, x_pointer, y_pointer = session.io_binding(), x.ctypes.data, y.ctypes.data
    return {
        "run": lambda: session.run(None, feeds),
        "run_with_iobinding": lambda: session.run_with_iobinding(bound),
        "bind_cpu_input": lambda: other.bind_cpu_input("x", x),
        "bind_ortvalue_input": lambda: other.bind_ortvalue_input("x", value),
        "bind_input (pointer)": lambda: other.bind_input("x", "cpu", 0, np.float32, SHAPE, x_pointer),
        "bind_output (pointer)": lambda: other.bind_output("y", "cpu", 0, np.float32, SHAPE, y_pointer),
        "bind_output (by name)": lambda: other.bind_output("y"),
        "get_outputs": lambda: bound.get_outputs(),
        "copy_outputs_to_cpu": lambda: bound.copy_outputs_to_cpu(),
        "OrtValue from numpy": lambda: module.OrtValue.ortvalue_from_numpy(x),
    }


def measure(engines, calls, data, rounds, number=2000):
    """{what: {engine: [ns of each round]}}"""
    made = {e: calls(importlib.import_module(e), data) for e in engines}
    times = {what: {e: [] for e in engines} for what in made[engines[0]]}
    for _ in range(rounds):
        for what, by_engine in times.items():
            for engine in engines:
                by_engine[engine].append(timeit.timeit(made[engine][what], number=number) / number * 1e9)
    return times


def c_loop(folder):
    """A program that runs a model's binding again and again; None without a C compiler."""
    program, source = Path(folder) / "binding_loop", Path(__file__).with_name("binding_loop.c")
    flags = subprocess.run([sys.executable, "-m", "ortcore", "--cflags", "--libs"], capture_output=True, text=True, check=True).stdout
    try:
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O2", str(source), "-o", str(program), *shlex.split(flags)], check=True)
    except FileNotFoundError:
        return None
    return program


def measure_c(program, data, rounds, number=200_000):
    """ns of each round."""
    path = program.with_name("model.onnx")
    path.write_bytes(data)
    answer = subprocess.run([str(program), str(path), str(rounds), str(number)], capture_output=True, text=True, check=True).stdout
    return [float(line) for line in answer.split()]


def print_times(title, engines, times):
    for what, by_engine in times.items():
        ratio = statistics.median(a / b for a, b in zip(by_engine[engines[0]], by_engine[engines[-1]], strict=True))
        print(f"| {title}: {what} | " + " | ".join(f"{statistics.median(by_engine[e]):,.0f}" for e in engines) + f" | {ratio:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    engines = [e for e in ("ortcore", "onnxruntime") if is_installed(e)]
    print("| call | " + " | ".join(f"{e} ns" for e in engines) + " | ratio |\n|---" + "|---" * (len(engines) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        program = c_loop(folder)
        for title, data in (("Identity", identity()), ("perceptron", perceptron())):
            print_times(title, engines, measure(engines, calls, data, rounds))
            if program:
                print(f"| {title}: C loop | {statistics.median(measure_c(program, data, rounds)):,.0f} |" + " - |" * len(engines), flush=True)
        for count in (16, 64, 256):
            print_times(f"{count} inputs, {count} outputs", engines, measure(engines, bound_run, many(count), rounds, number=200))


if __name__ == "__main__":
    main()
