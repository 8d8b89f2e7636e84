# cython: language_level=3, freethreading_compatible=True, auto_pickle=False
"""What SessionOptions and RunOptions are made of: settings by name, and the objects that a session needs to load."""
from cpython.buffer cimport PyBuffer_Release, PyBUF_SIMPLE, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, INT64_MIN, SIZE_MAX
from libc.stdlib cimport free, malloc
from libc.string cimport strlen
from ortcore._capi cimport *
from ortcore._errors cimport check
from ortcore._owners cimport hold, owner_release, owners_enter, owners_leave
from ortcore._value cimport OrtValue

from ortcore._errors import WrongClass, bytes_like, list_of, make_error, whole_number

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL


cdef const char *text_of(object text, str what) except NULL:
    """UTF-8 of a str, which keeps it. A NUL would cut it short, so there must be none."""
    cdef Py_ssize_t size
    if not isinstance(text, str):
        raise TypeError(f"{what} must be str, not {type(text).__name__}")
    cdef const char *data = PyUnicode_AsUTF8AndSize(text, &size)
    if <Py_ssize_t>strlen(data) != size:
        raise ValueError(f"{what} {text!r} holds a NUL character")
    return data


cdef int64_t dim_of(object value, object name) except? -1:
    return whole_number(value, f"the value for dim {name!r}", INT64_MIN, INT64_MAX)


cdef class NativeSessionOptions:
    def __cinit__(self):
        self._providers = []
        self.pointer = ortc_session_options_create()
        if self.pointer is NULL:
            raise MemoryError()

    def __dealloc__(self):
        owners_enter()
        ortc_session_options_release(self.pointer)
        owners_leave()

    def _copy(self):
        """Options with the same settings; the copy and this one change independently."""
        cdef NativeSessionOptions copy = type(self)()
        ortc_session_options_release(copy.pointer)
        copy.pointer = ortc_session_options_copy(self.pointer)
        if copy.pointer is NULL:
            raise MemoryError()
        copy._providers = list(self._providers)
        return copy

    def _set(self, key, value):
        check(ortc_session_options_set(self.pointer, text_of(key, "a setting's key"), text_of(value, "a setting's value")))

    def _get(self, key):
        cdef const char *value = ortc_session_options_get(self.pointer, text_of(key, "a setting's key"))
        return None if value is NULL else value.decode()

    def _use_provider(self, name, options):
        """Appends a provider for the session to be made; keys and values of `options` are str."""
        cdef list pairs = list(options.items())            # holds the texts, too
        cdef size_t count = 0, values = len(pairs)
        cdef const char **texts = <const char **>malloc((2 * values + 1) * sizeof(char *))
        if texts is NULL:
            raise MemoryError()
        try:
            for key, value in pairs:
                texts[count] = text_of(key, "a provider option's name")
                texts[values + count] = text_of(value, "a provider option's value")
                count += 1
            check(ortc_session_options_add_provider(self.pointer, text_of(name, "a provider's name"), texts, texts + values, count))
        finally:
            free(texts)

    def add_free_dimension_override_by_name(self, name, value):
        """Fixes the symbolic dim `name` of the model. The first registration of a name wins; names that the model lacks mean nothing."""
        check(ortc_session_options_override_dim(self.pointer, text_of(name, "a dim's name"), dim_of(value, name)))

    def add_free_dimension_override_by_denotation(self, denotation, value):
        """Fixes the dims that the model marks with `denotation`, such as "DATA_BATCH"."""
        check(ortc_session_options_override_denotation(self.pointer, text_of(denotation, "a denotation"), dim_of(value, denotation)))

    def add_initializer(self, name, ort_value):
        """Replaces an initializer of the model. The value is held by the options and by sessions made with them; its type and shape must be the
        initializer's."""
        self._add_initializer(name, ort_value, False)

    def add_external_initializers(self, initializer_names, initializer_values):
        """Gives the contents of initializers whose data lies outside the model."""
        names, values = list_of(initializer_names, "initializer_names"), list_of(initializer_values, "initializer_values")
        if len(names) != len(values):
            raise make_error(2, f"{len(names)} names of initializers, but {len(values)} values")
        for name, value in zip(names, values):
            self._add_initializer(name, value, True)

    def _add_initializer(self, name, ort_value, external):
        if not isinstance(ort_value, OrtValue):
            raise make_error(2, f"the value for initializer '{name}' must be an OrtValue, not {type(ort_value).__name__}")
        check(ortc_session_options_add_initializer(self.pointer, text_of(name, "an initializer's name"), (<OrtValue>ort_value).pointer, external))

    def add_external_initializers_from_files_in_memory(self, file_names, file_buffers, file_lengths):
        """Says that files of external data, by the names in the model, are these buffers, which stay alive as long as any session needs them."""
        cdef Py_buffer view
        cdef void *owner
        cdef ortc_status *status
        names, buffers, lengths = list_of(file_names, "file_names"), list_of(file_buffers, "file_buffers"), list_of(file_lengths, "file_lengths")
        if not len(names) == len(buffers) == len(lengths):
            raise make_error(2, f"{len(names)} names of files, {len(buffers)} buffers and {len(lengths)} lengths; there must be as many of each")
        for name, buffer, length in zip(names, buffers, lengths):
            exported = bytes_like(buffer, f"the buffer for file '{name}'")
            PyObject_GetBuffer(exported, &view, PyBUF_SIMPLE)
            owner = NULL
            try:
                if not 0 <= whole_number(length, f"the length of file '{name}'", 0, SIZE_MAX) <= view.len:
                    raise make_error(2, f"the buffer for file '{name}' has {view.len} bytes, but the length given is {length}")
                owner = hold(exported)
                status = ortc_session_options_add_external_file(self.pointer, text_of(name, "a file's name"), view.buf, length, owner_release, owner)
                if status is NULL:
                    owner = NULL
                check(status)
            finally:
                PyBuffer_Release(&view)
                if owner is not NULL:
                    owners_enter()
                    owner_release(owner)
                    owners_leave()

    def set_load_cancellation_flag(self, cancel):
        """True ends the loading of sessions with these options, also from another thread; they raise ModelLoadCanceled."""
        ortc_session_options_cancel_load(self.pointer, bool(cancel))


cdef class NativeRunOptions:
    def __cinit__(self):
        self.pointer = ortc_run_options_create()
        if self.pointer is NULL:
            raise MemoryError()

    def __dealloc__(self):
        ortc_run_options_release(self.pointer)

    def _set(self, key, value):
        check(ortc_run_options_set(self.pointer, text_of(key, "a setting's key"), text_of(value, "a setting's value")))

    def _get(self, key):
        cdef const char *value = ortc_run_options_get(self.pointer, text_of(key, "a setting's key"))
        return None if value is NULL else value.decode()

    def _set_terminate(self, terminate):
        ortc_run_options_set_terminate(self.pointer, terminate)


cdef int run_options_of(object options, ortc_run_options **out) except -1:
    if options is None:
        out[0] = NULL
    elif isinstance(options, NativeRunOptions):
        out[0] = (<NativeRunOptions>options).pointer
    else:
        raise WrongClass(f"run_options must be a RunOptions or None, not {type(options).__name__}")
    return 0
