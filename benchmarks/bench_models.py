"""Whole models, side by side with other engines: everything bound beforehand, the time of one run.

    python benchmarks/bench_models.py [--models A,B] [--engines ortcore,onnxruntime,openvino] [--threads 1,2] [--rounds 7] [--seconds 0.3] [--busy 0]

The counters are ortcore's, of one run in the steady state: bytes copied, bytes moved only to change a layout, allocations.

Each engine has a process of its own and they run short rounds in turn, so that whatever else the machine does meets them all. A ratio is the
median over the rounds of ortcore's time by the other engine's: below 1 ortcore is faster.

With --busy N, as many programs keep a core busy beside the engines, and a round's time is the mean of its runs: what waits for a core shows.
"""
import argparse
import contextlib
import statistics
import subprocess
import sys

from engines import ENGINES, Worker, is_installed
from models import select


@contextlib.contextmanager
def busy_programs(count):
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def measure(model, engines, threads, rounds, seconds, what):
    """{engine: [ms of each round]}; an engine that fails has the reason instead. And what ortcore counted."""
    model.fetch()
    workers, times, counters = {e: Worker(e) for e in engines}, {}, {}
    try:
        for engine, worker in workers.items():
            answer = worker.ask(load=model.name, threads=threads)
            times[engine] = answer.get("error") or []
            counters = answer.get("counters") or counters
        for _ in range(rounds):
            for engine in [e for e in engines if isinstance(times[e], list)]:
                answer = workers[engine].ask(seconds=seconds)
                times[engine] = answer.get("error") or [*times[engine], answer[what]]
    finally:
        for worker in workers.values():
            worker.close()
    return times, counters


def ratio(times, engine):
    mine, theirs = times["ortcore"], times[engine]
    if not isinstance(mine, list) or not isinstance(theirs, list):
        return "-"
    return f"{statistics.median(m / t for m, t in zip(mine, theirs, strict=True)):.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="")
    parser.add_argument("--engines", default=",".join(e for e in ENGINES if is_installed(e)))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--busy", type=int, default=0)
    arguments = parser.parse_args()
    engines = arguments.engines.split(",")
    peers = [e for e in engines if e != "ortcore" and "ortcore" in engines]
    counted = ("bytes_copied", "bytes_reordered", "allocations")
    titles = [f"{e} ms" for e in engines] + [f"ortcore / {p}" for p in peers] + [c.replace("_", " ") for c in counted]
    print("| model | threads | " + " | ".join(titles) + " |")
    print("|---" * (2 + len(titles)) + "|")
    failures = []
    for model in select([m for m in arguments.models.split(",") if m]):
        for threads in map(int, arguments.threads.split(",")):
            with busy_programs(arguments.busy):
                times, counters = measure(model, engines, threads, arguments.rounds, arguments.seconds, "mean" if arguments.busy else "ms")
            failures += [f"{model.name}, {threads} threads, {e}: {t}" for e, t in times.items() if not isinstance(t, list)]
            cells = [f"{statistics.median(times[e]):.3f}" if isinstance(times[e], list) else "failed" for e in engines]
            cells += [ratio(times, p) for p in peers] + [f"{counters[c]:,}" if c in counters else "-" for c in counted]
            print(f"| {model.name} | {threads} | " + " | ".join(cells) + " |", flush=True)
    print("\n".join(["", *failures]))


if __name__ == "__main__":
    main()
