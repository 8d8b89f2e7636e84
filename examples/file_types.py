"""What is in these files? Magika's content-type model over a folder, with inputs and outputs bound to numpy buffers.

    python examples/file_types.py [FOLDER]        (default: the current folder)

The model comes with the `magika` package (`pip install --no-deps magika`). Two buffers are made once and bound once; for each file the
tokens are written into the first, the run writes the scores into the second, and nothing is copied in between. Every bound result is
checked against a plain run().
"""
import importlib.util
import json
import sys
import time
from pathlib import Path

import numpy as np

import ortcore as ort

MOST_FILES = 500


def find_model():
    """(model file, its configuration), without importing the package."""
    package = importlib.util.find_spec("magika")
    if package is None:
        sys.exit("The model is part of the magika package: pip install --no-deps magika==1.0.3")
    folder = next(Path(package.submodule_search_locations[0]).glob("models/*/model.onnx")).parent
    return folder / "model.onnx", json.loads((folder / "config.min.json").read_text())


def read_ends(path, block):
    """At most `block` bytes from either end of a file."""
    with open(path, "rb") as file:
        begin = file.read(block)
        file.seek(max(path.stat().st_size - block, 0))
        return begin, file.read(block)


def tokenise(path, config, tokens):
    """Fills `tokens` with the file's first and last bytes, white space around it dropped. False if there is too little to go by."""
    begin, end = read_ends(path, config["block_size"])
    begin = begin.lstrip()[: config["beg_size"]]
    end = end.rstrip()[-config["end_size"]:]
    tokens[:] = config["padding_token"]
    tokens[: len(begin)] = np.frombuffer(begin, np.uint8)
    tokens[len(tokens) - len(end):] = np.frombuffer(end, np.uint8)
    return len(begin) >= config["min_file_size_for_dl"]


def label_of(scores, config):
    """The model's answer, or "unsure" below the confidence that its configuration asks for."""
    best = int(scores.argmax())
    label = config["target_labels_space"][best]
    needed = config["thresholds"].get(label, config["medium_confidence_threshold"])
    return config["overwrite_map"].get(label, label) if scores[best] >= needed else "unsure"


def timed(call):
    start = time.perf_counter()
    result = call()
    return result, (time.perf_counter() - start) * 1e3


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    hidden = lambda path: any(part.startswith(".") for part in path.relative_to(folder).parts)
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink() and not hidden(p)][:MOST_FILES]
    if not files:
        sys.exit(f"There are no files in {folder}")
    model, config = find_model()
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    source, target = session.get_inputs()[0].name, session.get_outputs()[0].name

    tokens = np.empty((1, config["beg_size"] + config["end_size"]), np.int32)
    scores = np.empty((1, len(config["target_labels_space"])), np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input(source, tokens)
    binding.bind_output(target, "cpu", 0, np.float32, scores.shape, scores.ctypes.data)

    bound_ms, plain_ms, worst = [], [], 0.0
    for path in files:
        if not tokenise(path, config, tokens[0]):
            print(f"{'(too short)':16}        {path}")
            continue
        _, ms = timed(lambda: session.run_with_iobinding(binding))
        bound_ms.append(ms)
        (expected,), ms = timed(lambda: session.run([target], {source: tokens}))
        plain_ms.append(ms)
        worst = max(worst, float(np.abs(scores - expected).max()))
        print(f"{label_of(scores[0], config):16} {scores.max():6.1%} {path}")
    if not bound_ms:
        return
    print(f"\n{len(bound_ms)} files through {model.name} ({model.stat().st_size / 1e6:.1f} MB) on ortcore {ort.__version__}")
    for name, times in (("bound", bound_ms), ("run()", plain_ms)):
        print(f"  {name}: median {np.median(times):7.3f} ms   fastest {min(times):7.3f} ms   first {times[0]:7.3f} ms")
    print(f"  bound and run() differ by at most {worst:.1e}")
    if worst > 1e-5:
        sys.exit("A bound run and a plain run must agree.")


if __name__ == "__main__":
    main()
