# The C ABI as Cython sees it: the one facade of ortcore.h, and all that the extension modules know of the core.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "ortcore.h" nogil:
    ctypedef struct ortc_status
    ctypedef struct ortc_value
    ctypedef struct ortc_session
    ctypedef struct ortc_session_options
    ctypedef struct ortc_run_options
    ctypedef struct ortc_binding
    ctypedef struct ortc_allocator

    ctypedef enum ortc_element_type:
        ORTC_STRING
        ORTC_ELEMENT_TYPE_COUNT
    ctypedef enum ortc_value_kind:
        ORTC_VALUE_NONE
        ORTC_VALUE_TENSOR
        ORTC_VALUE_SPARSE
        ORTC_VALUE_SEQUENCE
        ORTC_VALUE_MAP
    ctypedef enum ortc_sparse_format:
        ORTC_SPARSE_UNDEFINED
    ctypedef enum ortc_io:
        ORTC_IO_INPUT
        ORTC_IO_OUTPUT
        ORTC_IO_OVERRIDABLE
    ctypedef enum ortc_severity:
        ORTC_VERBOSE
    ctypedef enum ortc_device_type:
        ORTC_DEVICE_CPU
    ctypedef enum ortc_device_mem_type:
        ORTC_DEVICE_MEM_DEFAULT
    ctypedef enum ortc_mem_type:
        ORTC_MEM_DEFAULT
    ctypedef enum ortc_allocator_type:
        ORTC_DEVICE_ALLOCATOR

    ctypedef void (*ortc_release_fn)(void *user) noexcept
    ctypedef void (*ortc_log_fn)(void *user, ortc_severity severity, const char *category, const char *logid, const char *location,
                                 const char *message) noexcept
    ctypedef int (*ortc_output_alloc_fn)(void *user, const char *name, ortc_element_type type, size_t rank, const int64_t *dims, size_t bytes,
                                         void **out_data) noexcept

    ctypedef struct ortc_memory_info:
        char name[32]
        ortc_device_type device_type
        ortc_device_mem_type device_mem_type
        ortc_mem_type mem_type
        ortc_allocator_type allocator_type
        int32_t device_id
        uint32_t vendor_id
        uint64_t alignment
    ctypedef struct ortc_arena_config:
        size_t size
        uint64_t max_bytes
        int32_t extend_strategy
        int64_t initial_chunk_bytes
        int64_t max_dead_bytes_per_chunk
        int64_t initial_growth_chunk_bytes
        int64_t max_power_of_two_extend_bytes
    ctypedef struct ortc_allocator_stats:
        uint64_t bytes_in_use, peak_bytes_in_use, bytes_reserved, max_bytes, allocations, frees, extensions, shrinks, largest_allocation
    ctypedef struct ortc_io_info:
        const char *name
        const char *type
        ortc_element_type element_type
        bint is_tensor
        bint is_optional
        bint has_rank
        size_t rank
        const int64_t *dims
        const char *const *symbols
        ortc_memory_info memory
    ctypedef struct ortc_model_metadata:
        const char *producer_name
        const char *graph_name
        const char *domain
        const char *description
        const char *graph_description
        int64_t version
        size_t custom_count
        const char *const *custom_keys
        const char *const *custom_values
    ctypedef struct ortc_node_info:
        const char *name
        const char *op_type
        const char *domain
        const char *provider
    ctypedef struct ortc_run_stats:
        uint64_t runs, bytes_copied, bytes_reordered, allocations, kernel_launches, host_to_device_copies, device_to_host_copies, planned_bytes

    const char *ortc_version_string()
    const char *ortc_build_info()
    int ortc_status_get_code(const ortc_status *)
    const char *ortc_status_get_message(const ortc_status *)
    const char *ortc_status_get_node(const ortc_status *)
    void ortc_status_release(ortc_status *)
    void ortc_set_log_callback(ortc_log_fn, void *)
    ortc_status *ortc_set_log_severity(int)
    int ortc_get_log_severity()
    void ortc_set_seed(int64_t)
    void ortc_set_thread_budget(int)
    int ortc_get_thread_budget()
    const char *ortc_element_type_name(ortc_element_type)
    int ortc_element_type_bits(ortc_element_type)

    ortc_status *ortc_memory_info_init(const char *, ortc_allocator_type, int32_t, ortc_mem_type, ortc_memory_info *)
    ortc_status *ortc_allocator_create(const ortc_memory_info *, const ortc_arena_config *, ortc_allocator **)
    ortc_allocator *ortc_allocator_get_default()
    void ortc_allocator_release(ortc_allocator *)
    void ortc_allocator_get_info(const ortc_allocator *, ortc_memory_info *)
    void ortc_allocator_get_stats(const ortc_allocator *, ortc_allocator_stats *)
    ortc_status *ortc_allocator_register(ortc_allocator *)

    ortc_status *ortc_value_create_tensor(ortc_allocator *, ortc_element_type, size_t, const int64_t *, ortc_value **)
    ortc_status *ortc_value_create_borrowed(const ortc_memory_info *, ortc_element_type, size_t, const int64_t *, void *, size_t, ortc_release_fn,
                                            void *, ortc_value **)
    ortc_value *ortc_value_create_none()
    ortc_value *ortc_value_retain(ortc_value *)
    void ortc_value_release(ortc_value *)
    ortc_status *ortc_value_clone(const ortc_value *, ortc_value **)
    ortc_status *ortc_value_copy_into(const ortc_value *, ortc_value *)
    ortc_value_kind ortc_value_get_kind(const ortc_value *)
    ortc_element_type ortc_value_get_element_type(const ortc_value *)
    size_t ortc_value_get_rank(const ortc_value *)
    const int64_t *ortc_value_get_dims(const ortc_value *)
    int64_t ortc_value_get_count(const ortc_value *)
    size_t ortc_value_get_bytes(const ortc_value *)
    void *ortc_value_get_data(ortc_value *)
    void ortc_value_get_memory_info(const ortc_value *, ortc_memory_info *)
    bint ortc_value_is_read_only(const ortc_value *)
    void ortc_value_set_read_only(ortc_value *)
    size_t ortc_value_format_type(const ortc_value *, char *, size_t)
    ortc_status *ortc_value_set_string(ortc_value *, int64_t, const char *, size_t)
    ortc_status *ortc_value_get_string(const ortc_value *, int64_t, const char **, size_t *)
    ortc_status *ortc_value_create_sequence(ortc_element_type, size_t, ortc_value *const *, ortc_value **)
    ortc_status *ortc_value_get_item(const ortc_value *, int64_t, ortc_value **)
    ortc_status *ortc_value_create_map(ortc_value *, ortc_value *, ortc_value **)
    ortc_status *ortc_value_get_map(const ortc_value *, ortc_value **, ortc_value **)
    ortc_status *ortc_value_create_sparse(ortc_sparse_format, size_t, const int64_t *, ortc_value *, ortc_value *, ortc_value *, ortc_value **)
    ortc_status *ortc_value_get_sparse(const ortc_value *, ortc_sparse_format *, ortc_value **, ortc_value **, ortc_value **)
    ortc_status *ortc_value_from_dlpack(void *, bint, bint, ortc_value **)
    ortc_status *ortc_value_to_dlpack(ortc_value *, bint, void **)
    void ortc_dlpack_release(void *, bint)

    const char *ortc_available_provider(size_t)

    ortc_session_options *ortc_session_options_create()
    ortc_session_options *ortc_session_options_copy(const ortc_session_options *)
    void ortc_session_options_release(ortc_session_options *)
    ortc_status *ortc_session_options_set(ortc_session_options *, const char *, const char *)
    const char *ortc_session_options_get(const ortc_session_options *, const char *)
    ortc_status *ortc_session_options_override_dim(ortc_session_options *, const char *, int64_t)
    ortc_status *ortc_session_options_override_denotation(ortc_session_options *, const char *, int64_t)
    ortc_status *ortc_session_options_add_initializer(ortc_session_options *, const char *, ortc_value *, bint)
    ortc_status *ortc_session_options_add_external_file(ortc_session_options *, const char *, const void *, size_t, ortc_release_fn, void *)
    ortc_status *ortc_session_options_add_provider(ortc_session_options *, const char *, const char *const *, const char *const *, size_t)
    void ortc_session_options_cancel_load(ortc_session_options *, bint)

    ortc_status *ortc_session_create_from_file(const char *, const ortc_session_options *, ortc_session **)
    ortc_status *ortc_session_create_from_memory(const void *, size_t, ortc_release_fn, void *, const ortc_session_options *, ortc_session **)
    void ortc_session_release(ortc_session *)
    size_t ortc_session_get_io_count(const ortc_session *, ortc_io)
    const ortc_io_info *ortc_session_get_io(const ortc_session *, ortc_io, size_t)
    const ortc_model_metadata *ortc_session_get_metadata(const ortc_session *)
    const char *ortc_session_get_provider(const ortc_session *, size_t)
    ortc_allocator *ortc_session_get_allocator(const ortc_session *)
    bint ortc_session_get_node(const ortc_session *, size_t, ortc_node_info *)
    ortc_status *ortc_session_end_profiling(ortc_session *, const char **)
    int64_t ortc_session_get_profiling_start_ns(const ortc_session *)
    void ortc_session_get_stats(const ortc_session *, ortc_run_stats *, ortc_run_stats *)
    uint64_t ortc_session_trim(ortc_session *)

    ortc_run_options *ortc_run_options_create()
    void ortc_run_options_release(ortc_run_options *)
    void ortc_run_options_set_terminate(ortc_run_options *, bint)
    ortc_status *ortc_run_options_set(ortc_run_options *, const char *, const char *)
    const char *ortc_run_options_get(const ortc_run_options *, const char *)

    ortc_status *ortc_session_run(ortc_session *, const ortc_run_options *, size_t, const char *const *, ortc_value *const *, size_t,
                                  const char *const *, ortc_value **)
    ortc_status *ortc_binding_create(ortc_session *, ortc_binding **)
    void ortc_binding_release(ortc_binding *)
    ortc_status *ortc_binding_bind_input(ortc_binding *, const char *, ortc_value *)
    ortc_status *ortc_binding_bind_output(ortc_binding *, const char *, ortc_value *)
    ortc_status *ortc_binding_bind_output_device(ortc_binding *, const char *, const ortc_memory_info *)
    ortc_status *ortc_binding_bind_output_allocator(ortc_binding *, const char *, const ortc_memory_info *, ortc_output_alloc_fn, ortc_release_fn, void *)
    ortc_status *ortc_binding_bind_output_capacity(ortc_binding *, const char *, const ortc_memory_info *, void *, size_t, ortc_release_fn, void *)
    void ortc_binding_clear_inputs(ortc_binding *)
    void ortc_binding_clear_outputs(ortc_binding *)
    ortc_status *ortc_binding_synchronize_inputs(ortc_binding *)
    ortc_status *ortc_binding_synchronize_outputs(ortc_binding *)
    size_t ortc_binding_get_output_count(const ortc_binding *)
    const char *ortc_binding_get_output_name(const ortc_binding *, size_t)
    ortc_status *ortc_binding_get_output(ortc_binding *, size_t, ortc_value **)
    ortc_status *ortc_session_run_binding(ortc_session *, ortc_binding *, const ortc_run_options *)
    void ortc_binding_count_copied(ortc_binding *, uint64_t)
