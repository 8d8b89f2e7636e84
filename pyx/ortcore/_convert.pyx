# cython: language_level=3, freethreading_compatible=True, auto_pickle=False
"""Python objects as the values that a model's types ask for: arrays, lists, dicts, None."""
import re

import numpy as np

from libc.stdlib cimport free, malloc
from ortcore._arrays cimport element_type_of, tensor_of
from ortcore._capi cimport *
from ortcore._errors cimport check
from ortcore._owners cimport release_value
from ortcore._value cimport OrtValue

from ortcore._element_types import numpy_dtype
from ortcore._errors import InvalidType


cdef class TypeInfo:
    def __init__(self, text, element_type):
        match = re.match(r"(optional\()?(seq\()?(?:(sparse_)?tensor|map\((\w+),tensor)\(", text)
        self.text = text
        self.element_type = element_type
        self.optional = match is not None and match[1] is not None
        self.kind = ORTC_VALUE_TENSOR
        self.key_type = 0
        if match is None:
            return
        if match[4]:
            self.kind = ORTC_VALUE_MAP
            self.key_type = ORTC_STRING if match[4] == "string" else ORTC_INT64
            self.element_type = element_type_of(text[text.index("tensor("):].rstrip(")") + ")")
        if match[2]:
            self.kind = ORTC_VALUE_SEQUENCE
        elif match[3]:
            self.kind = ORTC_VALUE_SPARSE


cdef ortc_value *value_of(object source, TypeInfo wanted, int64_t *copied, ortc_stream *consumer=NULL) except NULL:
    if isinstance(source, OrtValue):
        if (<OrtValue>source).producer is not None:
            if consumer is NULL:
                (<OrtValue>source).wait()
            else:
                (<OrtValue>source).producer.make_wait(<size_t>ortc_stream_get_handle(consumer))
        return ortc_value_retain((<OrtValue>source).pointer)
    if wanted is not None:
        if source is None:
            return none_of(wanted)
        if isinstance(source, list):
            return value_of_list(list(source), wanted, copied)   # Cython's list and dict are not their subclasses
        if isinstance(source, dict):
            return map_of(dict(source), wanted, copied)
        if wanted.kind == ORTC_VALUE_SPARSE and hasattr(source, "_value"):
            return ortc_value_retain((<OrtValue?>source._value).pointer)
    return tensor_of(source, copied, consumer)


cdef ortc_value *none_of(TypeInfo wanted) except NULL:
    cdef ortc_value *none
    if not wanted.optional:
        raise InvalidType(f"None was given for a value of type {wanted.text}; only optional types can be without a value")
    none = ortc_value_create_none()
    if none is NULL:
        raise MemoryError()
    return none


cdef object array_of_items(list items, int element_type, str what):
    """An array made of Python objects; the error names them by `what`."""
    dtype = numpy_dtype(element_type)
    try:
        return np.array(items, dtype=dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidType(f"{what} does not fit {dtype}: {error}") from None


cdef ortc_value *value_of_list(object items, TypeInfo wanted, int64_t *copied) except NULL:
    cdef ortc_value *value = NULL
    cdef ortc_value **parts
    cdef size_t count = 0
    if wanted.kind == ORTC_VALUE_TENSOR:
        array = array_of_items(items, wanted.element_type, f"a list given for a {wanted.text}")
        copied[0] += <int64_t>array.nbytes
        return tensor_of(array, copied)
    if wanted.kind != ORTC_VALUE_SEQUENCE:
        raise InvalidType(f"a list cannot be a value of type {wanted.text}")
    items = list(items)                                    # of our own: making a tensor of an item may change the caller's list
    parts = <ortc_value **>malloc((len(items) + 1) * sizeof(ortc_value *))
    if parts is NULL:
        raise MemoryError()
    try:
        for item in items:
            if wanted.key_type and not isinstance(item, (dict, OrtValue)):
                raise InvalidType(f"item {count} of a {wanted.text} must be a dict, not {type(item).__name__}")
            if isinstance(item, dict):
                parts[count] = map_of(dict(item), wanted, copied)
            elif isinstance(item, OrtValue):
                parts[count] = ortc_value_retain((<OrtValue>item).pointer)
            else:
                parts[count] = tensor_of(item, copied)
            count += 1
        check(ortc_value_create_sequence(<ortc_element_type>wanted.element_type, count, parts, &value))
    finally:
        while count:
            count -= 1
            release_value(parts[count])
        free(parts)
    return value


cdef ortc_value *map_of(dict items, TypeInfo wanted, int64_t *copied) except NULL:
    cdef ortc_value *keys = NULL
    cdef ortc_value *values = NULL
    cdef ortc_value *value = NULL
    if not wanted.key_type:
        raise InvalidType(f"a dict cannot be a value of type {wanted.text}")
    key_class = str if wanted.key_type == ORTC_STRING else (int, np.integer)
    for key in items:
        if not isinstance(key, key_class):
            raise InvalidType(f"key {key!r} of a {wanted.text} is {type(key).__name__}; its keys are {'str' if wanted.key_type == ORTC_STRING else 'int'}")
    try:
        keys = tensor_of(array_of_items(list(items), wanted.key_type, f"a key of a {wanted.text}"), copied)
        values = tensor_of(array_of_items(list(items.values()), wanted.element_type, f"a value of a {wanted.text}"), copied)
        check(ortc_value_create_map(keys, values, &value))
    finally:
        release_value(keys)
        release_value(values)
    return value
