# cython: language_level=3, freethreading_compatible=True, auto_pickle=False
"""What concerns the whole process: version, log, seed, threads."""
import atexit

from libc.limits cimport INT_MAX, INT_MIN
from libc.stdint cimport INT64_MAX, INT64_MIN
from ortcore._capi cimport *
from ortcore._errors cimport check

from ortcore._errors import make_error, whole_number

cdef object log_callback = None
cdef int log_callback_severity = 2


def get_version_string():
    """Version of ortcore, such as "0.1.0"."""
    return ortc_version_string().decode()


def get_build_info():
    """One line: version, compiler, and what the library was built with."""
    return ortc_build_info().decode()


def get_available_providers():
    """Names of the providers that can run here and now, in order of priority, the CPU's last. A new list."""
    names = []
    while ortc_available_provider(len(names)) is not NULL:
        names.append(ortc_available_provider(len(names)).decode())
    return names


def get_why_not(provider):
    """Why a provider cannot run here; "" if it can."""
    return ortc_provider_why_not(provider.encode()).decode("utf-8", "replace")


def get_device_count(provider):
    """How many devices a provider has here."""
    return ortc_provider_get_device_count(provider.encode())


def get_device_name(provider, device_id):
    """What a device is called; None if there is none of that number."""
    cdef const char *name = ortc_provider_get_device_name(provider.encode(), device_id)
    return None if name is NULL else name.decode("utf-8", "replace")


def get_provider_library(provider):
    """Path of the library that a provider lies in; "" if it is not available."""
    return ortc_provider_get_library(provider.encode()).decode("utf-8", "surrogateescape")


def use_emulated_cuda():
    """Makes CUDA the emulated GPU. An error once CUDA was looked for."""
    check(ortc_use_emulated_cuda())


def set_cuda_library_folders(folders):
    """Where cuBLAS and cuDNN are looked for first: folders separated by colons."""
    ortc_set_cuda_library_folders(folders.encode("utf-8", "surrogateescape"))


def set_default_logger_severity(severity):
    """Least severity of messages that are logged: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal."""
    check(ortc_set_log_severity(whole_number(severity, "severity", 0, 4)))


def set_default_logger_verbosity(verbosity):
    """Accepted for compatibility: verbose messages have one level."""
    whole_number(verbosity, "verbosity", INT_MIN, INT_MAX)


cdef void write_log(void *user, ortc_severity severity, const char *category, const char *logid, const char *location, const char *message) noexcept nogil:
    with gil:
        if log_callback is not None and <int>severity >= log_callback_severity:
            try:
                log_callback(<int>severity, category.decode("utf-8", "replace"), logid.decode("utf-8", "replace"), location.decode("utf-8", "replace"),
                             message.decode("utf-8", "replace"))
            except Exception:
                import traceback
                traceback.print_exc()


def set_default_logger_callback(callback, severity=2):
    """Sends messages of at least `severity` to callback(severity, category, logid, location, message); None sends them to stderr again.

    The callback may be called on any thread.
    """
    global log_callback, log_callback_severity
    if callback is not None and not callable(callback):
        raise make_error(2, f"the callback must be callable or None, not {type(callback).__name__}")
    log_callback, log_callback_severity = callback, whole_number(severity, "severity", 0, 4)
    if callback is None:
        ortc_set_log_callback(NULL, NULL)
    else:
        ortc_set_log_callback(write_log, NULL)


atexit.register(set_default_logger_callback, None)         # threads may log longer than the interpreter lives


def set_seed(seed):
    """Seed of random operators, for sessions made later. The same seed gives the same numbers."""
    ortc_set_seed(whole_number(seed, "seed", INT64_MIN, INT64_MAX))


def set_thread_budget(threads):
    """Number of CPU threads that all runs of the process together may use; 0: the cores that the process may use."""
    ortc_set_thread_budget(whole_number(threads, "threads", 0, INT_MAX))


def get_thread_budget():
    """Number of CPU threads that all runs of the process together may use."""
    return ortc_get_thread_budget()
