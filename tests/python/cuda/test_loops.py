"""Loop and Scan: what they carry, slice and stack stays on the device; the host counts and decides."""
import numpy as np
import onnx.parser
import pytest

import ortcore as ort

from .control_flow import CPU, CUDA, X, assert_as_on_the_cpu, copies, model, on_device

COUNTED = """main (float[N] x, int64 n) => (float[N] last, float[T,N] all) {
  go = Constant <value_int = 1> ()
  yes = Cast <to = 9> (go)
  r = Exp(x)
  last, all = Loop (n, yes, r) <body = body (int64 i, bool c, float[N] a) => (bool c2, float[N] b, float[N] s) {
    c2 = Identity(c)
    b = Add(a, r)
    s = Neg(b)
  }>
}"""


def test_a_counted_loop_stays_on_the_device(order):
    session = assert_as_on_the_cpu(model(COUNTED), *({"x": X, "n": np.array(n)} for n in (4, 1, 0)))
    assert on_device(session) == {"Identity": False, "Add": True, "Neg": True} and not copies(session)
    last, every = session.run(None, {"x": X, "n": np.array(3)})
    np.testing.assert_allclose(last, 4 * np.exp(X), rtol=1e-5)
    np.testing.assert_allclose(every, [-2 * np.exp(X), -3 * np.exp(X), -4 * np.exp(X)], rtol=1e-5)


def test_a_counted_loop_makes_no_copies(emulated):
    session = ort.InferenceSession(model(COUNTED), providers=[CUDA, CPU])
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(X, "cuda"))
    binding.bind_cpu_input("n", np.array(5))
    for name in ("last", "all"):
        binding.bind_output(name, "cuda")
    session.run_with_iobinding(binding)
    emulated.clear()
    session.run_with_iobinding(binding)
    counters = emulated.counters()
    assert counters["copies_host_to_device"] == counters["copies_device_to_host"] == counters["allocations"] == 0
    assert counters["synchronisations"] == 1


def test_a_condition_that_the_device_computes(order):
    """A copy at the end of each iteration; it waits, so that the host decides on what was computed."""
    session = assert_as_on_the_cpu(model("""main (float[N] x, float limit) => (float[N] last, float[T] most) {
      n = Constant <value_int = 100> ()
      first = Constant <value_int = 1> ()
      yes = Cast <to = 9> (first)
      last, most = Loop (n, yes, x) <body = body (int64 i, bool c, float[N] a) => (bool c2, float[N] b, float m) {
        b = Add(a, a)
        m = ReduceMax <keepdims = 0> (b)
        c2 = Less(m, limit)
      }>
    }"""), {"x": X, "limit": np.array(100, np.float32)}, {"x": X, "limit": np.array(0, np.float32)}, {"x": X, "limit": np.array(9, np.float32)})
    assert copies(session) == [("MemcpyToHost", True)]
    assert session.run(None, {"x": X, "limit": np.array(20, np.float32)})[1].tolist() == [8, 16, 32]


@pytest.mark.parametrize("start", ["zero", "start"])
def test_counters_stay_on_the_host(order, start):
    """A counter that begins with a constant or a number of the caller's, and a bound for it: nothing of them is on the device."""
    session = assert_as_on_the_cpu(model("""main (float[N] x, int64 start, int64 bound) => (float[N] last, int64 count) {
      many = Constant <value_int = 100> ()
      zero = Constant <value_int = 0> ()
      one = Constant <value_int = 1> ()
      yes = Cast <to = 9> (one)
      last, count, unused = Loop (many, yes, x, START, start) <
          body = body (int64 i, bool c, float[N] a, int64 k, int64 s) => (bool c2, float[N] b, int64 k2, int64 s2) {
        k2 = Add(k, one)
        c2 = Less(k2, bound)
        b = Exp(a)
        t = Neg(s)
        s2 = Neg(t)
      }>
    }""".replace("START", start)), *({"x": X / 9, "start": np.array(1), "bound": np.array(n)} for n in (3, 2)))
    assert on_device(session) == {"Add": False, "Less": False, "Exp": True, "Neg": False} and not copies(session)


def test_the_number_of_the_iteration_on_the_device(order):
    session = assert_as_on_the_cpu(model("""main (float[N] x, int64 n) => (float total, float[T] each, int64[T] numbers) {
      one = Constant <value_int = 1> ()
      yes = Cast <to = 9> (one)
      zero = Constant <value_float = 0.0> ()
      r = Exp(x)
      total, each, numbers = Loop (n, yes, zero) <body = body (int64 i, bool c, float a) => (bool c, float b, float g, int64 i) {
        g = Gather(r, i)
        b = Add(a, g)
      }>
    }"""), {"x": X, "n": np.array(8)}, {"x": X, "n": np.array(2)}, {"x": X, "n": np.array(0)})
    assert on_device(session)["Gather"] and copies(session) == [("MemcpyFromHost", True)]


def test_what_is_made_of_a_count_and_is_large_is_made_on_the_device(order):
    session = assert_as_on_the_cpu(model("""main (float[N] x, int64 n) => (float[K] y) {
      one = Constant <value_int = 1> ()
      zero = Constant <value_int = 0> ()
      yes = Cast <to = 9> (one)
      y = Loop (n, yes, x) <body = body (int64 i, bool c, float[K] a) => (bool c, float[L] b) {
        size = Size(a)
        next = Add(i, one)
        places = Range(zero, size, one)
        early = Less(places, next)
        e = Exp(a)
        b = Where(early, e, a)
      }>
    }"""), {"x": X / 9, "n": np.array(4)}, {"x": X / 9, "n": np.array(0)})
    here = on_device(session)
    assert here["Less"] and here["Where"] and not here["Add"]


def test_values_that_change_places(order):
    assert_as_on_the_cpu(model("""main (float[N] x, int64 n) => (float[N] p, float[N] q, float[N] before, float[T,N] seen) {
      one = Constant <value_int = 1> ()
      yes = Cast <to = 9> (one)
      e = Exp(x)
      p, q, before, seen = Loop (n, yes, x, e, e) <
          body = body (int64 i, bool c, float[N] a, float[N] b, float[N] z) => (bool c, float[N] b, float[N] d, float[N] a, float[N] z) {
        d = Sub(a, b)
      }>
    }"""), *({"x": X, "n": np.array(n)} for n in (0, 1, 2, 5)))


GROWING = """main (float[N] x, int64 n) => (float[M] last, float[T] sums) {
  one = Constant <value_int = 1> ()
  yes = Cast <to = 9> (one)
  last, sums = Loop (n, yes, x) <body = body (int64 i, bool c, float[K] a) => (bool c, float[L] b, float s) {
    e = Tanh(a)
    t = Softmax(e)
    b = Concat <axis = 0> (a, t)
    s = ReduceSum <keepdims = 0> (b)
  }>
}"""


def test_shapes_that_change_with_each_iteration(order):
    session = assert_as_on_the_cpu(model(GROWING), *({"x": X[:k], "n": np.array(n)} for k, n in ((1, 9), (3, 5), (2, 1), (1, 9))))
    assert on_device(session) == {"Tanh": True, "Softmax": True, "Concat": True, "ReduceSum": True} and not copies(session)


def test_shapes_that_change_while_sessions_run_beside_each_other(order):
    """Frames come from one pool, their memory from several streams."""
    from concurrent.futures import ThreadPoolExecutor

    session = ort.InferenceSession(model(GROWING), providers=[CUDA, CPU])
    want = {k: ort.InferenceSession(model(GROWING), providers=[CPU]).run(None, {"x": X[:k], "n": np.array(6)}) for k in (1, 2, 3)}
    with ThreadPoolExecutor(3) as pool:
        jobs = [(k, pool.submit(session.run, None, {"x": X[:k], "n": np.array(6)})) for k in (1, 2, 3, 2, 1, 3, 3, 2, 1)]
    for k, job in jobs:
        for a, b in zip(job.result(), want[k], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_frame_that_a_loop_gives_up_is_not_in_use(order):
    """Its memory is of one stream, its last work on another: what comes next on the first must not write there yet."""
    session = ort.InferenceSession(model(GROWING), providers=[CUDA, CPU])
    asynchronous = ort.RunOptions()
    asynchronous.add_run_config_entry("disable_synchronize_execution_providers", "1")
    reference, want = ort.InferenceSession(model(GROWING), providers=[CPU]), {}
    streams = [session.io_binding(), session.io_binding()]
    values = {length: ort.OrtValue.ortvalue_from_numpy(X[:length], "cuda") for length in (2, 4, 8)}     # held: to free memory would wait
    for stream, length, n in ((0, 2, 1), (1, 2, 2), (0, 4, 1), (0, 8, 1)):
        feeds = {"x": X[:length], "n": np.array(n)}
        streams[stream].bind_ortvalue_input("x", values[length])
        streams[stream].bind_cpu_input("n", feeds["n"])
        for output in session.get_outputs():
            streams[stream].bind_output(output.name, "cuda")
        session.run_with_iobinding(streams[stream], asynchronous)
        want[stream] = reference.run(None, feeds)
    for stream, binding in enumerate(streams):
        for a, b in zip(binding.copy_outputs_to_cpu(), want[stream], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_what_a_body_reads_on_both_sides_is_copied_once_before_the_loop(order):
    session = assert_as_on_the_cpu(model("""main (float[2,2] x, int64 n) => (float y) {
      one = Constant <value_int = 1> ()
      yes = Cast <to = 9> (one)
      zero = Constant <value_float = 0.0> ()
      r = Exp(x)
      y = Loop (n, yes, zero) <body = body (int64 i, bool c, float a) => (bool c, float b) {
        d = Det(r)
        s = ReduceSum <keepdims = 0> (r)
        t = Add(d, s)
        b = Add(a, t)
      }>
    }"""), *({"x": X[:4].reshape(2, 2), "n": np.array(n)} for n in (3, 0)))
    assert copies(session) == [("MemcpyToHost", False), ("MemcpyFromHost", True)]
    to_host = next(node for node in session.explain() if node.op_type == "MemcpyToHost")
    assert "(Loop) reads it in a subgraph on the host" in to_host.reason
    assert on_device(session)["ReduceSum"] and not on_device(session)["Det"]


def test_what_a_body_reads_on_the_other_side_is_copied_once_before_the_loop(order):
    session = assert_as_on_the_cpu(model("""main (float[2,2] x, int64 n) => (float y, float[T] z) {
      one = Constant <value_int = 1> ()
      yes = Cast <to = 9> (one)
      zero = Constant <value_float = 0.0> ()
      r = Exp(x)
      d = Det(r)
      y, z = Loop (n, yes, zero) <body = body (int64 i, bool c, float a) => (bool c, float b, float e) { b = Add(a, d) e = Det(r) }>
    }"""), *({"x": X[:4].reshape(2, 2), "n": np.array(n)} for n in (3, 0)))
    assert copies(session) == [("MemcpyToHost", False), ("MemcpyFromHost", False)]


def test_branches_in_loops_in_loops(order):
    session = assert_as_on_the_cpu(model("""main (float[N] x, int64 n, int64 m) => (float[N] y, float[T,N] all) {
      one = Constant <value_int = 1> ()
      two = Constant <value_int = 2> ()
      yes = Cast <to = 9> (one)
      r = Tanh(x)
      y, all = Loop (n, yes, r) <body = outer (int64 i, bool c, float[N] a) => (bool c, float[N] b, float[N] b) {
        w = Mul(a, x)
        b = Loop (m, yes, a) <body = inner (int64 j, bool d, float[N] p) => (bool d, float[N] q) {
          k = Add(i, j)
          odd = Mod(k, two)
          is = Cast <to = 9> (odd)
          q = If (is) <then_branch = yesbranch () => (float[N] s) { s = Add(p, w) }, else_branch = nobranch () => (float[N] t) { u = Sin(r) t = Sub(p, u) }>
        }>
      }>
    }"""), *({"x": X / 5, "n": np.array(n), "m": np.array(m)} for n, m in ((3, 2), (2, 0), (0, 3), (1, 4))))
    assert {op for op, here in on_device(session).items() if not here} == {"Loop", "If", "Mod", "Cast"} and not copies(session)


def test_sequences_that_a_loop_carries(order):
    session = assert_as_on_the_cpu(model("""main (float[N] x, int64 n) => (float[M] y) {
      one = Constant <value_int = 1> ()
      yes = Cast <to = 9> (one)
      r = Exp(x)
      none = SequenceEmpty ()
      q, last = Loop (n, yes, none, r) <body = body (int64 i, bool c, seq(float[N]) s, float[N] a) => (bool c, seq(float[N]) s2, float[N] b) {
        b = Mul(a, x)
        s2 = SequenceInsert(s, b)
      }>
      all = ConcatFromSequence <axis = 0> (q)
      y = Neg(all)
    }"""), {"x": X, "n": np.array(3)}, {"x": X, "n": np.array(1)})
    assert on_device(session)["Mul"] and ("MemcpyToHost", True) in copies(session)


def test_results_that_change_their_shape_cannot_be_stacked(order):
    session = ort.InferenceSession(model("""main (float[N] x, int64 n) => (float[M] last, float[T,L] all) {
      one = Constant <value_int = 1> ()
      yes = Cast <to = 9> (one)
      last, all = Loop (n, yes, x) <body = body (int64 i, bool c, float[K] a) => (bool c, float[L] b, float[L] b) { b = Concat <axis = 0> (a, a) }>
    }"""), providers=[CUDA, CPU])
    with pytest.raises(RuntimeError, match="results that are stacked must have one shape"):
        session.run(None, {"x": X, "n": np.array(3)})
    assert session.run(None, {"x": X[:2], "n": np.array(1)})[1].tolist() == [[*X[:2], *X[:2]]]


def test_a_fault_in_a_loop_names_the_node(order):
    session = ort.InferenceSession(model("""main (float[N] x, int64[K] at, int64 n) => (float[K] y) {
      one = Constant <value_int = 1> ()
      yes = Cast <to = 9> (one)
      k = Gather(x, at)
      y = Loop (n, yes, k) <body = body (int64 i, bool c, float[K] a) => (bool c, float[K] b) { g = Gather(x, at) b = Add(a, g) }>
    }"""), providers=[CUDA, CPU])
    with pytest.raises(RuntimeError, match=r"\(Gather\).*index is out of range"):
        session.run(None, {"x": X, "at": np.array([0, 99]), "n": np.array(3)})
    assert session.run(None, {"x": X, "at": np.array([0, 1]), "n": np.array(1)})[0].tolist() == [-6, -4]


# ---- Scan ------------------------------------------------------------------------------------------------------------------------

SEQUENCE = np.random.default_rng(3).standard_normal((5, 2, 3)).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("direction", [0, 1])
def test_scan(order, axis, direction):
    session = assert_as_on_the_cpu(model(f"""main (float[A,B,C] x, float[D,E] s) => (float[D,E] last, float[F,G,H] all, float[P,Q,R] plain) {{
      r = Exp(x)
      last, all, plain = Scan (s, r) <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{direction}],
                                      scan_output_axes = [{axis}, 0], scan_output_directions = [{1 - direction}, {direction}],
        body = body (float[D,E] a, float[D,E] t) => (float[D,E] b, float[D,E] d, float[D,E] a) {{ b = Add(a, t) d = Neg(b) }}>
    }}"""), *({"x": x, "s": np.zeros(np.delete(x.shape, axis), np.float32)} for x in (SEQUENCE, SEQUENCE[:1], SEQUENCE[:, :, :1], SEQUENCE[:3, :0])))
    assert on_device(session) == {"Add": True, "Neg": True} and not copies(session)


def test_a_cell_with_weights_scanned(order):
    rng = np.random.default_rng(5)
    session = assert_as_on_the_cpu(model("""main (float[T,B,4] x, float[B,3] h, float[4,3] w, float[3,3] r) => (float[B,3] last, float[T,B,3] all) {
      last, all = Scan (h, x) <num_scan_inputs = 1, body = cell (float[B,3] a, float[B,4] t) => (float[B,3] b, float[B,3] b) {
        p = MatMul(t, w) q = MatMul(a, r) s = Add(p, q) b = Tanh(s)
      }>
    }"""), *({"x": rng.standard_normal((n, 2, 4)).astype(np.float32), "h": np.zeros((2, 3), np.float32),
              "w": rng.standard_normal((4, 3)).astype(np.float32), "r": rng.standard_normal((3, 3)).astype(np.float32)} for n in (4, 1, 0, 7)))
    assert all(on_device(session).values()) and not copies(session)


def test_slices_that_are_carried(order):
    session = assert_as_on_the_cpu(model("""main (float[A,B] x, float[A] s) => (float[A] last, float[B,A] all) {
      last, all = Scan (s, x) <num_scan_inputs = 1, scan_input_axes = [1], body = body (float[A] a, float[A] t) => (float[A] t, float[A] d) { d = Neg(a) }>
    }"""), {"x": SEQUENCE[0], "s": np.zeros(2, np.float32)})
    last, every = session.run(None, {"x": SEQUENCE[0], "s": np.ones(2, np.float32)})
    assert np.array_equal(last, SEQUENCE[0, :, 2]) and np.array_equal(every, -np.stack([np.ones(2), SEQUENCE[0, :, 0], SEQUENCE[0, :, 1]]))


def test_scan_of_a_batch(order):
    """Opset 8: items of a batch one after the other, each with its own length."""
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 8]>
    main (int64[B] lengths, float[B,2] s, float[B,T,2] x) => (float[B,2] last, float[B,T,2] all) {
      r = Exp(x)
      last, all = Scan (lengths, s, r) <num_scan_inputs = 1, directions = [1],
        body = body (float[2] a, float[2] t) => (float[2] b, float[2] d) { b = Add(a, t) d = Neg(b) }>
    }""").SerializeToString()
    x = np.random.default_rng(7).standard_normal((3, 4, 2)).astype(np.float32)
    session = assert_as_on_the_cpu(made, *({"lengths": np.array(n), "s": np.ones((3, 2), np.float32), "x": x} for n in ([4, 2, 3], [0, 0, 4], [0, 0, 0])))
    assert on_device(session) == {"Add": True, "Neg": True} and not copies(session)
