"""Random models with control flow: results as on the CPU, in any order in which the device may do its work."""
import pytest

from . import random_models
from .control_flow import CUDA, assert_as_on_the_cpu

EACH = 50


@pytest.mark.parametrize("first", range(0, 4 * EACH, EACH))
def test_random_models(order, first):
    on_device = 0
    for seed in range(first, first + EACH):
        session = assert_as_on_the_cpu(random_models.make(seed), *map(random_models.feeds, range(2)))
        on_device += sum(node.subgraph is not None and node.provider == CUDA for node in session.explain())
    assert on_device > EACH
