"""Whole models on a GPU, everything bound to its memory: latency with and without CUDA graphs, beside onnxruntime where it has CUDA too.

    python benchmarks/bench_cuda.py [--models resnet50,bert_base,gpt2_step] [--type float16] [--rounds 7] [--seconds 0.3]
    ORTCORE_CUDA=emulated python benchmarks/bench_cuda.py --rounds 0      # counts kernels and copies; times of the emulated device mean nothing

The networks are made here, with random weights: what they compute means nothing, how much they compute does. Each engine has a process of its own,
and they run short rounds in turn. TFLOP/s are those of products and convolutions over the latency of the whole run; the card's own peaks stand
below, measured with the largest product and the largest copy that the same engine makes.
"""
import argparse
import importlib
import importlib.util
import json
import statistics
import sys

import numpy as np

import networks
from engines import Worker, timed_round

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
ENGINES = {"ortcore": {}, "ortcore, graphs": {"enable_cuda_graph": "1"}, "onnxruntime": {}, "onnxruntime, graphs": {"enable_cuda_graph": "1"}}


def is_available(engine):
    name = engine.split(",")[0]
    return importlib.util.find_spec(name) is not None and CUDA in importlib.import_module(name).get_available_providers()


class BoundRun:
    """A session with all that it reads and writes in the memory of GPU 0."""

    def __init__(self, engine, network, dtype):
        module = importlib.import_module(engine.split(",")[0])
        options = module.SessionOptions()
        options.log_severity_level = 3
        self.session = module.InferenceSession(network.model(dtype).SerializeToString(), options, providers=[(CUDA, ENGINES[engine]), CPU])
        self.binding = self.session.io_binding()
        for name, value in network.feeds(dtype).items():
            self.binding.bind_ortvalue_input(name, module.OrtValue.ortvalue_from_numpy(value, "cuda", 0))
        for output in self.session.get_outputs():           # graphs of onnxruntime need outputs that stay where they are
            value = module.OrtValue.ortvalue_from_shape_and_type(output.shape, networks.numpy_type(output.type), "cuda", 0)
            self.binding.bind_ortvalue_output(output.name, value)
        for _ in range(4):                                  # shapes, algorithms, graphs
            self()

    def __call__(self):
        self.session.run_with_iobinding(self.binding)

    def counters(self):
        """Of one run in the steady state. The emulated device counts kernels itself, those inside of graphs included."""
        if not hasattr(self.session, "stats"):
            return {}
        from ortcore.cuda import emulation, is_emulated

        if not is_emulated():
            return self.session.stats()["latest"]
        emulation.clear()
        self()
        return self.session.stats()["latest"] | {"launches": emulation.counters()["launches"]}


def serve(engine):
    run = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "network" in request:
                run = BoundRun(engine, networks.NETWORKS[request["network"]], np.dtype(request["type"]))
                answer = {"counters": run.counters()}
            else:
                answer = {"ms": timed_round(run, request["seconds"])[0]}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        print(json.dumps(answer), flush=True)


def measure(name, dtype, engines, rounds, seconds):
    """{engine: median ms, or the reason why not}, {engine: counters}."""
    workers, times, counters = {e: Worker(__file__, "--serve", e) for e in engines}, {}, {}
    for engine, worker in workers.items():
        answer = worker.ask(network=name, type=dtype)
        times[engine], counters[engine] = answer.get("error") or [], answer.get("counters", {})
    for _ in range(rounds):
        for engine in [e for e in engines if isinstance(times[e], list)]:
            answer = workers[engine].ask(seconds=seconds)
            times[engine] = answer.get("error") or [*times[engine], answer["ms"]]
    for worker in workers.values():
        worker.close()
    return {e: t if isinstance(t, str) else statistics.median(t) if t else None for e, t in times.items()}, counters


def print_model(name, dtype, times, counters):
    work = networks.NETWORKS[name].flops()
    for engine, ms in times.items():
        count = counters[engine]
        if isinstance(ms, str):
            print(f"| {name} | {dtype} | {engine} | {ms} | | | | |")
            continue
        copies = count.get("host_to_device_copies", "-"), count.get("device_to_host_copies", "-")
        timed = ("-", "-") if ms is None else (f"{ms:.3f}", f"{work / ms / 1e9:.2f}")
        cells = name, dtype, engine, *timed, count.get("kernel_launches", "-"), count.get("launches", "-"), f"{copies[0]} + {copies[1]}"
        print("| " + " | ".join(map(str, cells)) + " |")


def print_peaks(dtype, engine, seconds):
    for name, unit, amount in (("product_peak", "TFLOP/s", networks.NETWORKS["product_peak"].flops() / 1e9),
                               ("copy_peak", "GB/s", networks.COPY_PEAK_BYTES / 1e6)):
        times, _ = measure(name, dtype, [engine], 3, seconds)
        result = times[engine]
        print(f"{name}, {dtype}: " + (result if isinstance(result, str) else f"{amount / result:.1f} {unit}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet50,bert_base,gpt2_step")
    parser.add_argument("--type", default="float16", choices=["float16", "float32"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--peaks", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(arguments.serve)
    engines = [e for e in ENGINES if is_available(e)]
    if not engines:
        sys.exit("no engine here has CUDA; ORTCORE_CUDA=emulated gives ortcore an emulated device")
    print("| network | type | engine | ms | TFLOP/s | steps | kernels (emulated) | copies to + from the GPU |\n|---|---|---|---:|---:|---:|---:|---|")
    for name in arguments.models.split(","):
        print_model(name, arguments.type, *measure(name, arguments.type, engines, arguments.rounds, arguments.seconds))
    if arguments.peaks:
        print()
        print_peaks(arguments.type, engines[0], arguments.seconds)


if __name__ == "__main__":
    main()
