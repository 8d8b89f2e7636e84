"""Operators of ai.onnx.ml."""

import numpy as np
from conformance.case import case, data

ML = {"domain": "ai.onnx.ml"}
X = np.array([[1, 2, 3], [-1, 0.5, 2], [0, 0, 0]], np.float32)
LABELS = {"classlabels_ints": [10, 20, 30]}
STUMPS = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 0, 1, 2],
    "nodes_featureids": [0, 0, 0, 1, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0, 1.0, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
}

INDEXED = {                                                 # the same for TreeEnsemble
    "n_targets": 1,
    "tree_roots": [0, 1],
    "nodes_featureids": [0, 1],
    "nodes_splits": np.array([0.5, 1.0], np.float32),
    "nodes_modes": np.array([0, 3], np.uint8),
    "nodes_truenodeids": [0, 2],
    "nodes_falsenodeids": [1, 3],
    "nodes_trueleafs": [1, 1],
    "nodes_falseleafs": [1, 1],
    "leaf_targetids": [0, 0, 0, 0],
    "leaf_weights": np.array([1, 2, 10, 20], np.float32),
}


def leaves(prefix, targets, weights):
    return {f"{prefix}_treeids": [0, 0, 1, 1], f"{prefix}_nodeids": [1, 2, 1, 2], f"{prefix}_ids": targets, f"{prefix}_weights": weights}


def stump_sum(x, weights=(1.0, 2.0, 10.0, 20.0)):
    return np.where(x[:, 0] <= 0.5, weights[0], weights[1]) + np.where(x[:, 1] > 1, weights[2], weights[3])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


W = np.arange(9, dtype=np.float32).reshape(3, 3) / 10 - 0.3
B = np.array([0.1, -0.2, 0.3], np.float32)

def forest(trees=11, features=7, depth=8):
    """(attributes, function of x) of random trees of many sizes: deep enough on the average to be walked several at once, with some left over."""
    random = np.random.default_rng(8)
    nodes = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
    weights = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    grown = []

    def grow(tree, left):
        number = len(grown[tree])
        grown[tree].append(None)
        branch = left > 0 and random.random() < 0.95
        feature, threshold, weight = int(random.integers(features)), float(np.float32(random.normal())), float(np.float32(random.normal()))
        row = {"treeids": tree, "nodeids": number, "featureids": feature, "values": threshold, "modes": "BRANCH_LEQ" if branch else "LEAF", "truenodeids": 0,
               "falsenodeids": 0}
        at = len(nodes["treeids"])
        for key, value in row.items():
            nodes[key].append(value)
        if branch:
            yes, no = grow(tree, left - 1), grow(tree, left - 1)
            nodes["truenodeids"][at], nodes["falsenodeids"][at] = yes, no
            grown[tree][number] = (feature, threshold, yes, no)
        else:
            for key, value in {"treeids": tree, "nodeids": number, "ids": 0, "weights": weight}.items():
                weights[key].append(value)
            grown[tree][number] = weight
        return number

    for tree in range(trees):
        grown.append([])
        grow(tree, 0 if tree == 3 else depth + tree % 3)

    def leaf(tree, x):
        node = tree[0]
        while isinstance(node, tuple):
            node = tree[node[2] if x[node[0]] <= node[1] else node[3]]
        return node

    attrs = {f"nodes_{k}": v for k, v in nodes.items()} | {f"target_{k}": v for k, v in weights.items()}
    return attrs, lambda x: np.array([[leaf(tree, row) for tree in grown] for row in x])


FOREST, leaves_of = forest()
FOREST_X = np.random.default_rng(9).normal(size=(40, 7)).astype(np.float32)
FOREST_X[3, 2], FOREST_X[4, 5] = np.nan, np.inf

VECTORS, SVM_X = data((70, 5), seed=11), data((4, 5), seed=12)
KERNELS = {                                                 # gamma 0.1, coef0 0.2, degree 3
    "RBF": lambda x: np.exp(-0.1 * ((x[:, None] - VECTORS) ** 2).sum(-1)), "LINEAR": lambda x: x @ VECTORS.T,
    "POLY": lambda x: (0.1 * (x @ VECTORS.T) + 0.2) ** 3, "SIGMOID": lambda x: np.tanh(0.1 * (x @ VECTORS.T) + 0.2)}

CASES = [
    *[case("TreeEnsembleRegressor", opset, [FOREST_X.astype(t)], lambda x, r=reduce: r(leaves_of(x), axis=1)[:, None].astype(np.float32),
           attrs={"n_targets": 1, "aggregate_function": name, **FOREST}, id=f"a forest, {name} {np.dtype(t)}", rtol=1e-5, atol=1e-5, wide=False, **ML)
      for opset in (1, 3) for t in (np.float32, np.float64) for name, reduce in (("SUM", np.sum), ("AVERAGE", np.mean), ("MIN", np.min), ("MAX", np.max))],
    case("Scaler", 1, [X], lambda x: (x - [1, 2, 3]) * [2, 3, 4], attrs={"offset": [1.0, 2.0, 3.0], "scale": [2.0, 3.0, 4.0]}, **ML),
    case("Scaler", 1, [X.astype(np.int64)], lambda x: ((x - 1.0) * 2.0).astype(np.float32), attrs={"offset": [1.0], "scale": [2.0]}, id="one pair, integers", **ML),
    *[
        case("Normalizer", 1, [X + 1], lambda x, n=n: x / n(x), attrs={"norm": name}, rtol=1e-6, id=name, **ML)
        for name, n in (
            ("MAX", lambda x: x.max(-1, keepdims=True)),
            ("L1", lambda x: np.abs(x).sum(-1, keepdims=True)),
            ("L2", lambda x: np.sqrt((x * x).sum(-1, keepdims=True))),
        )
    ],
    case("Imputer", 1, [np.array([[1, np.nan, 3]], np.float32)], np.array([[1, 9, 3]], np.float32), attrs={"imputed_value_floats": [9.0], "replaced_value_float": float("nan")}, **ML),
    case("Imputer", 1, [np.array([[1, -1]])], np.array([[1, 8]]), attrs={"imputed_value_int64s": [7, 8], "replaced_value_int64": -1}, id="integers", **ML),
    case("Binarizer", 1, [X], lambda x: (x > 1).astype(np.float32), attrs={"threshold": 1.0}, **ML),
    case("FeatureVectorizer", 1, [X, X[:, :1]], lambda x, y: np.concatenate([x[:, :2], y, np.zeros((3, 1))], 1), attrs={"inputdimensions": [2, 2]}, **ML),
    case("LinearRegressor", 1, [X], lambda x: x @ W[:2].T + B[:2], attrs={"coefficients": W[:2].ravel().tolist(), "intercepts": B[:2].tolist(), "targets": 2}, rtol=1e-5, atol=1e-6, **ML),
    *[
        case(
            "LinearClassifier",
            1,
            [X],
            lambda x, post=post: (np.array([10, 20, 30])[(x @ W.T + B).argmax(-1)], (post(x @ W.T + B)).astype(np.float32)),
            attrs={"coefficients": W.ravel().tolist(), "intercepts": B.tolist(), "post_transform": name, "multi_class": 1, **LABELS},
            rtol=1e-5,
            atol=1e-6,
            id=name,
            **ML,
        )
        for name, post in (("NONE", lambda s: s), ("SOFTMAX", softmax), ("LOGISTIC", lambda s: 1 / (1 + np.exp(-s))))
    ],
    case("TreeEnsembleRegressor", 1, [X], lambda x: stump_sum(x)[:, None].astype(np.float32), attrs={"n_targets": 1, **STUMPS, **leaves("target", [0, 0, 0, 0], [1.0, 2.0, 10.0, 20.0])}, **ML),
    case("TreeEnsembleRegressor", 3, [X.astype(np.float64)], lambda x: (stump_sum(x)[:, None] / 2 + 5).astype(np.float32), attrs={"n_targets": 1, "aggregate_function": "AVERAGE", "base_values": [5.0], **STUMPS, **leaves("target", [0, 0, 0, 0], [1.0, 2.0, 10.0, 20.0])}, id="double, average", **ML),
    case("TreeEnsembleClassifier", 1, [X], (np.array([20, 30, 30]), np.array([[0, 0.75, 0.25], [0.5, 0, 0.75], [0.5, 0, 0.75]], np.float32)), attrs={"classlabels_int64s": [10, 20, 30], "post_transform": "NONE", **STUMPS, **leaves("class", [0, 1, 2, 2], [0.5, 0.75, 0.25, 0.75])}, **ML),
    case("TreeEnsembleClassifier", 3, [X], (np.array(["b", "b", "b"], object), np.array([[0, 2.25], [0, 0.5], [0, 0.5]], np.float32)), attrs={"classlabels_strings": ["a", "b"], "post_transform": "NONE", **STUMPS, **leaves("class", [1, 1, 1, 1], [-1.0, 0.75, 1.5, 1.5])}, id="second class named, strings", **ML),
    case("TreeEnsembleClassifier", 1, [X], (np.array([1, 1, 1]), 1 / (1 + np.exp(np.array([[2.25, -2.25], [0.5, -0.5], [0.5, -0.5]], np.float32)))), attrs={"classlabels_int64s": [0, 1], "post_transform": "LOGISTIC", **STUMPS, **leaves("class", [0, 0, 0, 0], [-1.0, 0.75, 1.5, 1.5])}, id="first class named, logistic", rtol=1e-6, **ML),
    case("TreeEnsembleRegressor", 1, [X], error="reached twice|cannot be reached", attrs={"n_targets": 1, **{**STUMPS, "nodes_truenodeids": [0, 0, 0, 1, 0, 0]}, **leaves("target", [0, 0, 0, 0], [1.0] * 4)}, id="a circle", **ML),
    case("TreeEnsemble", 5, [X], lambda x: stump_sum(x)[:, None], attrs=INDEXED, **ML),
    *[case("TreeEnsemble", 5, [X], error=f"attribute '{name}' is a tensor of float16", attrs={**INDEXED, name: INDEXED[name].astype(np.float16)}, id=f"halves as {name}", **ML)
      for name in ("nodes_splits", "nodes_modes", "leaf_weights")],
    case("SVMRegressor", 1, [X], lambda x: (2 * np.exp(-0.5 * ((x - X[0]) ** 2).sum(-1)) - np.exp(-0.5 * ((x - X[1]) ** 2).sum(-1)) + 0.25)[:, None].astype(np.float32), attrs={"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "support_vectors": X[:2].ravel().tolist(), "coefficients": [2.0, -1.0], "rho": [0.25], "n_supports": 2}, rtol=1e-5, atol=1e-6, **ML),
    *[case("SVMRegressor", 1, [SVM_X], lambda x, f=f: (f(x) @ np.linspace(-1, 1, 70) + 0.25)[:, None].astype(np.float32), id=f"{name}, 70 vectors",
           attrs={"kernel_type": name, "kernel_params": [0.1, 0.2, 3.0], "support_vectors": VECTORS.ravel().tolist(), "rho": [0.25], "n_supports": 70,
                  "coefficients": np.linspace(-1, 1, 70).tolist()}, rtol=1e-4, atol=1e-4, **ML) for name, f in KERNELS.items()],
    case("SVMRegressor", 1, [X], lambda x: (x @ np.array([1, 2, 3]) + 0.5)[:, None].astype(np.float32), attrs={"kernel_type": "LINEAR", "coefficients": [1.0, 2.0, 3.0], "rho": [0.5]}, id="linear", rtol=1e-5, **ML),
    case("LabelEncoder", 2, [np.array(["a", "z", "b"], object)], np.array([1, -1, 2]), attrs={"keys_strings": ["a", "b"], "values_int64s": [1, 2]}, **ML),
    case("LabelEncoder", 2, [np.array([1.0, np.nan, 5.0], np.float32)], np.array(["one", "nan", "?"], object), attrs={"keys_floats": [1.0, float("nan")], "values_strings": ["one", "nan"], "default_string": "?"}, id="NaN is a key", peer="a NaN key finds nothing there", **ML),
    case("LabelEncoder", 4, [np.array([3, 4, 5])], np.array([30, 40, 7], np.int16), attrs={"keys_tensor": np.array([3, 4]), "values_tensor": np.array([30, 40], np.int16), "default_tensor": np.array([7], np.int16)}, **ML),
    case("LabelEncoder", 4, [np.array([3, 4, 5])], np.array(["a", "b", "z"], object), attrs={"keys_tensor": np.array([3, 4]), "values_tensor": np.array(["a", "b"], object), "default_tensor": np.array(["z"], object)}, id="a text stands for all else", **ML),
    case("LabelEncoder", 4, [np.array([3])], error="the values are float, but default_tensor is int16", attrs={"keys_tensor": np.array([3]), "values_tensor": np.array([3], np.float32), "default_tensor": np.array([3], np.int16)}, id="a default of another type", **ML),
    case("LabelEncoder", 1, [np.array(["x", "y", "q"], object)], np.array([0, 1, -1]), attrs={"classes_strings": ["x", "y"]}, peer="it has no LabelEncoder 1 kernel for every build", **ML),
    case("CategoryMapper", 1, [np.array(["b", "q"], object)], np.array([2, -1]), attrs={"cats_strings": ["a", "b"], "cats_int64s": [1, 2]}, **ML),
    case("OneHotEncoder", 1, [np.array([2, 9, 1])], np.array([[0, 1], [0, 0], [1, 0]], np.float32), attrs={"cats_int64s": [1, 2]}, **ML),
    case("ArrayFeatureExtractor", 1, [X, np.array([2, 0])], lambda x, y: x[:, y], **ML),
    case("ArrayFeatureExtractor", 1, [X, np.array([3])], error="out of range", id="index out of range", **ML),
]
