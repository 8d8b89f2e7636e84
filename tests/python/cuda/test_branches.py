"""If: its branches run on the device, as on the CPU; the host decides which."""
import numpy as np
import pytest

import ortcore as ort

from .control_flow import CPU, CUDA, X, assert_as_on_the_cpu, copies, model, on_device, run_bound

EITHER = [{"x": X, "c": np.array(c)} for c in (True, False)]

BRANCHES = """main (float[N] x, bool c) => (float[N] y) {
  r = Exp(x)
  i = If (c) <then_branch = yes () => (float[N] a) { a = Neg(r) }, else_branch = no () => (float[N] b) { b = Mul(r, r) }>
  y = Neg(i)
}"""


def test_branches_run_on_the_device(order):
    session = assert_as_on_the_cpu(model(BRANCHES), *EITHER)
    assert on_device(session) == {"Neg": True, "Mul": True} and not copies(session)
    np.testing.assert_allclose(session.run(None, EITHER[0])[0], np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(session.run(None, EITHER[1])[0], -np.exp(X) ** 2, rtol=1e-6)


def test_the_nodes_of_a_subgraph_follow_its_node():
    nodes = ort.InferenceSession(model(BRANCHES), providers=[CUDA, CPU]).explain()
    assert [node.op_type for node in nodes] == ["Exp", "If", "Neg", "Mul", "Neg"]
    name = nodes[1].name
    assert [node.subgraph for node in nodes] == [None, None, f"{name}/then_branch", f"{name}/else_branch", None]
    assert nodes[1].provider == CPU and "decides on the host" in nodes[1].reason and f"(Mul) in {name}/else_branch: {CUDA}" in str(nodes[3])


def test_a_run_that_stays_on_the_device_copies_nothing(emulated):
    session = ort.InferenceSession(model(BRANCHES), providers=[CUDA, CPU])
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(X, "cuda"))
    binding.bind_cpu_input("c", np.array(True))
    binding.bind_output("y", "cuda")
    session.run_with_iobinding(binding)
    emulated.clear()
    session.run_with_iobinding(binding)
    counters = emulated.counters()
    assert counters["copies_host_to_device"] == counters["copies_device_to_host"] == counters["allocations"] == 0


def test_a_condition_of_the_device_is_brought_to_the_host(order):
    session = assert_as_on_the_cpu(model("""main (float[N] x) => (float[N] y) {
      zero = Constant <value_float = 0.0> ()
      s = ReduceSum <keepdims = 0> (x)
      c = Greater(s, zero)
      y = If (c) <then_branch = yes () => (float[N] a) { a = Neg(x) }, else_branch = no () => (float[N] b) { b = Abs(x) }>
    }"""), {"x": X}, {"x": -X})
    assert copies(session) == [("MemcpyToHost", False)]


def test_what_a_branch_reads_on_both_sides_is_copied_in_the_branch(order):
    session = assert_as_on_the_cpu(model("""main (float[2,2] x, bool c) => (float y) {
      r = Exp(x)
      y = If (c) <then_branch = yes () => (float a) { d = Det(r) n = ReduceSum <keepdims = 0> (r) a = Add(d, n) },
                  else_branch = no () => (float b) { b = ReduceMax <keepdims = 0> (r) }>
    }"""), *({"x": X[:4].reshape(2, 2), "c": np.array(c)} for c in (True, False)))
    assert on_device(session) == {"Det": False, "ReduceSum": True, "Add": True, "ReduceMax": True}
    assert copies(session) == [("MemcpyToHost", True), ("MemcpyFromHost", True)]


def test_a_branch_that_does_not_run_copies_nothing():
    session = ort.InferenceSession(model("""main (float[2,2] x, bool c) => (float y) {
      r = Exp(x)
      y = If (c) <then_branch = yes () => (float a) { d = Det(r) a = Neg(d) }, else_branch = no () => (float b) { b = ReduceMax <keepdims = 0> (r) }>
    }"""), providers=[CUDA, CPU])
    for c in (True, False):
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(X[:4].reshape(2, 2), "cuda"))
        binding.bind_cpu_input("c", np.array(c))
        binding.bind_output("y", "cuda")
        session.run_with_iobinding(binding)
        assert session.stats()["latest"]["device_to_host_copies"] == c


def test_a_branch_takes_a_copy_that_is_there(order):
    session = assert_as_on_the_cpu(model("""main (float[2,2] x, bool c) => (float y, float d) {
      r = Exp(x)
      d = Det(r)
      y = If (c) <then_branch = yes () => (float a) { e = Det(r) n = ReduceSum <keepdims = 0> (r) a = Add(e, n) },
                  else_branch = no () => (float b) { b = ReduceMax <keepdims = 0> (r) }>
    }"""), *({"x": X[:4].reshape(2, 2), "c": np.array(c)} for c in (True, False)))
    assert copies(session) == [("MemcpyToHost", False), ("MemcpyFromHost", True)]


def test_branches_that_compute_on_different_sides_agree(order):
    session = assert_as_on_the_cpu(model("""main (float[2,2] x, bool c) => (float y) {
      i = If (c) <then_branch = yes () => (float a) { a = Det(x) }, else_branch = no () => (float b) { b = ReduceMax <keepdims = 0> (x) }>
      y = Neg(i)
    }"""), *({"x": X[:4].reshape(2, 2), "c": np.array(c)} for c in (True, False)))
    assert ("MemcpyFromHost", True) in copies(session)
    assert any("takes this result of its subgraph on the device" in (node.reason or "") for node in session.explain())


def test_branches_that_give_what_they_got(order):
    session = assert_as_on_the_cpu(model("""main (float[N] x, bool c) => (float[N] y, float[N] z, float[N] w) {
      r = Exp(x)
      y, z = If (c) <then_branch = yes () => (float[N] r, float[N] r) { }, else_branch = no () => (float[N] a, float[N] x) { a = Neg(x) }>
      w = Neg(z)
    }"""), *EITHER)
    assert not copies(session)


def test_branches_with_constants_and_weights(order):
    assert_as_on_the_cpu(model("""main (float[2] x, bool c) => (float[2] y, float[2] z)
      <float[2,2] outer = {1, 2, 3, 4}> {
      y = If (c) <then_branch = yes () => (float[2] a) <float[2,2] inner = {5, 6, 7, 8}> { m = MatMul(x, inner) a = MatMul(m, outer) },
                  else_branch = no () => (float[2] b) <float[2] b = {9, 10}> { }>
      z = MatMul(x, outer)
    }"""), *({"x": X[:2], "c": np.array(c)} for c in (True, False)))


def test_shapes_that_differ_between_branches(order):
    assert_as_on_the_cpu(model("""main (float[N] x, bool c) => (float[M] y) {
      i = If (c) <then_branch = yes () => (float[K] a) { a = Concat <axis = 0> (x, x) }, else_branch = no () => (float[K] b) { b = Neg(x) }>
      y = Exp(i)
    }"""), *EITHER, *({"x": X[:n], "c": np.array(c)} for n in (1, 0, 3) for c in (True, False)))


def test_shape_arithmetic_in_branches_stays_on_the_host(order):
    session = assert_as_on_the_cpu(model("""main (float[N,M] x, bool c) => (float[A,B] y) {
      s = Shape(x)
      last = Constant <value_ints = [1]> ()
      minus = Constant <value_ints = [-1]> ()
      first = Constant <value_ints = [0]> ()
      shape = If (c) <then_branch = yes () => (int64[2] a) { n = Gather(s, last) a = Concat <axis = 0> (n, minus) },
                      else_branch = no () => (int64[2] b) { n2 = Gather(s, first) b = Concat <axis = 0> (n2, minus) }>
      r = Exp(x)
      y = Reshape(r, shape)
    }"""), *({"x": X[:6].reshape(3, 2), "c": np.array(c)} for c in (True, False)))
    assert not any(on_device(session).values()) and not copies(session)


NESTED = """main (float[N] x, bool c, bool d) => (float[N] y) {
  r = Exp(x)
  y = If (c) <
    then_branch = yes () => (float[N] a) {
      q = Neg(r)
      a = If (d) <then_branch = yesyes () => (float[N] aa) { aa = Mul(q, x) }, else_branch = yesno () => (float[N] ab) { ab = Add(r, q) }>
    },
    else_branch = no () => (float[N] b) { b = Sub(x, r) }>
}"""


def test_branches_in_branches(order):
    session = assert_as_on_the_cpu(model(NESTED), *({"x": X, "c": np.array(c), "d": np.array(d)} for c in (True, False) for d in (True, False)))
    assert on_device(session) == {"Neg": True, "If": False, "Mul": True, "Add": True, "Sub": True} and not copies(session)


def test_sequences_in_branches_are_the_hosts(order):
    session = assert_as_on_the_cpu(model("""main (float[N] x, bool c) => (float[M] y) {
      zero = Constant <value_int = 0> ()
      r = Exp(x)
      q = If (c) <then_branch = yes () => (seq(float[N]) a) { n = Neg(r) a = SequenceConstruct(n, r) },
                  else_branch = no () => (seq(float[N]) b) { b = SequenceConstruct(r) }>
      t = SequenceAt(q, zero)
      y = Neg(t)
    }"""), *EITHER)
    assert on_device(session)["Neg"] and not on_device(session)["SequenceConstruct"]


def test_an_error_in_a_branch_names_its_node():
    session = ort.InferenceSession(model("""main (float[N] x, float[M] z, bool c) => (float[K] y) {
      y = If (c) <then_branch = yes () => (float[K] a) { a = Add(x, z) }, else_branch = no () => (float[K] b) { b = Neg(x) }>
    }"""), providers=[CUDA, CPU])
    feeds = {"x": X[:2], "z": X[:3], "c": np.array(True)}
    with pytest.raises(RuntimeError, match=r"\(If\).*\(Add\)|\(Add\).*\(If\)"):
        session.run(None, feeds)
    assert session.run(None, {**feeds, "c": np.array(False)})[0].tolist() == [3, 2]


def test_a_run_with_control_flow_is_not_recorded_and_says_why(capfd):
    session = ort.InferenceSession(model(BRANCHES), providers=[(CUDA, {"enable_cuda_graph": "1"}), CPU])
    for _ in range(3):
        for feeds in EITHER:
            np.testing.assert_allclose(run_bound(session, feeds)[0], ort.InferenceSession(model(BRANCHES)).run(None, feeds)[0], rtol=1e-6)
    assert "(If) decides on the host what runs" in capfd.readouterr().err
    assert session.stats()["total"]["graph_captures"] == 0
