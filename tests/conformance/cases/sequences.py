"""Operators on sequences, optionals and strings."""
import numpy as np
from onnx import TensorProto, helper

from ..case import Opt, Seq, case, data, f32, f64, i32, i64, ints, string

A, B, C = data((2, 3)), data((1, 3)), data((2, 2))


def words(*items):
    return np.array(items, object)


def sequence_type(element=TensorProto.FLOAT):
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(element, None))


def asserts(condition):
    def check(outputs, inputs):
        assert condition(outputs[0])

    return check


SEQUENCES = [
    *[case("SequenceConstruct", 11, [data((2, 3), t), data((1,), t)], Seq([data((2, 3), t), data((1,), t)]), wide=False) for t in (f32, f64, i64, string)],
    case("SequenceEmpty", 11, [], check=asserts(lambda s: s == []), outputs=1, output_types=[sequence_type()]),
    case("SequenceEmpty", 11, [], attrs={"dtype": TensorProto.INT64}, check=asserts(lambda s: s == []), outputs=1, output_types=[sequence_type(TensorProto.INT64)], id="int64"),
    case("SequenceInsert", 11, [Seq([A, B]), C], Seq([A, B, C]), wide=False),
    *[case("SequenceInsert", 11, [Seq([A, B]), C, np.array(at, t)], Seq([[C, A, B], [A, C, B], [A, B, C]][at % 3 if at >= 0 else at + 2]), wide=False, id=f"at {at}, {t}")
      for at in (0, 1, 2, -1, -2) for t in (i32, i64)],
    case("SequenceInsert", 11, [Seq([A]), C, np.array(2)], error="position 2 is out of range: the sequence has 1 items"),
    case("SequenceErase", 11, [Seq([A, B, C])], Seq([A, B]), wide=False),
    *[case("SequenceErase", 11, [Seq([A, B, C]), np.array(at)], Seq([[B, C], [A, C], [A, B]][at]), wide=False, id=f"at {at}") for at in (0, 1, -1)],
    case("SequenceErase", 11, [Seq([A]), np.array(-2)], error="position -2 is out of range"),
    *[case("SequenceAt", 11, [Seq([A, B, C]), np.array(at, t)], [A, B, C][at], wide=False, id=f"at {at}, {t}") for at in (0, 2, -1, -3) for t in (i32, i64)],
    case("SequenceAt", 11, [Seq([A]), np.array(1)], error="position 1 is out of range"),
    case("SequenceLength", 11, [Seq([A, B])], np.array(2)),
    case("SplitToSequence", 11, [A], Seq([A[:1], A[1:]]), wide=False),
    case("SplitToSequence", 11, [A], Seq([A[:, 0], A[:, 1], A[:, 2]]), attrs={"axis": 1, "keepdims": 0}, wide=False),
    case("SplitToSequence", 11, [A, np.array(2)], Seq([A[:, :2], A[:, 2:]]), attrs={"axis": -1}, wide=False),
    case("SplitToSequence", 11, [A, np.array([1, 2], i32)], Seq([A[:, :1], A[:, 1:]]), attrs={"axis": 1}, wide=False),
    case("SplitToSequence", 11, [words("a", "b", "c"), np.array(2)], Seq([words("a", "b"), words("c")]), wide=False),
    case("SplitToSequence", 11, [A, ints(2, 2)], attrs={"axis": 1}, output_types=[sequence_type()], error="sum to more than the 3 elements"),
    case("SplitToSequence", 11, [A, np.array(0)], output_types=[sequence_type()], error="'split' is 0"),
    case("ConcatFromSequence", 11, [Seq([A, B])], np.concatenate([A, B]), attrs={"axis": 0}, wide=False),
    *[case("ConcatFromSequence", 11, [Seq([A, A + 1])], np.stack([A, A + 1], axis), attrs={"axis": axis, "new_axis": 1}, wide=False) for axis in (0, 1, 2, -1)],
    case("ConcatFromSequence", 11, [Seq([words("a"), words("b", "c")])], words("a", "b", "c"), attrs={"axis": 0}, wide=False),
    case("ConcatFromSequence", 11, [Seq([A, C])], attrs={"axis": 0}, error="only the concatenation axis 0 may differ"),
    case("Identity", 14, [Seq([A, B])], Seq([A, B]), wide=False),
]

OPTIONALS = [
    *[case("OptionalHasElement", opset, [Opt(A)], np.array(True)) for opset in (15, 18)],
    *[case("OptionalHasElement", opset, [Opt(None, like=A)], np.array(False)) for opset in (15, 18)],
    case("OptionalHasElement", 15, [Opt(Seq([A]))], np.array(True)),
    case("OptionalHasElement", 18, [A], np.array(True), id="a plain tensor"),
    case("OptionalHasElement", 18, [Seq([A])], np.array(True), id="a plain sequence"),
    *[case("OptionalGetElement", opset, [Opt(A)], A, wide=False) for opset in (15, 18)],
    case("OptionalGetElement", 15, [Opt(Seq([A, B]))], Seq([A, B]), wide=False),
    case("OptionalGetElement", 18, [A], A, wide=False, id="a plain tensor"),
    case("OptionalGetElement", 18, [Opt(None, like=A)], error="the optional is empty"),
    case("Optional", 15, [A], A, wide=False, output_types=[helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))]),
    case("Optional", 15, [Seq([A, B])], Seq([A, B]), wide=False, output_types=[helper.make_optional_type_proto(sequence_type())]),
]

STRING, BOOL = ([helper.make_tensor_type_proto(t, None)] for t in (TensorProto.STRING, TensorProto.BOOL))
FOX = words("The", "quick", "BROWN", "fox", "", "Ünï", "ΣΊΣΥΦΟΣ")


def matches(pattern, *yes, no=(), **more):
    return case("RegexFullMatch", 20, [words(*yes, *no)], np.array([True] * len(yes) + [False] * len(no)), attrs={"pattern": pattern}, id=pattern, **more)


STRINGS = [
    case("StringNormalizer", 10, [FOX], words("the", "quick", "brown", "fox", "", "ünï", "σίσυφοσ"), attrs={"case_change_action": "LOWER"}),
    case("StringNormalizer", 10, [FOX], words("THE", "QUICK", "BROWN", "FOX", "", "ÜNÏ", "ΣΊΣΥΦΟΣ"), attrs={"case_change_action": "UPPER"}),
    case("StringNormalizer", 10, [FOX], FOX),
    case("StringNormalizer", 10, [FOX.reshape(1, -1)], words("quick", "fox", "", "Ünï", "ΣΊΣΥΦΟΣ").reshape(1, -1), attrs={"stopwords": ["the", "Brown"]}, id="stop words in any case"),
    case("StringNormalizer", 10, [FOX], words("quick", "BROWN", "fox", "", "Ünï", "ΣΊΣΥΦΟΣ"), attrs={"stopwords": ["The", "brown"], "is_case_sensitive": 1}, id="stop words as they are"),
    case("StringNormalizer", 10, [words("a", "b")], words(""), attrs={"stopwords": ["a", "b"]}, id="nothing left"),
    case("StringNormalizer", 10, [words("a", "b").reshape(2, 1)], output_types=STRING, error="must have shape \\[C\\] or \\[1,C\\]"),
    case("StringConcat", 20, [words("a", "b", ""), words("x", "", "z")], words("ax", "b", "z")),
    case("StringConcat", 20, [words("a", "b").reshape(2, 1), words("x", "y", "z")], words("ax", "ay", "az", "bx", "by", "bz").reshape(2, 3)),
    case("StringConcat", 20, [np.array("a", object), words("x", "y")], words("ax", "ay")),
    case("StringConcat", 20, [words("a", "b"), words("x", "y", "z")], output_types=STRING, error="broadcast"),
    case("StringSplit", 20, [words("a b", " c  d e ", "")], (words("a", "b", "", "c", "d", "e", "", "", "").reshape(3, 3), ints(2, 3, 0))),
    case("StringSplit", 20, [words("a,b", ",c,,d", "")], (words("a", "b", "", "", "", "c", "", "d", "", "", "", "").reshape(3, 4), ints(2, 4, 1)), attrs={"delimiter": ","},
         peer="counts no part in an empty string"),
    case("StringSplit", 20, [words("a--b--c").reshape(1, 1)], (words("a", "b--c").reshape(1, 1, 2), np.array([[2]])), attrs={"delimiter": "--", "maxsplit": 1}),
    case("StringSplit", 20, [words(" a b c ")], (words("a", "b c ").reshape(1, 2), ints(2)), attrs={"maxsplit": 1}, peer="drops the space at the end"),
    case("StringSplit", 20, [np.zeros((2, 0), object)], (np.zeros((2, 0, 0), object), np.zeros((2, 0), i64))),
    matches(r"www\.[\w.-]+\.\bcom\b", "www.google.com", "www.a-b.com", no=["www.google.comx", "google.com", ""]),
    matches(r"(\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$)", "a.b@gmail.com", no=["a.b@gmail.co"]),
    matches(r"(?i)straße|[[:digit:]]+", "StraßE", "042", no=["4a"]),
    matches(r"a{2,3}?b*", "aa", "aaab", no=["a", "aaaab"]),
    matches(r"\x41.\x{20AC}", "AÄ€", no=["A\n€"]),
    matches(r"(a*)*(a*)*(a*)*b", "a" * 50 + "b", no=["a" * 5000]),
    case("RegexFullMatch", 20, [words("a")], attrs={"pattern": "(a"}, output_types=BOOL, error="a parenthesis \\( is not closed"),
    case("RegexFullMatch", 20, [words("a")], attrs={"pattern": "(?=a)"}, output_types=BOOL, error="look-around is not supported"),
    case("RegexFullMatch", 20, [words("a")], attrs={"pattern": "((a{1000}){1000}){1000}"}, output_types=BOOL, error="too large"),
    case("Tokenizer", 1, [words("a quick fox", "", "b2")], words("a", "quick", "fox", "#", "#", "#", "b2", "#", "#").reshape(3, 3), domain="com.microsoft",
         attrs={"tokenexp": r"\w+", "mark": 0, "pad_value": "#", "mincharnum": 1}),
    case("Tokenizer", 1, [words("a-b;cc", "d")], words("\x02", "a", "b", "cc", "\x03", "\x02", "d", "\x03", "", "").reshape(2, 5), domain="com.microsoft",
         attrs={"separators": ["-", ";"], "mark": 1, "pad_value": "", "mincharnum": 1}),
    case("Tokenizer", 1, [words("äb", "c").reshape(1, 2)], words("ä", "b", "c", "-").reshape(1, 2, 2), domain="com.microsoft",
         attrs={"separators": [""], "mark": 0, "pad_value": "-", "mincharnum": 1}),
]

GRAMS = {"ngram_counts": [0, 4], "ngram_indexes": [0, 1, 2, 3, 4, 5, 6], "min_gram_length": 1, "max_gram_length": 2}
NUMBERS = {"pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]}
TEXT = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]])
TFIDF = [
    *[case("TfIdfVectorizer", 9, [TEXT.astype(t)], np.array([[0, 3, 0, 0, 0, 0, 0], [0, 0, 1, 0, 1, 0, 1]], f32), attrs={**GRAMS, **NUMBERS, "mode": "TF", "max_skip_count": 0}) for t in (i32, i64)],
    case("TfIdfVectorizer", 9, [TEXT.reshape(-1)], np.array([0, 3, 1, 0, 1, 3, 1], f32), attrs={**GRAMS, **NUMBERS, "mode": "TF", "max_skip_count": 5}),
    *[case("TfIdfVectorizer", 9, [TEXT], np.array(want, f32), attrs={**GRAMS, **NUMBERS, "mode": mode, "max_skip_count": 0, "weights": [0.5, 2, 3, 4, 5, 6, 7]}, id=mode)
      for mode, want in (("IDF", [[0, 2, 0, 0, 0, 0, 0], [0, 0, 3, 0, 5, 0, 7]]), ("TFIDF", [[0, 6, 0, 0, 0, 0, 0], [0, 0, 3, 0, 5, 0, 7]]))],
    case("TfIdfVectorizer", 9, [words("a", "b", "a", "c")], np.array([2, 1, 1], f32),
         attrs={"pool_strings": ["a", "b", "a", "b"], "ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2], "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "mode": "TF"}),
    case("TfIdfVectorizer", 9, [TEXT], attrs={**GRAMS, **NUMBERS, "mode": "XX", "max_skip_count": 0}, error="'mode' is 'XX'"),
]

CASES = [*SEQUENCES, *OPTIONALS, *STRINGS, *TFIDF]
