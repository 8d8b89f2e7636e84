"""What ONNX's own schemas say of an operator: at which opsets it changed, and which types a parameter takes."""

import onnx
from onnx import TensorProto, helper

from .case import bf16

OLDEST = 7  # before it, operators broadcast by attributes


def versions(op):
    """The opsets to test an operator at: each at which it changed."""
    changes = {s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == ""}
    return sorted({max(v, OLDEST) for v in changes})


def dtypes(op, opset, parameter="T", among=None):
    """numpy dtypes that a type parameter allows, small and packed types included."""
    schema = onnx.defs.get_schema(op, opset)
    constraint = next((c for c in schema.type_constraints if c.type_param_str == parameter), schema.type_constraints[0])
    names = [t.removeprefix("tensor(").removesuffix(")").upper() for t in constraint.allowed_type_strs]
    types = [bf16 if n == "BFLOAT16" else helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(n)) for n in names]
    return [t for t in types if among is None or t in among]
