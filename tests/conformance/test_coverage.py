"""Every operator that the library registers has a case, for each opset at which it changed."""
from operators import INTERNAL_DOMAIN, operators

from .test_cases import CASES


def row_for(rows, case):
    """The `since` of the row that a model of the case's opset uses."""
    return max((since for domain, name, since in rows if (domain, name) == (case.domain, case.op) and since <= case.opset), default=None)


def test_every_registered_operator_has_a_case():
    rows = {(op.domain, op.name, op.since) for op in operators() if op.domain != INTERNAL_DOMAIN}
    assert rows, "the library lists no operator"
    covered = {(case.domain, case.op, row_for(rows, case)) for case in CASES if not case.error or "not supported" in case.error}
    missing = sorted(f"{domain or 'ai.onnx'} {name} since {since}" for domain, name, since in rows - covered)
    assert not missing, f"{len(missing)} rows of the registry have no case:\n" + "\n".join(missing)
