"""The one-node ONNX model of a case."""
import enum

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .case import Case, Opt, Seq


class Shapes(enum.Enum):
    """What the model says of its inputs."""

    SYMBOLIC = "symbolic dims"
    FIXED = "fixed dims"
    CONSTANT = "inputs after the first are initializers"


def element_type(array):
    return TensorProto.STRING if array.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(array.dtype)


def tensor_type(array, symbolic):
    shape = [None] * array.ndim if symbolic else array.shape
    return helper.make_tensor_type_proto(element_type(array), shape)


def type_of(value, symbolic=True):
    if isinstance(value, Opt):
        return helper.make_optional_type_proto(type_of(value.like, symbolic))
    if isinstance(value, Seq):
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(element_type(value), None))
    return output_type(value) if isinstance(value, dict) else tensor_type(value, symbolic)


def output_type(value):
    """An output's type with an unknown shape, so that the engine's own inference is what counts."""
    if isinstance(value, Seq):
        return type_of(value)
    if isinstance(value, list):
        return helper.make_sequence_type_proto(output_type(value[0]))
    if isinstance(value, dict):
        key, item = (np.asarray(list(part)[0]) for part in (value.keys(), value.values()))
        return helper.make_map_type_proto(element_type(key), output_type(item))
    return helper.make_tensor_type_proto(element_type(np.asarray(value)), None)


def attribute(name, value):
    if isinstance(value, np.ndarray):
        value = numpy_helper.from_array(value)
    return helper.make_attribute(name, value)


def is_constant(case: Case, index, shapes):
    return shapes is Shapes.CONSTANT and index > 0 and isinstance(case.inputs[index], np.ndarray)


def has_constants(case: Case):
    return case.constant and any(is_constant(case, i, Shapes.CONSTANT) for i in range(len(case.inputs)))


def input_names(case: Case):
    return [f"in{i}" if x is not None else "" for i, x in enumerate(case.inputs)]


def build(case: Case, wanted, shapes: Shapes):
    """(serialised model, feeds, names of the wanted outputs). `wanted` has a None for each output that is not asked for."""
    inputs = input_names(case)
    outputs = [f"out{i}" if w is not None else "" for i, w in enumerate(wanted)]
    node = helper.make_node(case.op, inputs, outputs, domain=case.domain, name="node")
    node.attribute.extend(attribute(k, v) for k, v in case.attrs.items())
    types = case.output_types or [output_type(w) if w is not None else None for w in wanted]
    fed = [i for i, x in enumerate(case.inputs) if x is not None and not is_constant(case, i, shapes)]
    graph = helper.make_graph(
        [node], "case",
        [helper.make_value_info(inputs[i], type_of(case.inputs[i], shapes is Shapes.SYMBOLIC)) for i in fed],
        [helper.make_value_info(name, kind) for name, kind in zip(outputs, types, strict=True) if name],
        [numpy_helper.from_array(x, inputs[i]) for i, x in enumerate(case.inputs) if is_constant(case, i, shapes)])
    # Subgraphs may use operators of the default domain whatever the domain of the case.
    imports = [helper.make_opsetid(case.domain, case.opset)] + ([helper.make_opsetid("", 17)] if case.domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=max(8, helper.find_min_ir_version_for(imports, ignore_unknown=True)))
    feeds = {inputs[i]: case.inputs[i].value if isinstance(case.inputs[i], Opt) else case.inputs[i] for i in fed}
    return onnx.ModelProto.SerializeToString(model), feeds, [name for name in outputs if name]
