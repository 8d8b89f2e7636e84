"""The uses of IOBinding that its documentation shows, on CUDA as programs write them."""
import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper as h

import ortcore as ort

from .. import models

input_data = np.random.default_rng(0).standard_normal((1, 3, 8, 8), np.float32)


@pytest.fixture(autouse=True)
def model_files(tmp_path, monkeypatch):
    """model.onnx sums images over their pixels; multi_input_model.onnx adds and multiplies."""
    monkeypatch.chdir(tmp_path)
    node = h.make_node("ReduceSum", ["input", "axes"], ["output"], keepdims=0)
    image, sums = models.value("input", P.FLOAT, ["N", 3, "H", "W"]), models.value("output", P.FLOAT, ["N", 3])
    (tmp_path / "model.onnx").write_bytes(models.model([node], [image], [sums], {"axes": np.array([2, 3])}))
    nodes = [h.make_node("Add", ["input1", "input2"], ["output1"]), h.make_node("Mul", ["input1", "input2"], ["output2"])]
    (tmp_path / "multi_input_model.onnx").write_bytes(
        models.model(nodes, [models.value(n, P.FLOAT, ["N"]) for n in ("input1", "input2")], [models.value(n, P.FLOAT, ["N"]) for n in ("output1", "output2")]))


def close(result, image):
    return np.allclose(result, image.sum(axis=(2, 3)), atol=1e-4)


def test_basic_cuda_inference():
    sess = ort.InferenceSession("model.onnx", providers=["CUDAExecutionProvider"])

    # Create IOBinding
    io_binding = sess.io_binding()

    # Create input on GPU
    ortvalue_input = ort.OrtValue.ortvalue_from_numpy(input_data, "cuda", 0)

    # Bind input and output
    io_binding.bind_ortvalue_input("input", ortvalue_input)
    io_binding.bind_output("output", "cuda")

    # Run inference on GPU
    sess.run_with_iobinding(io_binding)

    # Get outputs (still on GPU)
    outputs = io_binding.get_outputs()
    assert outputs[0].device_name() == "cuda"

    # Copy to CPU if needed
    output_cpu = io_binding.copy_outputs_to_cpu()
    assert close(output_cpu[0], input_data)


def test_reusing_a_binding():
    sess = ort.InferenceSession("model.onnx", providers=["CUDAExecutionProvider"])
    io_binding = sess.io_binding()

    # Bind output once
    io_binding.bind_output("output", "cuda")

    # Run multiple times with different inputs
    for i in range(5):
        generated = input_data + i
        ortvalue_input = ort.OrtValue.ortvalue_from_numpy(generated, "cuda", 0)

        # Update input binding
        io_binding.clear_binding_inputs()
        io_binding.bind_ortvalue_input("input", ortvalue_input)

        # Run inference
        sess.run_with_iobinding(io_binding)

        # Process outputs
        outputs = io_binding.get_outputs()
        assert close(outputs[0].numpy(), generated)


def test_preallocated_output(device):
    sess = ort.InferenceSession("model.onnx", providers=["CUDAExecutionProvider"])
    io_binding = sess.io_binding()

    # Pre-allocate output buffer with another library
    output_shape = (1, 3)
    output_buffer = device.array(np.zeros(output_shape, np.float32))

    # Bind to pre-allocated buffer
    io_binding.bind_output("output", device_type="cuda", device_id=0, element_type=np.float32, shape=output_shape, buffer_ptr=output_buffer.data_ptr())

    # Input binding
    input_ortvalue = ort.OrtValue.ortvalue_from_numpy(input_data, "cuda", 0)
    io_binding.bind_ortvalue_input("input", input_ortvalue)

    # Run inference - output written directly to that library's array
    sess.run_with_iobinding(io_binding)
    assert close(output_buffer.numpy(), input_data)
    assert io_binding.get_outputs()[0].data_ptr() == output_buffer.data_ptr()


def test_several_inputs():
    sess = ort.InferenceSession("multi_input_model.onnx", providers=["CUDAExecutionProvider"])
    io_binding = sess.io_binding()
    data1, data2 = np.arange(4, dtype=np.float32), np.full(4, 3, np.float32)

    # Bind multiple inputs
    input1 = ort.OrtValue.ortvalue_from_numpy(data1, "cuda", 0)
    input2 = ort.OrtValue.ortvalue_from_numpy(data2, "cuda", 0)
    io_binding.bind_ortvalue_input("input1", input1)
    io_binding.bind_ortvalue_input("input2", input2)

    # Bind multiple outputs
    io_binding.bind_output("output1", "cuda")
    io_binding.bind_output("output2", "cuda")

    sess.run_with_iobinding(io_binding)

    outputs = io_binding.get_outputs()
    output1, output2 = outputs[0], outputs[1]
    assert np.array_equal(output1.numpy(), data1 + data2) and np.array_equal(output2.numpy(), data1 * data2)


def test_best_practices():
    session = ort.InferenceSession("model.onnx", providers=["CUDAExecutionProvider"])
    gpu_ortvalue = ort.OrtValue.ortvalue_from_numpy(input_data, "cuda", 0)

    # 1. Keep data on GPU throughout pipeline
    io_binding = session.io_binding()
    io_binding.bind_ortvalue_input("input", gpu_ortvalue)
    io_binding.bind_output("output", "cuda")

    session.run_with_iobinding(io_binding)
    gpu_output = io_binding.get_outputs()[0]   # Stays on GPU
    assert gpu_output.device_name() == "cuda"

    # 2. Reuse IOBinding object
    batches = [ort.OrtValue.ortvalue_from_numpy(input_data * i, "cuda", 0) for i in range(3)]
    for i, batch in enumerate(batches):
        io_binding.clear_binding_inputs()
        io_binding.bind_ortvalue_input("input", batch)
        session.run_with_iobinding(io_binding)
        outputs = io_binding.get_outputs()
        assert close(outputs[0].numpy(), input_data * i)

    # 3. Synchronize explicitly when needed
    io_binding.synchronize_inputs()
    io_binding.synchronize_outputs()           # Ensure GPU work is complete


def test_arrays_of_the_host_on_a_session_on_the_device():
    sess = ort.InferenceSession("model.onnx", providers=["CUDAExecutionProvider"])
    io_binding = sess.io_binding()
    io_binding.bind_cpu_input("input", input_data)
    io_binding.bind_output("output", "cpu")
    sess.run_with_iobinding(io_binding)
    assert close(io_binding.copy_outputs_to_cpu()[0], input_data)
    assert close(sess.run(["output"], {"input": input_data})[0], input_data)
