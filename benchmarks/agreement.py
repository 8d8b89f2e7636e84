"""Do real models give the same results here as in onnxruntime? Writes the answer as docs/models.md.

    python benchmarks/agreement.py [NAME ...]              needs ortcore and onnxruntime; fetches the models that are missing

The reference is onnxruntime without optimisation. ortcore runs each model unoptimised and fully optimised, plainly and through a binding whose
output buffers are full of rubbish. An output's error is the largest difference, relative to the largest value of the reference. It may be
3e-4 (3e-2 where the model computes in int8 or float16), or three times what onnxruntime's own optimisations change, if that is more.
"""
import sys
from pathlib import Path

import numpy as np

from engines import OnnxRuntimeLike
from models import COLLECTION, select

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "models.md"
TOLERANCE, LOOSE_TOLERANCE = 3e-4, 3e-2


def error(got, want):
    """The relative difference; infinite where they cannot be compared."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return np.inf
    if want.dtype.kind != "f":
        return float((got != want).mean()) if want.size else 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return np.inf
    return float(np.abs(got - want)[finite].max(initial=0) / max(np.abs(want[finite]).max(initial=0), 1e-30))


def worst(got, want):
    return max(map(error, got, want), default=0.0)


def run_bound(session, feeds, want):
    binding, buffers = session.io_binding(), []
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for output, like in zip(session.get_outputs(), want, strict=True):
        buffers.append(np.frombuffer(bytearray(b"\xa5") * like.nbytes, like.dtype).reshape(like.shape))
        binding.bind_output(output.name, "cpu", 0, like.dtype, like.shape, buffers[-1].ctypes.data)
    session.run_with_iobinding(binding)
    return buffers


def compare(model, ours, peer):
    """(worst error, what is allowed) over all ways to run."""
    model.fetch()
    reference = peer.session(model.path, 0, optimise=False)
    feeds = model.feeds(reference)
    want = reference.run(None, feeds)
    spread = worst(peer.session(model.path, 0).run(None, feeds), want)
    errors = []
    for optimise in (False, True):
        session = ours.session(model.path, 0, optimise)
        errors += [worst(session.run(None, feeds), want), worst(run_bound(session, feeds, want), want)]
    return max(errors), max(TOLERANCE if model.exact else LOOSE_TOLERANCE, 3 * spread if np.isfinite(spread) else 0)


def main():
    ours, peer = OnnxRuntimeLike("ortcore"), OnnxRuntimeLike("onnxruntime")
    lines, agreed, models = [], 0, select(sys.argv[1:])
    for model in models:
        try:
            found, allowed = compare(model, ours, peer)
            verdict = "agrees" if found <= allowed else "**differs**"
            cells = f"{found:.1e} | {allowed:.0e} | {verdict}"
        except Exception as problem:
            verdict, cells = "fails", f"- | - | **fails**: {' '.join(str(problem).split())[:120]}"
        agreed += verdict == "agrees"
        lines.append(f"| {model.name} | {model.package} | {model.about} | {cells} |")
        print(lines[-1], flush=True)
    summary = f"{agreed} of {len(models)} models agree with onnxruntime {peer.version}"
    print(summary)
    if not sys.argv[1:]:
        about = __doc__.split("\n\n")[2].strip()
        head = ["# Real models", "", f"Made by `python benchmarks/agreement.py` with ortcore {ours.version}. {summary}.", "", about, "",
                "| model | from the package | what | error | allowed | verdict |", "|---|---|---|---|---|---|"]
        DOCUMENT.write_text("\n".join([*head, *lines, ""]))
    sys.exit(agreed != len(models))


if __name__ == "__main__":
    COLLECTION.mkdir(exist_ok=True)
    main()
