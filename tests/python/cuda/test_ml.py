"""Operators of ai.onnx.ml on a GPU, as on the CPU: every type of features and way to finish a row, sizes out of the ordinary, and what is wrong."""
import numpy as np
import pytest
from onnx import helper

import ortcore as ort

CUDA = "CUDAExecutionProvider"
F32, F64, I32, I64 = np.float32, np.float64, np.int32, np.int64
POSTS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
VERSIONS = {"TreeEnsemble": 5, "TreeEnsembleClassifier": 3, "TreeEnsembleRegressor": 3, "LabelEncoder": 4}


def features(*shape, dtype=F32, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape).astype(dtype) if np.dtype(dtype).kind == "f" else rng.integers(-3, 4, shape).astype(dtype)


def model(op, arrays, output_types, **attributes):
    """One node; output_types: element types, None for an output that is not wanted."""
    outputs = [f"y{i}" if t else "" for i, t in enumerate(output_types)]
    inputs = [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(a.dtype), [None] * a.ndim) for i, a in enumerate(arrays)]
    results = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(t)), None) for n, t in zip(outputs, output_types, strict=True) if t]
    attributes = {name: helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape, v.tobytes(), raw=True) if isinstance(v, np.ndarray) else v
                  for name, v in attributes.items() if not isinstance(v, list) or v}
    node = helper.make_node(op, [i.name for i in inputs], outputs, domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph([node], "one", inputs, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", VERSIONS.get(op, 1))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def agree(session, op, arrays, output_types, rtol=0, atol=0, **attributes):
    """The node runs on the GPU, and as the CPU has it."""
    made, feeds = model(op, arrays, output_types, **attributes), {f"x{i}": a for i, a in enumerate(arrays)}
    on_gpu = session(made)
    assert [node.provider for node in on_gpu.explain()] == [CUDA]
    for got, want in zip(on_gpu.run(None, feeds), ort.InferenceSession(made, providers=["CPUExecutionProvider"]).run(None, feeds), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol, atol, equal_nan=True)


# ---- Trees ---------------------------------------------------------------------------------------------------------------------------------

MODES = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"]


def forest(prefix, trees=5, depth=3, columns=4, targets=1, weights=1, modes=MODES, positive=False):
    """Full trees whose leaves have so many weights, for any targets, in any order."""
    rng = np.random.default_rng(7)
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        for node in range(2 ** (depth + 1) - 1):
            branch = node < 2**depth - 1
            row = [tree, node, int(rng.integers(columns)), float(F32(rng.normal())), "BRANCH_" + str(rng.choice(modes)) if branch else "LEAF",
                   2 * node + 1 if branch else 0, 2 * node + 2 if branch else 0, int(rng.integers(2))]
            for values, value in zip(nodes.values(), row, strict=True):
                values.append(value)
            for _ in range(0 if branch else weights):
                weight = float(F32(rng.normal()))
                for values, value in zip(leaves.values(), [tree, node, int(rng.integers(targets)), abs(weight) if positive else weight], strict=True):
                    values.append(value)
    return {f"nodes_{k}": v for k, v in nodes.items()} | {f"{prefix}_{k}": v for k, v in leaves.items()}


def with_gaps(x):
    x = x.copy()
    x[1, 2] = x[3, 0] = np.nan
    return x


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_sums_of_trees_are_those_of_the_cpu_to_the_last_bit(session, how, dtype):
    x = features(6, 4, dtype=dtype)
    attributes = forest("target", targets=3, weights=4)     # some targets twice in a leaf, some in none
    agree(session, "TreeEnsembleRegressor", [with_gaps(x) if np.dtype(dtype).kind == "f" else x], [F32], n_targets=3, aggregate_function=how,
          base_values=[0.5, -1.0, 2.0], **attributes)


@pytest.mark.parametrize("how", ["AVERAGE", "MIN"])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_leaves_that_have_a_weight_for_every_target(session, dtype, how):
    attributes = forest("target", trees=11, targets=3, weights=3)
    attributes["target_ids"] = [2, 0, 1] * (len(attributes["target_ids"]) // 3)
    agree(session, "TreeEnsembleRegressor", [with_gaps(features(6, 4, dtype=dtype))], [F32], n_targets=3, aggregate_function=how, **attributes)


@pytest.mark.parametrize("name, x, attributes", [
    ("more trees than threads", features(2, 4), {"n_targets": 1, **forest("target", trees=700, depth=1)}),
    ("more targets than threads", features(2, 4), {"n_targets": 600, **forest("target", trees=3, depth=1, targets=600, weights=5)}),
    ("one row", features(4), {"n_targets": 1, **forest("target")}),
    ("no rows", features(0, 4), {"n_targets": 2, **forest("target", targets=2)}),
    ("roots that are leaves", features(3, 4), {"n_targets": 1, **forest("target", depth=0)}),
    ("leaves without weights", features(3, 4), {"n_targets": 1, **forest("target", weights=0)}),
    ("many rows", features(300, 4), {"n_targets": 1, "base_values": [3.0], **forest("target", modes=["LEQ"])}),
])
def test_forests_of_all_sizes(session, name, x, attributes):
    agree(session, "TreeEnsembleRegressor", [x], [F32], **attributes)


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("classes, weights, positive", [(4, 3, False), (2, 1, False), (2, 1, True), (1, 1, False)])
def test_tree_classifiers(session, post, classes, weights, positive):
    attributes = forest("class", targets=1, weights=weights, positive=positive)
    for named in {0, classes - 1}:                          # of two classes, the leaves name one or the other: each has a rule of its own
        attributes["class_ids"] = [named] * len(attributes["class_ids"]) if classes < 3 else [i % classes for i in range(len(attributes["class_ids"]))]
        agree(session, "TreeEnsembleClassifier", [with_gaps(features(9, 4))], [I64, F32], 2e-5, 1e-6, classlabels_int64s=[7, -3, 5, 11][:classes],
              post_transform=post, base_values=[0.25], **attributes)


def test_labels_without_scores_and_scores_without_labels(session):
    attributes = {"classlabels_int64s": [3, 1, 2], "post_transform": "SOFTMAX", **forest("class", targets=3, weights=2)}
    agree(session, "TreeEnsembleClassifier", [features(5, 4, dtype=F64)], [I64, None], **attributes)
    agree(session, "TreeEnsembleClassifier", [features(5, 4)], [None, F32], 1e-5, **attributes)


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("post", range(3))
def test_sets_of_members(session, dtype, post):
    """Nodes 0 and 1 ask whether a feature is in a set."""
    x = np.array([[1, 5], [2, 5], [3, 6], [4, np.nan], [1.5, 7]], dtype)
    agree(session, "TreeEnsemble", [x], [dtype], 1e-5, n_targets=2, tree_roots=[0], post_transform=post, nodes_featureids=[0, 1, 0],
          nodes_splits=np.array([0, 0, 2.5], dtype), nodes_modes=np.array([6, 6, 0], np.uint8), nodes_truenodeids=[1, 0, 2], nodes_falsenodeids=[2, 1, 3],
          nodes_trueleafs=[0, 1, 1], nodes_falseleafs=[0, 1, 1], leaf_targetids=[0, 1, 0, 1], leaf_weights=np.array([0.1, 0.2, 0.3, 0.4], dtype),
          membership_values=np.array([1, 3, np.nan, 5, np.nan], dtype))


def test_a_feature_that_is_not_there(session):
    made = model("TreeEnsembleRegressor", [features(3, 2)], [F32], n_targets=1, **forest("target"))
    with pytest.raises(Exception, match="X has 2 features, but the trees ask for feature 3"):
        session(made).run(None, {"x0": features(3, 2)})


def test_bases_that_fit_no_classes():
    attributes = {"classlabels_int64s": [3, 1, 2], "base_values": [1.0, 2.0], **forest("class", targets=3)}
    with pytest.raises(Exception, match="base_values has 2 elements for 3 classes"):
        ort.InferenceSession(model("TreeEnsembleClassifier", [features(5, 4)], [I64, F32], **attributes), providers=["CPUExecutionProvider"])


def test_labels_that_are_strings_stay_on_the_host(session):
    attributes = {"classlabels_strings": ["a", "b", "c"], **forest("class", targets=3)}
    made = model("TreeEnsembleClassifier", [features(5, 4)], [None, F32], **attributes)
    assert [node.provider for node in session(made).explain()] == ["CPUExecutionProvider"]


# ---- Linear models -------------------------------------------------------------------------------------------------------------------------

def linear(outputs, columns, intercepts=True):
    rng = np.random.default_rng(3)
    return {"coefficients": rng.normal(size=outputs * columns).astype(F32).tolist(),
            "intercepts": rng.normal(size=outputs).astype(F32).tolist() if intercepts else []}


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("outputs, labels", [(3, [7, -2, 9]), (1, [4, 5]), (1, [4])])
def test_linear_classifiers(session, outputs, labels, post):
    agree(session, "LinearClassifier", [features(9, 5)], [I64, F32], 2e-5, 1e-6, post_transform=post, classlabels_ints=labels, **linear(outputs, 5))


@pytest.mark.parametrize("dtype", [F64, I32, I64])
@pytest.mark.parametrize("shape", [(70, 33), (5,), (0, 4)])
def test_linear_models_of_other_numbers(session, dtype, shape):
    x, more = features(*shape, dtype=dtype), linear(3, shape[-1])
    agree(session, "LinearClassifier", [x], [I64, F32], 1e-5, 1e-5, classlabels_ints=[1, 2, 3], **more)
    agree(session, "LinearRegressor", [x], [F32], 1e-5, 1e-5, targets=3, **more)


def test_linear_models_that_leave_something_out(session):
    x = features(4, 5)
    agree(session, "LinearClassifier", [x], [I64, None], classlabels_ints=[1, 2], **linear(2, 5))
    agree(session, "LinearClassifier", [x], [None, F32], 1e-5, 1e-6, classlabels_ints=[1, 2], **linear(1, 5))
    agree(session, "LinearRegressor", [x], [F32], 1e-5, 1e-6, targets=2, post_transform="LOGISTIC", **linear(2, 5, False))
    agree(session, "LinearRegressor", [x[:, :3]], [F32], 1e-5, 1e-6, targets=2, **linear(2, 5))


def test_more_features_than_coefficients(session):
    made = model("LinearRegressor", [features(4, 6)], [F32], targets=2, **linear(2, 5))
    with pytest.raises(Exception, match="X has 6 features, but the coefficients are for 5"):
        session(made).run(None, {"x0": features(4, 6)})


def test_fewer_labels_than_classes_are_the_business_of_the_cpu(session):
    made = model("LinearClassifier", [features(4, 5)], [None, F32], classlabels_ints=[1, 2], **linear(3, 5))
    assert [node.provider for node in session(made).explain()] == ["CPUExecutionProvider"]


# ---- Features ------------------------------------------------------------------------------------------------------------------------------

ALL_FEATURES = [F32, F64, I32, I64]


@pytest.mark.parametrize("dtype", ALL_FEATURES)
@pytest.mark.parametrize("shape", [(5, 3), (3,), (2, 2, 3), (0, 3)])
def test_scaler(session, shape, dtype):
    agree(session, "Scaler", [features(*shape, dtype=dtype)], [F32], 1e-6, offset=[1.0, -2.0, 0.5], scale=[2.0, 3.0, -1.0])
    agree(session, "Scaler", [features(*shape, dtype=dtype)], [F32], 1e-6, offset=[1.5], scale=[2.0, 3.0, -1.0])


@pytest.mark.parametrize("dtype", ALL_FEATURES)
@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(session, norm, dtype):
    for shape in ((5, 3), (2, 700), (4,), (0, 3), (3, 0)):
        x = features(*shape, dtype=dtype)
        x[:1] = 0                                           # a row that has no norm
        agree(session, "Normalizer", [x], [F32], 1e-5, 1e-6, norm=norm)


@pytest.mark.parametrize("dtype", ALL_FEATURES)
def test_imputer(session, dtype):
    x = features(6, 3, dtype=dtype)
    if np.dtype(dtype).kind == "f":
        x[1, 1] = x[2, 0] = np.nan
        for missing in (float("nan"), float(F32(x[0, 0]))):
            agree(session, "Imputer", [x], [dtype], imputed_value_floats=[0.25, 9.0, -1.0], replaced_value_float=missing)
        agree(session, "Imputer", [x], [dtype], imputed_value_floats=[0.25])
    else:
        agree(session, "Imputer", [x], [dtype], imputed_value_int64s=[40, 50, 60], replaced_value_int64=2)
        agree(session, "Imputer", [x], [dtype], imputed_value_int64s=[40], replaced_value_int64=2**32 + 1)


@pytest.mark.parametrize("dtype", ALL_FEATURES)
def test_binarizer(session, dtype):
    agree(session, "Binarizer", [features(6, 3, dtype=dtype)], [dtype], threshold=0.5)
    agree(session, "Binarizer", [features(0, 3, dtype=dtype)], [dtype])


def test_feature_vectorizer(session):
    given = [features(4, 3), features(4, 2, dtype=I64), features(4, 1, dtype=F64), features(4, 5, dtype=I32)]
    agree(session, "FeatureVectorizer", given, [F32], inputdimensions=[2, 3, 1, 5])
    agree(session, "FeatureVectorizer", [features(3), features(2)], [F32], inputdimensions=[3, 0])


@pytest.mark.parametrize("op, arrays, attributes, message", [
    ("Scaler", [features(2, 4)], {"offset": [1.0, 2.0], "scale": [1.0]}, "offset has 2 elements, but X has 4 features"),
    ("Imputer", [features(2, 4)], {"imputed_value_floats": [1.0, 2.0]}, "the list of imputed values has 2 elements, but X has 4 features"),
    ("FeatureVectorizer", [features(2, 4), features(3, 4)], {"inputdimensions": [4, 4]}, "input 1 has 3 rows, but input 0 has 2"),
])
def test_features_that_do_not_fit(session, op, arrays, attributes, message):
    made = model(op, arrays, [F32], **attributes)
    with pytest.raises(Exception, match=message):
        session(made).run(None, {f"x{i}": a for i, a in enumerate(arrays)})


# ---- Keys, categories, columns -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("keys", [F32, F64, I32, I64, np.int16])
@pytest.mark.parametrize("values", [F32, F64, I32, I64, np.int16])
def test_label_encoder(session, keys, values):
    floats = np.dtype(keys).kind == "f"
    x = np.array([[3, 9, -1], [7, 3, np.nan if floats else 2]], keys)
    known = np.array([7, np.nan if floats else 4, 3, -1, 3], keys)   # of two that are equal, the first
    agree(session, "LabelEncoder", [x], [values], keys_tensor=known, values_tensor=np.array([70, 1, 30, -10, 99], values), default_tensor=np.array([5], values))
    agree(session, "LabelEncoder", [x[:0]], [values], keys_tensor=known, values_tensor=np.arange(5).astype(values), default_tensor=np.array([5], values))


def test_label_encoder_of_lists(session):
    agree(session, "LabelEncoder", [np.array([3, 2**60, 5])], [I64], keys_int64s=[3, 2**60], values_int64s=[2**62 + 1, 8])
    agree(session, "LabelEncoder", [np.array([3, 2, 5])], [F32], keys_int64s=[3, 2], values_floats=[0.1, 0.2], default_float=7.5)


@pytest.mark.parametrize("provider", [CUDA, "CPUExecutionProvider"])
def test_values_of_a_type_that_no_label_has(provider):
    made = model("LabelEncoder", [np.array([3])], [np.uint8], keys_tensor=np.array([3]), values_tensor=np.array([1], np.uint8))
    with pytest.raises(Exception, match="the values are uint8, but must be one of string, int64, float, int32, int16 or double"):
        ort.InferenceSession(made, providers=[provider])


def test_labels_that_are_texts_stay_on_the_host(session):
    made = model("LabelEncoder", [np.array([3, 2])], [np.object_], keys_int64s=[3, 2], values_strings=["a", "b"])
    assert [node.provider for node in session(made).explain()] == ["CPUExecutionProvider"]


@pytest.mark.parametrize("dtype", ALL_FEATURES)
@pytest.mark.parametrize("shape", [(4,), (2, 3), (0, 2)])
def test_one_hot_encoder(session, shape, dtype):
    x = 1.3 * features(*shape, dtype=dtype)
    agree(session, "OneHotEncoder", [x.astype(dtype)], [F32], cats_int64s=[2, -1, 0, 2, 3])


def test_an_element_that_is_in_no_category(session):
    made = model("OneHotEncoder", [np.array([1, 5])], [F32], cats_int64s=[1, 2], zeros=0)
    assert session(made).run(None, {"x0": np.array([1, 2])})[0].tolist() == [[1, 0], [0, 1]]
    with pytest.raises(Exception, match="is in no category, and zeros is 0"):
        session(made).run(None, {"x0": np.array([1, 5])})


@pytest.mark.parametrize("dtype", ALL_FEATURES)
def test_array_feature_extractor(session, dtype):
    for shape in ((3, 4), (4,), (2, 3, 4), (0, 4)):
        agree(session, "ArrayFeatureExtractor", [features(*shape, dtype=dtype), np.array([[3, 0, 3]])], [dtype])


@pytest.mark.parametrize("index", [-1, 4])
def test_columns_that_are_not_there(session, index):
    made, feeds = model("ArrayFeatureExtractor", [features(3, 4), np.array([index])], [F32]), {"x0": features(3, 4), "x1": np.array([index])}
    with pytest.raises(Exception, match="an index names no column of X"):
        session(made).run(None, feeds)


# ---- Support vector machines ---------------------------------------------------------------------------------------------------------------

def svm(kernel, counts, columns, proba=False, labels=(7, -3, 5, 11)):
    """Support vectors of so many a class."""
    rng = np.random.default_rng(4)
    vectors, classes = sum(counts), len(counts)
    pairs = classes * (classes - 1) // 2

    def some(*shape):
        return rng.normal(size=shape).astype(F32).ravel().tolist()

    more = {"prob_a": some(pairs), "prob_b": some(pairs)} if proba else {}
    return {"kernel_type": kernel, "kernel_params": [0.3, 0.7, 2.0], "support_vectors": some(vectors, columns), "vectors_per_class": list(counts),
            "coefficients": some(classes - 1, vectors), "rho": some(pairs), "classlabels_ints": list(labels[:classes])} | more


KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("proba", [False, True])
@pytest.mark.parametrize("counts", [(3, 40), (20, 0, 25, 1)])
def test_svm_classifiers(session, counts, proba, kernel):
    agree(session, "SVMClassifier", [features(9, 5)], [I64, F32], 1e-4, 1e-5, **svm(kernel, counts, 5, proba))


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("counts", [(3, 4), (3, 4, 2)])
def test_what_becomes_of_the_decisions(session, counts, post):
    agree(session, "SVMClassifier", [0.1 * features(5, 3)], [I64, F32], 1e-3, 1e-4, post_transform=post, **svm("RBF", counts, 3, True))
    if post != "PROBIT":                                    # a logarithm of what may be below zero
        agree(session, "SVMClassifier", [features(5, 3)], [I64, F32], 1e-3, 1e-4, post_transform=post, **svm("RBF", counts, 3))


@pytest.mark.parametrize("dtype", [F64, I32, I64])
def test_svms_of_other_numbers(session, dtype):
    for shape in ((4, 3), (3,), (0, 3)):
        agree(session, "SVMClassifier", [features(*shape, dtype=dtype)], [I64, F32], 1e-4, 1e-5, **svm("RBF", (3, 4, 2), 3, True))
    agree(session, "SVMClassifier", [features(4, 3, dtype=dtype)], [I64, None], **svm("LINEAR", (3, 4, 2), 3, True))
    agree(session, "SVMClassifier", [features(4, 3, dtype=dtype)], [None, F32], 1e-4, 1e-5, **svm("POLY", (3, 4), 3))


@pytest.mark.parametrize("kernel", KERNELS)
def test_svms_without_vectors(session, kernel):
    coefficients = features(9, seed=2).tolist()
    agree(session, "SVMClassifier", [features(6, 3)], [I64, F32], 1e-4, 1e-5, kernel_type=kernel, kernel_params=[0.3, 0.7, 2.0], coefficients=coefficients,
          rho=[0.5], classlabels_ints=[4, 5, 6], post_transform="SOFTMAX")
    agree(session, "SVMRegressor", [features(6, 9)], [F32], 1e-4, 1e-5, kernel_type=kernel, kernel_params=[0.3, 0.7, 2.0], coefficients=coefficients, rho=[0.5])


def test_probabilities_of_pairs_that_are_not_there(session):
    agree(session, "SVMClassifier", [features(6, 3)], [I64, F32], 1e-4, 1e-5, coefficients=features(9).tolist(), rho=[0.5], prob_a=[1.0, 2.0, 3.0],
          classlabels_ints=[4, 5, 6])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("more", [{}, {"one_class": 1}, {"post_transform": "LOGISTIC"}])
def test_svm_regressors(session, more, kernel):
    vectors = 70
    agree(session, "SVMRegressor", [features(5, 4)], [F32], 1e-4, 1e-4, kernel_type=kernel, kernel_params=[0.1, 0.2, 3.0], n_supports=vectors,
          support_vectors=features(vectors * 4, seed=5).tolist(), coefficients=features(vectors, seed=6).tolist(), rho=[0.25], **more)


def test_features_that_are_not_those_of_the_vectors(session):
    made = model("SVMClassifier", [features(4, 6)], [I64, F32], **svm("RBF", (3, 4), 5))
    with pytest.raises(Exception, match="X has 6 features, but the support vectors have 5"):
        session(made).run(None, {"x0": features(4, 6)})


def test_more_rows_and_vectors_than_are_kept_at_a_time(session):
    vectors = 70000
    agree(session, "SVMRegressor", [features(250, 1)], [F32], 1e-6, kernel_type="LINEAR", n_supports=vectors, rho=[0.25],
          support_vectors=features(vectors, seed=5).tolist(), coefficients=features(vectors, seed=6).tolist())


# ---- Graphs --------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("op, outputs, attributes", [
    ("TreeEnsembleClassifier", [I64, F32], {"classlabels_int64s": [3, 1, 2], "post_transform": "SOFTMAX", **forest("class", targets=3, weights=2)}),
    ("LinearClassifier", [I64, F32], {"classlabels_ints": [3, 1], **linear(2, 4)}),
    ("SVMClassifier", [I64, F32], svm("RBF", (3, 4, 2), 4, True)),
    ("Imputer", [F32], {"imputed_value_floats": [9.0]}),
])
def test_recorded_in_a_graph(session, op, outputs, attributes):
    made = model(op, [features(5, 4)], outputs, **attributes)
    recorded, plain = session(made, enable_cuda_graph="1"), session(made)
    binding, x = recorded.io_binding(), ort.OrtValue.ortvalue_from_numpy(features(5, 4), "cuda", 0)
    binding.bind_ortvalue_input("x0", x)
    results = [ort.OrtValue.ortvalue_from_numpy(np.zeros_like(y), "cuda", 0) for y in plain.run(None, {"x0": features(5, 4)})]
    for i, y in enumerate(results):
        binding.bind_ortvalue_output(f"y{i}", y)
    for seed in range(3):                                   # plainly, recorded, launched again with other numbers
        x.update_inplace(features(5, 4, seed=seed))
        recorded.run_with_iobinding(binding)
        for y, want in zip(results, plain.run(None, {"x0": features(5, 4, seed=seed)}), strict=True):
            np.testing.assert_array_equal(y.numpy(), want)
    assert recorded.stats()["latest"]["graph_launches"] == 1
