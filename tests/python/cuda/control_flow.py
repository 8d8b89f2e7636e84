"""What the tests of If, Loop and Scan share: models in ONNX's text syntax, where their nodes are, results beside those of the CPU provider."""
import numpy as np
import onnx.parser

import ortcore as ort

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
X = np.arange(-3, 5, dtype=np.float32)


def model(text):
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]>\n{text}').SerializeToString()


def on_device(session):
    """{operator: whether it runs on the device} of the nodes in subgraphs, copies aside."""
    return {node.op_type: node.provider == CUDA for node in session.explain() if node.subgraph and not node.op_type.startswith("Memcpy")}


def copies(session):
    """[(operator, is it in a subgraph)] of the copies between the sides."""
    return [(node.op_type, node.subgraph is not None) for node in session.explain() if node.op_type.startswith("Memcpy")]


def run_bound(session, feeds):
    """With everything bound on the device."""
    binding = session.io_binding()
    for name, x in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(x, "cuda"))
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda")
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()


def assert_as_on_the_cpu(made, *all_feeds):
    """Runs of one session, one after the other and all over again; its results are those of the CPU provider. Returns it."""
    session = ort.InferenceSession(made, providers=[CUDA, CPU])
    reference = ort.InferenceSession(made, providers=[CPU])
    for feeds in all_feeds * 2:
        want = reference.run(None, feeds)
        for got in (session.run(None, feeds), run_bound(session, feeds)):
            for a, b in zip(got, want, strict=True):
                assert a.shape == b.shape and a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return session
