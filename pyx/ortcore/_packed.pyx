# cython: language_level=3, freethreading_compatible=True, auto_pickle=False, boundscheck=False, wraparound=False
"""Types narrower than a byte: packed from the low bits up in tensors, but one to a byte in arrays. Loaded when the first of them turns up."""
import numpy as np

from libc.stdint cimport uint8_t
from ortcore._capi cimport *


def pack(const uint8_t[::1] elements, uint8_t[::1] packed, int bits):
    """Elements of so many bits, one to a byte, into `packed`, which is zeroed."""
    cdef Py_ssize_t i, bit = 0
    cdef unsigned int mask = (1 << bits) - 1, element
    with nogil:
        for i in range(elements.shape[0]):
            element = (elements[i] & mask) << (bit & 7)
            packed[bit >> 3] |= <uint8_t>element
            if element >> 8:
                packed[(bit >> 3) + 1] |= <uint8_t>(element >> 8)
            bit += bits


def unpack(const uint8_t[::1] packed, int element_type, object shape):
    """An array of uint8 with an element to a byte."""
    cdef int bits = ortc_element_type_bits(<ortc_element_type>element_type)
    cdef int sign = 1 << (bits - 1) if element_type in (22, 26) else 0       # int4 and int2 carry their sign into the upper bits
    cdef unsigned int mask = (1 << bits) - 1, pair
    cdef Py_ssize_t i, bit = 0, last = packed.shape[0] - 1
    array = np.empty(shape, np.uint8)
    cdef uint8_t[::1] elements = array.reshape(-1)
    with nogil:
        for i in range(elements.shape[0]):
            pair = packed[bit >> 3] | (packed[(bit >> 3) + 1] << 8 if (bit >> 3) < last else 0)
            pair = (pair >> (bit & 7)) & mask
            elements[i] = <uint8_t>((pair ^ sign) - sign)
            bit += bits
    return array
