"""Runs and nodes as ranges of NVIDIA's profilers. A small library stands in for the profiler, by NVTX's injection protocol."""
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

RECORDER = """
#include <stdint.h>
#include <stdio.h>

/* As nvtx3/nvtxDetail/nvtxTypes.h has them. */
enum { TABLE_OF_CALLBACKS = 1, MODULE_CORE2 = 5, RANGE_PUSH = 4, RANGE_POP = 5, CREATE_DOMAIN = 12 };
typedef struct { uint16_t version, size; uint32_t category; int32_t color_type; uint32_t color; int32_t payload_type, reserved;
                 uint64_t payload; int32_t message_type; const char *message; } attributes;
typedef struct { size_t size; int (*functions)(uint32_t module, void ***out_table, unsigned *out_count); } callbacks;

static int domain;
static void *create_domain(const char *name) { printf("domain %s\\n", name); return &domain; }
static int push(void *in, const attributes *a) { printf("begin %s\\n", in == &domain ? a->message : "?"); return 0; }
static int pop(void *in) { printf("end%s\\n", in == &domain ? "" : "?"); return 0; }

int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t)) {
  const callbacks *c = table_of(TABLE_OF_CALLBACKS);
  void **table;
  unsigned count;
  if (!c || !c->functions(MODULE_CORE2, &table, &count) || count <= CREATE_DOMAIN) return 0;
  setvbuf(stdout, NULL, _IONBF, 0);
  *(void **)table[RANGE_PUSH] = (void *)push;
  *(void **)table[RANGE_POP] = (void *)pop;
  *(void **)table[CREATE_DOMAIN] = (void *)create_domain;
  return 1;
}
"""

PROGRAM = """
    import numpy as np
    import ortcore as ort
    from onnx import TensorProto, helper
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2])
    nodes = [helper.make_node("MatMul", ["x", "x"], ["h"], name="first"), helper.make_node("Softmax", ["h"], ["y"], name="second")]
    model = helper.make_model(helper.make_graph(nodes, "two steps", [value("x")], [value("y")]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feed = {"x": np.ones((2, 2), np.float32)}
    cuda = ort.InferenceSession(model.SerializeToString(), providers=["CUDAExecutionProvider"])
    options = ort.RunOptions()
    options.logid = "frame 7"
    print("-")
    cuda.run(None, feed, options)
    print("-")
    ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)
"""


@pytest.fixture
def printed(tmp_path):
    """printed(injection): what the program prints, with that library in the place of a profiler."""

    def run(injection=""):
        variables = {k: v for k, v in os.environ.items() if not k.startswith("NVTX_")} | ({"NVTX_INJECTION64_PATH": injection} if injection else {})
        program = [sys.executable, "-u", "-c", textwrap.dedent(PROGRAM)]
        return subprocess.run(program, env=variables, check=True, capture_output=True, text=True, timeout=120).stdout.split("-\n")

    return run


@pytest.fixture
def recorder(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("there is no C compiler to make a stand-in for a profiler with")
    source, library = tmp_path / "recorder.c", tmp_path / "librecorder.so"
    source.write_text(RECORDER)
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return str(library)


def test_a_profiler_sees_runs_and_the_nodes_in_them(printed, recorder):
    _, on_cuda, on_cpu = printed(recorder)
    lines = [line for line in on_cuda.splitlines() if "Memcpy" not in line]
    begun = [line for line in lines if line.startswith("begin")]
    assert begun[0] == "begin two steps (frame 7)"
    assert begun[1:] == ["begin first (MatMul)", "begin second (Softmax)"]
    depth = 0
    for line in on_cuda.splitlines():
        if line.startswith("domain"):
            assert line == "domain ortcore"
            continue
        assert line == "end" or depth == (0 if line == begun[0] else 1)       # nodes lie in the run, one after another
        depth += 1 if line.startswith("begin") else -1
    assert depth == 0
    assert on_cpu == ""


def test_without_a_profiler_nothing_is_marked(printed):
    assert printed() == ["", "", ""]
