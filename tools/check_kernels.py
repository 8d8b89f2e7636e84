"""Compiles every CUDA kernel for every architecture that is meant, with warnings and register spills as errors, and prints what that took.

The build itself compiles for one architecture only, so that it stays short; what ptxas says of the others is found here. Needs nvcc and no GPU.
Exit status 1 if a file does not compile cleanly, or if all together take longer than they may.

    python tools/check_kernels.py [NAME ...]      all kernels, or those files of ortcore/kernels/cuda
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "ortcore/kernels/cuda"
ARCHITECTURES = ["80", "90", "100"]                         # and PTX of the last one, for what comes after it
MOST_SECONDS = 360                                          # of processor time: three minutes of two cores
FLAGS = ["-std=c++17", "-O3", "-Werror", "all-warnings", "-Xptxas", "--warn-on-spills,--warning-as-error", f"-I{ROOT}", f"-I{ROOT / 'include'}"]


def find_nvcc():
    found = subprocess.run([sys.executable, ROOT / "tools/find_cuda.py"], capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"check_kernels: {found.stderr.strip()}")
    return found.stdout.split("\n")[0]


def targets():
    newest = ARCHITECTURES[-1]
    codes = {a: f"sm_{a}" for a in ARCHITECTURES} | {newest: f"[sm_{newest},compute_{newest}]"}
    return [f"-gencode=arch=compute_{a},code={code}" for a, code in codes.items()]


def compile_kernel(nvcc, source, directory):
    """(seconds, what nvcc said if it was not content)"""
    begin = time.monotonic()
    command = [nvcc, "-fatbin", *FLAGS, *targets(), "-o", Path(directory) / f"{source.stem}.fatbin", source]
    done = subprocess.run(command, capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip()
    return time.monotonic() - begin, f"{said}\nnvcc ended with {done.returncode}" if done.returncode else said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    sources = [KERNELS / f"{Path(name).stem}.cu" for name in arguments.names] or sorted(KERNELS.glob("*.cu"))
    missing = [str(s.relative_to(ROOT)) for s in sources if not s.is_file()]
    if missing:
        parser.error(f"there is no {', '.join(missing)}")
    nvcc, failed, before = find_nvcc(), [], os.times()
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(arguments.jobs) as pool:
        for source, (seconds, said) in zip(sources, pool.map(lambda s: compile_kernel(nvcc, s, directory), sources), strict=True):
            print(f"{seconds:7.1f} s  {source.stem}", flush=True)
            if said:
                failed.append(source.stem)
                print(said, flush=True)
    after = os.times()
    total = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{total:7.1f} s  of processor time for {len(sources)} files and {' '.join('sm_' + a for a in ARCHITECTURES)}; at most {MOST_SECONDS} s are meant")
    if failed:
        print(f"not clean: {', '.join(failed)}")
    return bool(failed) or total > MOST_SECONDS


sys.exit(main())
