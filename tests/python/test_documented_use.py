"""The uses of IOBinding that its documentation shows, as programs write them; those for CUDA run on the CPU."""
import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper as h

import ortcore as ort

from . import models

SHAPE = (1, 3, 224, 224)


@pytest.fixture(autouse=True)
def model_files(tmp_path, monkeypatch):
    """model.onnx sums images over their pixels; multi_input_model.onnx adds and multiplies."""
    monkeypatch.chdir(tmp_path)
    node = h.make_node("ReduceSum", ["input", "axes"], ["output"], keepdims=0)
    image, sums = models.value("input", P.FLOAT, ["N", 3, 224, 224]), models.value("output", P.FLOAT, ["N", 3])
    (tmp_path / "model.onnx").write_bytes(models.model([node], [image], [sums], {"axes": np.array([2, 3])}))
    nodes = [h.make_node("Add", ["input1", "input2"], ["output1"]), h.make_node("Mul", ["input1", "input2"], ["output2"])]
    (tmp_path / "multi_input_model.onnx").write_bytes(
        models.model(nodes, [models.value(n, P.FLOAT, ["N"]) for n in ("input1", "input2")], [models.value(n, P.FLOAT, ["N"]) for n in ("output1", "output2")]))


def close(result, image):
    return np.allclose(result, image.sum(axis=(2, 3)), atol=1e-1)


def test_cpu_binding():
    sess = ort.InferenceSession("model.onnx")
    io_binding = sess.io_binding()

    # Bind CPU input directly
    input_array = np.random.randn(1, 3, 224, 224).astype(np.float32)
    io_binding.bind_cpu_input("input", input_array)

    # Bind output to CPU
    io_binding.bind_output("output", "cpu")

    sess.run_with_iobinding(io_binding)
    outputs = io_binding.copy_outputs_to_cpu()
    assert len(outputs) == 1 and close(outputs[0], input_array)


def test_basic():
    sess = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    io_binding = sess.io_binding()
    input_data = np.random.randn(*SHAPE).astype(np.float32)
    io_binding.bind_ortvalue_input("input", ort.OrtValue.ortvalue_from_numpy(input_data, "cpu", 0))
    io_binding.bind_output("output", "cpu")
    sess.run_with_iobinding(io_binding)
    outputs = io_binding.get_outputs()
    assert outputs[0].device_name() == "cpu" and close(io_binding.copy_outputs_to_cpu()[0], input_data)


def test_one_binding_for_many_runs():
    sess = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    io_binding = sess.io_binding()
    io_binding.bind_output("output", "cpu")
    for i in range(20):
        input_data = np.full((1 + i % 3, 3, 224, 224), i, np.float32)
        io_binding.clear_binding_inputs()
        io_binding.bind_ortvalue_input("input", ort.OrtValue.ortvalue_from_numpy(input_data, "cpu", 0))
        sess.run_with_iobinding(io_binding)
        assert close(io_binding.get_outputs()[0].numpy(), input_data)


def test_preallocated_output():
    sess = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    io_binding = sess.io_binding()
    input_data, output_buffer = np.ones(SHAPE, np.float32), np.zeros((1, 3), np.float32)
    io_binding.bind_output("output", device_type="cpu", device_id=0, element_type=np.float32, shape=output_buffer.shape,
                           buffer_ptr=output_buffer.ctypes.data)
    io_binding.bind_ortvalue_input("input", ort.OrtValue.ortvalue_from_numpy(input_data, "cpu", 0))
    sess.run_with_iobinding(io_binding)
    assert close(output_buffer, input_data)


def test_several_inputs_and_outputs():
    sess = ort.InferenceSession("multi_input_model.onnx", providers=["CPUExecutionProvider"])
    io_binding = sess.io_binding()
    data1, data2 = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    io_binding.bind_ortvalue_input("input1", ort.OrtValue.ortvalue_from_numpy(data1, "cpu", 0))
    io_binding.bind_ortvalue_input("input2", ort.OrtValue.ortvalue_from_numpy(data2, "cpu", 0))
    io_binding.bind_output("output1", "cpu")
    io_binding.bind_output("output2", "cpu")
    sess.run_with_iobinding(io_binding)
    output1, output2 = io_binding.get_outputs()
    assert output1.numpy().tolist() == [4, 6] and output2.numpy().tolist() == [3, 8]


def test_outputs_that_stay_on_the_device():
    sess = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    io_binding = sess.io_binding()
    batches = [np.full(SHAPE, i, np.float32) for i in range(3)]
    io_binding.bind_output("output", "cpu")
    for batch in batches:
        io_binding.clear_binding_inputs()
        io_binding.bind_ortvalue_input("input", ort.OrtValue.ortvalue_from_numpy(batch))
        sess.run_with_iobinding(io_binding)
        io_binding.synchronize_outputs()
        assert close(io_binding.get_outputs()[0].numpy(), batch)
