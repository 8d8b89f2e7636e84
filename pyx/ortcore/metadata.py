"""What a model says of itself, and where its nodes were placed."""
from __future__ import annotations

from typing import Any, NamedTuple


class NodeArg:
    """An input or output of a model. The attributes cannot be changed."""

    __slots__ = ("_name", "_shape", "_type")

    def __init__(self, name: str, type: str, shape: list[int | str | None]):
        self._name, self._type, self._shape = name, type, shape

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def type(self) -> str:
        """"tensor(float)", "seq(tensor(int64))", ..."""
        return self._type

    @property
    def shape(self) -> list[int | str | None]:
        """A dim is an int, the name of a symbol, or None. [] of scalars, of what is no tensor, and where the rank is unknown."""
        return self._shape

    def __str__(self) -> str:
        return f"NodeArg(name={self._name!r}, type={self._type!r}, shape={self._shape!r})"


class ModelMetadata:
    """What the model's file says of itself. `version` is 2**63 - 1 if it says nothing."""

    def __init__(self, producer_name: str, graph_name: str, domain: str, description: str, graph_description: str, version: int,
                 custom_metadata_map: dict[str, str]):
        self.producer_name = producer_name
        self.graph_name = graph_name
        self.domain = domain
        self.description = description
        self.graph_description = graph_description
        self.version = version
        self.custom_metadata_map = custom_metadata_map


class OrtEpAssignedNode:
    """A node of the model that a provider runs."""

    def __init__(self, name: str, op_type: str, domain: str):
        self.name, self.op_type, self.domain = name, op_type, domain


class OrtEpAssignedSubgraph:
    """The nodes that one provider runs."""

    def __init__(self, ep_name: str, nodes: list[OrtEpAssignedNode]):
        self.ep_name = ep_name
        self._nodes = nodes

    def get_nodes(self) -> list[OrtEpAssignedNode]:
        """The nodes, in the order in which they run."""
        return list(self._nodes)


class OrtExternalInitializerInfo:
    """Where the data of an initializer lies outside the model."""

    def __init__(self, filepath: str, file_offset: int, byte_size: int):
        self.filepath, self.file_offset, self.byte_size = filepath, file_offset, byte_size


class PlacedNode(NamedTuple):
    """A node as a session executes it."""

    name: str
    op_type: str
    domain: str
    provider: str
    reason: str | None                                      # in a session on CUDA: why it runs on the CPU, or why it copies
    bytes: int | None                                       # of its first output with the latest shapes, where they are known
    computed_by: str | None                                 # "ortcore", or the library that does it for the latest shapes; None if not known yet
    subgraph: str | None                                    # "node/attribute" of the If, Loop or Scan that it is in; None in the main graph

    def __str__(self) -> str:
        library = "" if self.computed_by in (None, "ortcore") else f" by {self.computed_by}"
        size = "" if self.bytes is None else f", {self.bytes} bytes"
        inside = f" in {self.subgraph}" if self.subgraph else ""
        return f"{self.name} ({self.op_type}){inside}: {self.provider}{library}{size}" + (f", because {self.reason}" if self.reason else "")


def assigned_subgraphs(nodes: list[tuple[str, str, str, str, str | None, int | None, str | None, str | None]]) -> list[OrtEpAssignedSubgraph]:
    """Nodes as NativeSession.nodes() gives them, gathered by provider."""
    by_provider: dict[str, list[OrtEpAssignedNode]] = {}
    for name, op_type, domain, provider, *_ in nodes:
        by_provider.setdefault(provider, []).append(OrtEpAssignedNode(name, op_type, domain))
    return [OrtEpAssignedSubgraph(provider, its) for provider, its in by_provider.items()]


def make_node_args(io: list[tuple[str, str, list[int | str | None] | None, Any]]) -> list[NodeArg]:
    """From NativeSession.io()."""
    return [NodeArg(name, type, shape or []) for name, type, shape, _ in io]
