"""Inference engines behind one small interface, and a process of its own for each.

A worker reads one JSON request a line and answers with one: {"load": NAME, "threads": N} -> {"version": ..., "counters": {...}},
{"seconds": S} -> {"ms": median, "mean": mean}.
So engines share no thread pool, and a benchmark can hand out short rounds in turn.
"""
import importlib
import importlib.util
import json
import statistics
import subprocess
import sys
import time

from models import select

ENGINES = ("ortcore", "onnxruntime", "openvino")


class OnnxRuntimeLike:
    """ortcore and onnxruntime: everything bound before the clock starts."""

    def __init__(self, name):
        self.module = importlib.import_module(name)
        self.version = self.module.__version__

    def session(self, path, threads, optimise=True):
        options = self.module.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
        level = self.module.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if optimise else level.ORT_DISABLE_ALL
        return self.module.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def prepare(self, model, threads):
        session = self.session(model.path, threads)
        self.feeds = model.feeds(session)                   # the binding reads this memory in every run
        binding = session.io_binding()
        for name, value in self.feeds.items():
            binding.bind_cpu_input(name, value)
        for output in session.get_outputs():
            binding.bind_output(output.name)
        self.counters = lambda: session.stats()["latest"] if hasattr(session, "stats") else {}
        return lambda: session.run_with_iobinding(binding)


class OpenVino:
    """In float32: its default on some CPUs is bfloat16, which is another computation."""

    def __init__(self, name):
        self.module = importlib.import_module(name)
        self.version = self.module.__version__.split("-")[0]

    def prepare(self, model, threads):
        self.feeds = model.feeds(OnnxRuntimeLike("onnxruntime").session(model.path, 1, optimise=False))
        config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
        self.counters = dict
        request = self.module.Core().compile_model(str(model.path), "CPU", config).create_infer_request()
        for name, value in self.feeds.items():
            request.set_tensor(name, self.module.Tensor(value, shared_memory=True))
        return request.infer


def create(name):
    return OpenVino(name) if name == "openvino" else OnnxRuntimeLike(name)


def is_installed(name):
    return importlib.util.find_spec(name) is not None


def timed_round(call, seconds):
    """Milliseconds of calls for about that long, three at least: their median and their mean."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3, statistics.mean(times) * 1e3


class Worker:
    """An engine in another process: a program that answers requests, this one if no other is named."""

    def __init__(self, *command):
        program = command if len(command) > 1 else (__file__, *command)
        self.process = subprocess.Popen([sys.executable, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"the process ended with status {self.process.wait()}"}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve(name):
    engine, call = create(name), None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "load" in request:
                call = engine.prepare(select([request["load"]])[0], request["threads"])
                for _ in range(2):                          # the second run finds its outputs allocated
                    call()
                answer = {"version": engine.version, "counters": engine.counters()}
            else:
                answer = dict(zip(("ms", "mean"), timed_round(call, request["seconds"]), strict=True))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
