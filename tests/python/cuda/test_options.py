"""Options of the CUDA provider, and what a session says of itself."""
import numpy as np
import pytest

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import InvalidArgument

from .. import models


@pytest.mark.parametrize("options, text", [
    ({"device_idd": 0}, "no option 'device_idd'; did you mean 'device_id'"),
    ({"enable_graphs_of_cuda_please": 1}, "its options are device_id, "),
    ({"device_id": "first"}, "'device_id' is 'first'; it must be a whole number from 0"),
    ({"device_id": -1}, "'device_id' is '-1'"),
    ({"device_id": 9}, "device_id is 9"),
    ({"use_tf32": 2}, "'use_tf32' is '2'; it must be 0 or 1"),
    ({"gpu_mem_limit": "2GB"}, "'gpu_mem_limit' is '2GB'"),
    ({"arena_extend_strategy": "kTwice"}, "one of kNextPowerOfTwo, kSameAsRequested"),
    ({"cudnn_conv_algo_search": "FASTEST"}, "one of EXHAUSTIVE, HEURISTIC, DEFAULT"),
    ({"user_compute_stream": "stream"}, "must be an address"),
    ({"gpu_external_alloc": 4096}, "must be given together"),
])
def test_wrong_options_are_refused(session, options, text):
    with pytest.raises(InvalidArgument, match=text):
        session(models.add(), **options)


def test_options_are_echoed_with_defaults(session):
    made = session(models.add(), gpu_mem_limit=1 << 30, use_tf32=False, enable_cuda_graph=True)
    options = made.get_provider_options()
    assert list(options) == made.get_providers() == ["CUDAExecutionProvider", "CPUExecutionProvider"] and options["CPUExecutionProvider"] == {}
    cuda = options["CUDAExecutionProvider"]
    assert cuda["gpu_mem_limit"] == str(1 << 30) and cuda["use_tf32"] == "0" and cuda["enable_cuda_graph"] == "1"
    assert cuda["device_id"] == "0" and cuda["arena_extend_strategy"] == "kNextPowerOfTwo" and cuda["do_copy_in_default_stream"] == "1"
    assert all(isinstance(value, str) for value in cuda.values())


def test_both_spellings_of_options():
    for arguments in ({"providers": [("CUDAExecutionProvider", {"device_id": 0})]},
                      {"providers": ["CUDAExecutionProvider"], "provider_options": [{"device_id": "0"}]}):
        assert ort.InferenceSession(models.add(), **arguments).get_providers()[0] == "CUDAExecutionProvider"
    options = ort.SessionOptions()
    options.add_provider("CUDAExecutionProvider", {"device_id": "0"})
    assert ort.InferenceSession(models.add(), options).get_providers()[0] == "CUDAExecutionProvider"


def test_a_memory_limit_that_is_too_small(session, two):
    with pytest.raises(MemoryError, match="may hold|smaller than requested"):
        big = session(models.add(), gpu_mem_limit=4096)
        big.run(None, {"a": np.zeros((100_000, 2), np.float32), "b": np.zeros((100_000, 2), np.float32)})
    assert np.array_equal(session(models.add(), gpu_mem_limit=1 << 22).run(None, {"a": two[0], "b": two[1]})[0], two[2])


def test_memory_infos(add):
    assert ort.get_device() == "GPU"
    assert all(info.name in ("Cuda", "Cpu") for info in add.get_input_memory_infos() + add.get_output_memory_infos())
    assert [device.ep_name for device in add.get_input_epdevices()] in (["CUDAExecutionProvider"] * 2, ["CPUExecutionProvider"] * 2)


def test_memory_is_given_back(add, two):
    for rows in (1000, 100, 10):
        add.run(None, {"a": np.ones((rows, 2), np.float32), "b": np.ones((rows, 2), np.float32)})
    assert add.trim() >= 0
    assert np.array_equal(add.run(None, {"a": two[0], "b": two[1]})[0], two[2])


def test_memory_is_given_back_after_a_run(add, emulated):
    options, feed = ort.RunOptions(), {"a": np.ones((50_000, 2), np.float32), "b": np.ones((50_000, 2), np.float32)}
    add.run(None, feed)
    before = emulated.counters()["live_bytes"]
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0;gpu:0")
    add.run(None, feed, options)
    assert emulated.counters()["live_bytes"] < before
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "gpu:5")
    with pytest.raises(InvalidArgument, match="cpu:0 and gpu:0 only"):
        add.run(None, feed, options)
