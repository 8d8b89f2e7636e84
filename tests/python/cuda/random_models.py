"""Random models of If, Loop and Scan within each other, with operators of both sides.

Values have one of four types: a matrix (float [2, 2]), a number (float), a count (int64) or a flag (bool). What is computed of them stays small, so that
loops end and results can be compared. A subgraph sees everything around it.
"""
import random

import numpy as np
from onnx import TensorProto as P
from onnx import helper as h
from onnx import numpy_helper as nh

TYPES = {"matrix": (P.FLOAT, [2, 2]), "number": (P.FLOAT, []), "count": (P.INT64, []), "flag": (P.BOOL, [])}
INPUTS = {"x": "matrix", "a": "number", "n": "count", "c": "flag"}
CONSTANTS = {"w": np.array([[0.5, 0.25], [-0.5, 0.75]], np.float32), "half": np.float32(0.5), "three": np.int64(3), "yes": np.bool_(True),
             "axis0": np.array([0]), "axis1": np.array([1]), "axis2": np.array([2])}
CONSTANT_TYPES = {"w": "matrix", "half": "number", "three": "count", "yes": "flag"}

# (type of the result, operators one after the other): each reads the result of the one before it, and then a value of each type that it names. The
# device has no kernel for Det.
STEPS = [
    ("matrix", ("Tanh", "matrix")),
    ("matrix", ("Neg", "matrix")),
    ("matrix", ("Transpose", "matrix")),
    ("matrix", ("Max", "matrix", "matrix")),
    ("matrix", ("Add", "matrix", "matrix"), ("Sin",)),
    ("matrix", ("MatMul", "matrix", "matrix"), ("Tanh",)),
    ("matrix", ("Mul", "matrix", "number"), ("Tanh",)),
    ("number", ("ReduceMax", "matrix"), ("Squeeze",)),
    ("number", ("Det", "matrix"), ("Tanh",)),
    ("number", ("Sub", "number", "number"), ("Tanh",)),
    ("number", ("Cast", "count"), ("Tanh",)),
    ("count", ("Add", "count", "count"), ("Mod", "three")),
    ("count", ("Max", "count", "count")),
    ("count", ("Shape", "matrix"), ("ReduceMax",), ("Squeeze",)),
    ("flag", ("Less", "count", "count")),
    ("flag", ("Greater", "number", "number")),
    ("flag", ("Not", "flag")),
]


class Scope:
    """The nodes of one graph, and the names that they may read, by type."""

    def __init__(self, maker, seen):
        self.maker, self.nodes = maker, []
        self.seen = {kind: list(names) for kind, names in seen.items()}
        self.outer = {name for names in seen.values() for name in names}

    def pick(self, kind):
        """A name of that type, often the last."""
        names = self.seen[kind]
        return names[-1] if self.maker.chance(0.4) else self.maker.choice(names)

    def node(self, operator, inputs, outputs=1, **attributes):
        names = [self.maker.name() for _ in range(outputs)]
        self.nodes.append(h.make_node(operator, inputs, names, name=self.maker.name(), **attributes))
        return names

    def add(self, depth):
        made = self.maker.choice([self.step] * 8 + [self.branches, self.loop, self.scan] * (depth < 3))(depth)
        for name, kind in made:
            self.seen[kind].append(name)

    def step(self, depth):
        kind, *operators = self.maker.choice(STEPS)
        last = []
        for operator, *reads in operators:
            to = {"to": P.FLOAT} if operator == "Cast" else {}
            last = self.node(operator, last + [self.pick(of) if of in TYPES else of for of in reads], **to)
        return [(last[0], kind)]

    def results(self, kinds):
        """Names of those types for outputs: each is computed here, or an input of this graph, and given once."""
        names = []
        for kind in kinds:
            name = self.pick(kind)
            names.append(self.node("Identity", [name])[0] if name in self.outer or name in names else name)
        return names

    def branches(self, depth):
        kinds, graphs = self.maker.kinds(1, 3), []
        for _ in range(2):
            inside = self.maker.fill(Scope(self.maker, self.seen), depth + 1)
            graphs.append(inside.graph([], zip(inside.results(kinds), kinds, strict=True)))
        names = self.node("If", [self.pick("flag")], len(kinds), then_branch=graphs[0], else_branch=graphs[1])
        return zip(names, kinds, strict=True)

    def body(self, depth, first, carried, stacked):
        """A graph with `first`, the carried values and results to be stacked. Loop's gives a condition first; Scan's has the slice behind its states."""
        inside, inputs = Scope(self.maker, self.seen), []
        for kind in first + carried:
            inputs.append((self.maker.name(), kind))
            inside.seen[kind].append(inputs[-1][0])
        self.maker.fill(inside, depth + 1)
        kinds = ["flag"] * (first == ["count", "flag"]) + carried + stacked
        if first == ["matrix"]:
            inputs = inputs[1:] + inputs[:1]
        return inside.graph(inputs, zip(inside.results(kinds), kinds, strict=True))

    def loop(self, depth):
        carried, stacked = self.maker.kinds(1, 3), ["number"] * self.maker.below(2)
        body = self.body(depth, ["count", "flag"], carried, stacked)
        names = self.node("Loop", [self.pick("count"), self.pick("flag"), *map(self.pick, carried)], len(carried + stacked), body=body)
        return [*zip(names, carried, strict=False), *self.summed(names[len(carried):])]

    def scan(self, depth):
        carried, stacked, axis = self.maker.kinds(1, 3), ["matrix"] * self.maker.below(2), self.maker.below(3)
        slices = [self.node("Unsqueeze", [self.pick("matrix"), f"axis{axis}"])[0] for _ in range(2 if axis else 1 + self.maker.below(3))]
        whole = self.node("Concat", slices, axis=axis)
        attributes = {"scan_output_axes": [self.maker.below(3)], "scan_output_directions": [self.maker.below(2)]} if stacked else {}
        names = self.node("Scan", [*map(self.pick, carried), *whole], len(carried + stacked), body=self.body(depth, ["matrix"], carried, stacked),
                          num_scan_inputs=1, scan_input_axes=[axis], scan_input_directions=[self.maker.below(2)], **attributes)
        return [*zip(names, carried, strict=False), *self.summed(names[len(carried):])]

    def summed(self, stacked):
        return [(self.node("Tanh", self.node("ReduceSum", [name], keepdims=0))[0], "number") for name in stacked]

    def graph(self, inputs, outputs, constants=()):
        values = [[h.make_tensor_value_info(name, *TYPES[kind]) for name, kind in ends] for ends in (inputs, outputs)]
        return h.make_graph(self.nodes, self.maker.name(), *values, constants)


class Maker:
    """What all scopes of one model draw from."""

    def __init__(self, seed):
        self.random, self.names = random.Random(seed), 0
        self.choice, self.below = self.random.choice, self.random.randrange

    def chance(self, probability):
        return self.random.random() < probability

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def kinds(self, least, most):
        return [self.choice(["matrix", *TYPES]) for _ in range(least + self.below(most - least + 1))]

    def fill(self, scope, depth):
        for _ in range(1 + self.below(10 if depth == 0 else 5)):
            scope.add(depth)
        return scope


def make(seed):
    """A model, serialized; the same for the same seed."""
    maker = Maker(seed)
    seen = {kind: [name for name, of in {**CONSTANT_TYPES, **INPUTS}.items() if of == kind] for kind in TYPES}
    scope = maker.fill(Scope(maker, seen), 0)
    kinds = maker.kinds(2, 5)
    graph = scope.graph(INPUTS.items(), zip(scope.results(kinds), kinds, strict=True), [nh.from_array(np.asarray(v), k) for k, v in CONSTANTS.items()])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=10).SerializeToString()


def feeds(seed):
    rng = np.random.default_rng(seed)
    return {"x": rng.uniform(-1, 1, (2, 2)).astype(np.float32), "a": np.array(rng.uniform(-1, 1), np.float32), "n": np.array(rng.integers(0, 4)),
            "c": np.array(rng.random() < 0.5)}
