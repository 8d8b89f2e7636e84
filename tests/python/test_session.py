"""Making sessions, and what they tell of the model and of themselves."""
import json
import pickle
import re
import time
import warnings
import weakref

import numpy as np
import pytest
from onnx import TensorProto as P

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import Fail, InvalidProtobuf, ModelLoadCanceled, NoSuchFile

from . import models

CPU = "CPUExecutionProvider"
A = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_from_bytes(wrap):
    assert ort.InferenceSession(wrap(models.add())).get_providers() == [CPU]


def test_from_paths(tmp_path):
    path = tmp_path / "mödel.onnx"
    path.write_bytes(models.add())
    for given in (path, str(path)):
        assert ort.InferenceSession(given).run(None, {"a": A, "b": A})[0].tolist() == (A + A).tolist()


@pytest.mark.parametrize("given", [None, 5, ["model.onnx"]])
def test_from_nonsense(given):
    with pytest.raises(TypeError, match="give a path, or the model as bytes"):
        ort.InferenceSession(given)


def test_bad_files(tmp_path):
    with pytest.raises(NoSuchFile):
        ort.InferenceSession(tmp_path / "none.onnx")
    with pytest.raises(InvalidProtobuf):
        ort.InferenceSession(b"not a model" * 10)
    with pytest.raises(InvalidProtobuf):
        ort.InferenceSession(models.add()[:40])


def test_the_callers_bytes_may_go_away():
    data = models.weighted(np.arange(1000, dtype=np.float32))
    session = ort.InferenceSession(bytes(data))
    del data
    assert session.run(None, {"x": np.zeros(1, np.float32)})[0].tolist() == list(range(1000))


# ---- Providers

def test_providers_are_normalised():
    model = models.add()
    for providers in (None, [], [CPU], (CPU,), [(CPU, {"use_arena": 1})], {CPU}):
        assert ort.InferenceSession(model, providers=providers).get_providers() == [CPU]
    with pytest.warns(UserWarning, match="'FooExecutionProvider' is not in available provider names"):
        assert ort.InferenceSession(model, providers=["FooExecutionProvider"]).get_providers() == [CPU]
    with pytest.warns(UserWarning, match="Duplicate provider"):
        ort.InferenceSession(model, providers=[CPU, CPU])
    with pytest.raises(TypeError, match="providers must be a list of names or of .name, options. tuples, not int"):
        ort.InferenceSession(model, providers=5)


def test_one_provider_may_be_given_by_its_name():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = ort.InferenceSession(models.add(), providers=CPU)
        assert session.get_providers() == [CPU]
        session.set_providers(CPU)
    with pytest.warns(UserWarning, match="Specified provider 'Foo'"):
        ort.InferenceSession(models.add(), providers="Foo")


@pytest.mark.parametrize("providers, options", [([CPU], [{}, {}]), ([CPU], {}), ([CPU], [5]), ([(CPU, {})], [{}])])
def test_bad_provider_options(providers, options):
    with pytest.raises(ValueError):
        ort.InferenceSession(models.add(), providers=providers, provider_options=options, enable_fallback=False)


def test_fallback_prints_and_goes_on(capsys):
    session = ort.InferenceSession(models.add(), providers=[5])
    assert session.get_providers() == [CPU] and len(capsys.readouterr().out.splitlines()) == 4
    with pytest.raises(ValueError, match="strings or .*; 5 is none of them"):
        ort.InferenceSession(models.add(), providers=[5], enable_fallback=0)


def test_fallback_does_not_hide_a_bad_model():
    with pytest.raises(InvalidProtobuf):
        ort.InferenceSession(b"junk", enable_fallback=1)


def test_set_providers_that_fails_leaves_the_session_alive():
    session = ort.InferenceSession(models.add())
    binding, inputs = session.io_binding(), session.get_inputs()
    with pytest.raises(RuntimeError, match="Foo"), pytest.warns(UserWarning):
        session.set_providers(["Foo"])
    assert session.run(None, {"a": A, "b": A})[0].shape == (3, 2) and session.get_inputs() is inputs
    session.set_providers([CPU])
    assert session.get_inputs() is not inputs
    with pytest.raises(ValueError, match="another session"):
        session.run_with_iobinding(binding)


# ---- Options

def test_options_are_copied():
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(models.add(), options)
    options.intra_op_num_threads = 2
    assert session.get_session_options().intra_op_num_threads == 1 and session.get_session_options() is not options


def test_free_dimensions_are_overridden(cpu_session):
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 3)
    options.add_free_dimension_override_by_name("nobody", 3)
    session = cpu_session(models.add(), sess_options=options)
    assert session.get_inputs()[0].shape == [3, 2]
    with pytest.raises(ValueError, match="Expected: 3"):
        session.run(None, {"a": A[:2], "b": A[:2]})


def test_load_can_be_cancelled():
    options = ort.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(ModelLoadCanceled):
        ort.InferenceSession(models.add(), options)


def test_disabled_optimizers_and_unknown_arguments(cpu_session):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cpu_session(models.add(), disabled_optimizers=["ConstantFolding"], read_config_from_model=1, enable_fallback=0)
    with pytest.warns(UserWarning, match="no argument 'something_else', which is ignored; there are 'disabled_optimizers', "):
        cpu_session(models.add(), something_else=1)
    with pytest.warns(UserWarning, match="no argument 'session_options', which is ignored; did you mean 'sess_options'?") as caught:
        cpu_session(models.add(), session_options=ort.SessionOptions())
    assert len(caught) == 1
    cpu_session(models.add(), disabled_optimizers={"ConstantFolding"})
    with pytest.raises(TypeError):
        cpu_session(models.add(), disabled_optimizers=5)


def test_initializers_may_be_temporaries(cpu_session):
    options = ort.SessionOptions()
    options.add_initializer("W", ort.OrtValue.ortvalue_from_numpy(np.full(1000, 3, np.float32)))
    session = cpu_session(models.weighted(np.zeros(1000, np.float32)), sess_options=options)
    del options
    assert (session.run(None, {"x": np.zeros(1, np.float32)})[0] == 3).all()


def test_initializers_are_checked():
    options = ort.SessionOptions()
    options.add_initializer("W", ort.OrtValue.ortvalue_from_numpy(np.zeros(4)))
    with pytest.raises(RuntimeError, match="W"):
        ort.InferenceSession(models.weighted(np.zeros(4, np.float32)), options)
    with pytest.raises(RuntimeError, match="already"):
        options.add_initializer("W", ort.OrtValue.ortvalue_from_numpy(np.zeros(4)))
    with pytest.raises(RuntimeError, match="OrtValue"):
        options.add_initializer("V", np.zeros(4))


@pytest.mark.parametrize("how", ["folder", "buffers", "key"])
def test_external_data_of_a_model_in_memory(tmp_path, how):
    import onnx

    tensor = onnx.TensorProto(name="W", data_type=P.FLOAT, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    proto = onnx.load_from_string(models.weighted(np.zeros(4, np.float32)))
    proto.graph.initializer[0].CopyFrom(tensor)
    data = np.arange(4, dtype=np.float32).tobytes()
    options = ort.SessionOptions()
    external = {"w.bin": bytearray(data)} if how == "buffers" else tmp_path if how == "folder" else None
    if how != "buffers":
        (tmp_path / "w.bin").write_bytes(data)
    if how == "key":
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(tmp_path))
    session = ort.InferenceSession(proto.SerializeToString(), options, external_data=external)
    del external
    assert session.run(None, {"x": np.zeros(1, np.float32)})[0].tolist() == [0, 1, 2, 3]


# ---- What sessions tell

def test_inputs_and_outputs():
    session = ort.InferenceSession(models.add(shape=("N", None)))
    a, b = session.get_inputs()
    assert (a.name, a.type, a.shape) == ("a", "tensor(float)", ["N", None]) and b.name == "b"
    assert str(a) == "NodeArg(name='a', type='tensor(float)', shape=['N', None])"
    assert session.get_inputs() is session.get_inputs() and [o.name for o in session.get_outputs()] == ["c"]
    with pytest.raises(AttributeError):
        a.name = "other"
    session = ort.InferenceSession(models.overridable())
    assert [i.name for i in session.get_inputs()] == ["x"] and [i.name for i in session.get_overridable_initializers()] == ["W"]
    assert ort.InferenceSession(models.sequence_identity()).get_inputs()[0].type == "seq(tensor(float))"
    assert ort.InferenceSession(models.optional_has_element()).get_inputs()[0].type == "optional(tensor(float))"


def test_metadata():
    session = ort.InferenceSession(models.add(name="g", domain="d", model_version=7, doc_string="doc", properties={"k": "v"}))
    meta = session.get_modelmeta()
    assert (meta.producer_name, meta.graph_name, meta.domain, meta.version, meta.description) == ("tests", "g", "d", 7, "doc")
    assert meta.custom_metadata_map == {"k": "v"} and session.get_modelmeta() is meta
    assert ort.InferenceSession(models.add()).get_modelmeta().version == 2**63 - 1


def test_memory_infos_and_devices():
    session = ort.InferenceSession(models.add())
    for info in session.get_input_memory_infos() + session.get_output_memory_infos():
        assert (info.name, info.device_id, info.mem_type) == ("Cpu", 0, ort.OrtMemType.DEFAULT)
    assert [d.ep_name for d in session.get_input_epdevices()] == [CPU, CPU]


def test_assignment_needs_its_option():
    with pytest.raises(Fail, match="record_ep_graph_assignment_info"):
        ort.InferenceSession(models.add()).get_provider_graph_assignment_info()
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    subgraph, = ort.InferenceSession(models.add(), options).get_provider_graph_assignment_info()
    assert subgraph.ep_name == CPU and [(n.op_type, n.name) for n in subgraph.get_nodes()] == [("Add", "add")]


def test_profiling(tmp_path):
    options = ort.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "trace")
    session = ort.InferenceSession(models.add(), options)
    session.run(None, {"a": A, "b": A})
    assert session.get_profiling_start_time_ns() > 0
    path = session.end_profiling()
    assert session.end_profiling() == ""
    with open(path) as file:
        assert {event["cat"] for event in json.load(file)} >= {"Node", "Session"}
    session = ort.InferenceSession(models.add())
    assert session.end_profiling() == "" and session.get_profiling_start_time_ns() == 0


def test_names_of_traces(tmp_path, monkeypatch):
    """The default is onnxruntime's, for programs that look for the file. Sessions do not write over each other's."""
    monkeypatch.chdir(tmp_path)
    options = ort.SessionOptions()
    options.enable_profiling = True
    paths = []
    for _ in range(2):
        paths.append(ort.InferenceSession(models.add(), options).end_profiling())
        time.sleep(0.002)
    assert len(set(paths)) == 2 and all(re.fullmatch(options.profile_file_prefix + r"_\d{4}(-\d\d){2}_(\d\d-){2}\d\d_\d{3}\.json", path) for path in paths)
    assert sorted(paths) == sorted(p.name for p in tmp_path.iterdir())
    options.profile_file_prefix = "x" * 5000
    with pytest.raises(ValueError, match="profile_file_prefix has 5000 bytes; a trace's path may have"):
        ort.InferenceSession(models.add(), options)


def test_stats_and_trim():
    session = ort.InferenceSession(models.add())
    session.run(None, {"a": A, "b": A})
    stats = session.stats()
    assert stats["total"]["runs"] == 1 and stats["latest"]["kernel_launches"] == 1
    assert session.memory_stats()["bytes_in_use"] >= 0 and session.trim() >= 0
    with pytest.raises(RuntimeError, match="runs on the CPU only"):
        session.memory_stats("cuda")
    with pytest.raises(RuntimeError, match="'gpu'"):
        session.memory_stats("gpu")
    assert session.run(None, {"a": A, "b": A})[0].shape == (3, 2)


def test_compatibility_methods():
    session = ort.InferenceSession(models.add())
    assert session.get_tuning_results() == [] and session.set_tuning_results([]) is None
    with pytest.raises(KeyError):
        session.set_tuning_results([{}])
    with pytest.raises(RuntimeError):
        session.set_ep_dynamic_options({})
    assert session.release_captured_graph(0) is None and session.get_provider_options() == {CPU: {}}
    session.disable_fallback()
    session.enable_fallback()
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(session)


def test_values_of_a_session_stay_with_it():
    first, second = (ort.InferenceSession(models.add()) for _ in range(2))
    value = first.create_ortvalue_from_shape_and_type([3, 2], np.float32, "cpu")
    other = ort.OrtValue.ortvalue_from_numpy(A)
    value.update_inplace(A)
    assert first.run_with_ort_values(None, {"a": value, "b": other})[0].numpy().tolist() == (A + A).tolist()
    for use in (lambda: second.run_with_ort_values(None, {"a": value, "b": other}), lambda: second.io_binding().bind_ortvalue_input("a", value)):
        with pytest.raises(ValueError, match="another session"):
            use()
    with pytest.raises(RuntimeError):
        first.create_ortvalue_from_shape_and_type([2], np.float32, "cuda")


def test_with_statement_and_lifetime():
    with ort.InferenceSession(models.add()) as session:
        output = session.run(None, {"a": A, "b": A})[0]
    assert output.tolist() == (A + A).tolist()
    with pytest.raises(AttributeError):
        session.run(None, {"a": A, "b": A})
    session = ort.InferenceSession(models.add())
    reference = weakref.ref(session)
    del session
    assert reference() is None


def test_subclasses():
    class Mine(ort.InferenceSession):
        pass

    session = Mine(models.add())
    session.note = "mine"
    assert session.run(["c"], {"a": A, "b": A})[0].shape == (3, 2)


def test_importing_and_loading_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ort.InferenceSession(models.add(), providers=[CPU])
