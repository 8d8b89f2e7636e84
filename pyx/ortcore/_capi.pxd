# The C ABI as Cython sees it: the one facade of ortcore.h. Only what the package uses stands here.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "ortcore.h" nogil:
    const char *ortc_version_string()
    const char *ortc_build_info()

    # Status
    ctypedef struct ortc_status:
        pass
    int ortc_status_get_code(const ortc_status *status)
    const char *ortc_status_get_message(const ortc_status *status)
    const char *ortc_status_get_node(const ortc_status *status)
    void ortc_status_release(ortc_status *status)

    # Process-wide settings
    ctypedef enum ortc_severity:
        ORTC_VERBOSE
    ctypedef void (*ortc_log_fn)(void *user, ortc_severity severity, const char *category, const char *logid, const char *location,
                                 const char *message) noexcept nogil
    void ortc_set_log_callback(ortc_log_fn callback, void *user)
    ortc_status *ortc_set_log_severity(int severity)
    void ortc_set_seed(int64_t seed)
    void ortc_set_thread_budget(int threads)
    int ortc_get_thread_budget()

    # Element types
    ctypedef enum ortc_element_type:
        ORTC_UNDEFINED
        ORTC_FLOAT
        ORTC_INT64
        ORTC_UINT8, ORTC_INT8, ORTC_STRING
        ORTC_ELEMENT_TYPE_COUNT
    const char *ortc_element_type_name(ortc_element_type type)
    int ortc_element_type_bits(ortc_element_type type)

    # Memory
    ctypedef enum ortc_allocator_type:
        ORTC_DEVICE_ALLOCATOR
    ctypedef enum ortc_mem_type:
        ORTC_MEM_CPU_OUTPUT
        ORTC_MEM_DEFAULT
    ctypedef enum ortc_device_type:
        ORTC_DEVICE_CPU
    ctypedef enum ortc_device_mem_type:
        ORTC_DEVICE_MEM_DEFAULT
        ORTC_DEVICE_MEM_HOST_ACCESSIBLE
    ctypedef struct ortc_memory_info:
        char name[32]
        ortc_device_type device_type
        ortc_device_mem_type device_mem_type
        ortc_mem_type mem_type
        ortc_allocator_type allocator_type
        int32_t device_id
        uint32_t vendor_id
        uint64_t alignment
    ortc_status *ortc_memory_info_init(const char *name, ortc_allocator_type allocator_type, int32_t device_id, ortc_mem_type mem_type,
                                       ortc_memory_info *out_info)
    ctypedef struct ortc_allocator:
        pass
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
    ortc_status *ortc_allocator_create(const ortc_memory_info *info, const ortc_arena_config *arena, ortc_allocator **out_allocator)
    void ortc_allocator_release(ortc_allocator *allocator)
    void ortc_allocator_get_stats(const ortc_allocator *allocator, ortc_allocator_stats *out_stats)
    ortc_status *ortc_allocator_register(ortc_allocator *allocator)
    void ortc_allocator_inject_failure(uint64_t n)

    ortc_status *ortc_memory_info_of(const void *data, ortc_memory_info *out_info)

    # Streams
    ctypedef struct ortc_stream:
        pass
    ortc_status *ortc_stream_create(const ortc_memory_info *device, ortc_stream **out_stream)
    ortc_status *ortc_stream_wrap(const ortc_memory_info *device, void *handle, ortc_stream **out_stream)
    void ortc_stream_release(ortc_stream *stream)
    void *ortc_stream_get_handle(const ortc_stream *stream)
    ortc_status *ortc_stream_synchronize(ortc_stream *stream)
    ortc_status *ortc_stream_wait(ortc_stream *stream, ortc_stream *earlier)
    ortc_status *ortc_stream_wait_event(ortc_stream *stream, void *event)

    # Values
    enum:
        ORTC_MAX_RANK
    ctypedef struct ortc_value:
        pass
    ctypedef enum ortc_value_kind:
        ORTC_VALUE_NONE
        ORTC_VALUE_TENSOR
        ORTC_VALUE_SPARSE
        ORTC_VALUE_SEQUENCE
        ORTC_VALUE_MAP
    ctypedef void (*ortc_release_fn)(void *user) noexcept nogil
    ortc_status *ortc_value_create_tensor(ortc_allocator *allocator, ortc_element_type type, size_t rank, const int64_t *dims, ortc_value **out_value)
    ortc_status *ortc_value_create_borrowed(const ortc_memory_info *info, ortc_element_type type, size_t rank, const int64_t *dims, void *data,
                                            size_t bytes, ortc_release_fn release, void *user, ortc_value **out_value)
    ortc_value *ortc_value_create_none()
    ortc_value *ortc_value_retain(ortc_value *value)
    void ortc_value_release(ortc_value *value)
    ortc_status *ortc_value_clone(const ortc_value *value, ortc_value **out_value)
    ortc_status *ortc_value_copy_into(const ortc_value *source, ortc_value *destination)
    ortc_status *ortc_value_copy_on_stream(const ortc_value *source, ortc_value *destination, ortc_stream *stream)
    ortc_value_kind ortc_value_get_kind(const ortc_value *value)
    ortc_element_type ortc_value_get_element_type(const ortc_value *value)
    size_t ortc_value_get_rank(const ortc_value *value)
    const int64_t *ortc_value_get_dims(const ortc_value *value)
    int64_t ortc_value_get_count(const ortc_value *value)
    size_t ortc_value_get_bytes(const ortc_value *value)
    void *ortc_value_get_data(ortc_value *value)
    void ortc_value_get_memory_info(const ortc_value *value, ortc_memory_info *out_info)
    bint ortc_value_is_read_only(const ortc_value *value)
    void ortc_value_set_read_only(ortc_value *value)
    size_t ortc_value_format_type(const ortc_value *value, char *buffer, size_t capacity)
    ortc_status *ortc_value_set_string(ortc_value *value, int64_t index, const char *data, size_t bytes)
    ortc_status *ortc_value_get_string(const ortc_value *value, int64_t index, const char **out_data, size_t *out_bytes)
    ortc_status *ortc_value_create_sequence(ortc_element_type type, size_t count, ortc_value **items, ortc_value **out_value)
    ortc_status *ortc_value_get_item(const ortc_value *value, int64_t index, ortc_value **out_item)
    ortc_status *ortc_value_create_map(ortc_value *keys, ortc_value *values, ortc_value **out_value)
    ortc_status *ortc_value_get_map(const ortc_value *value, ortc_value **out_keys, ortc_value **out_values)
    ctypedef enum ortc_sparse_format:
        ORTC_SPARSE_UNDEFINED
        ORTC_SPARSE_COO
        ORTC_SPARSE_CSRC
    ortc_status *ortc_value_create_sparse(ortc_sparse_format format, size_t rank, const int64_t *dims, ortc_value *values, ortc_value *indices,
                                          ortc_value *outer, ortc_value **out_value)
    ortc_status *ortc_value_get_sparse(const ortc_value *value, ortc_sparse_format *out_format, ortc_value **out_values, ortc_value **out_indices,
                                       ortc_value **out_outer)
    ortc_status *ortc_value_from_dlpack(void *managed, bint versioned, bint copy_if_strided, ortc_value **out_value)
    ortc_status *ortc_value_to_dlpack(ortc_value *value, bint versioned, void **out_managed)
    void ortc_dlpack_release(void *managed, bint versioned)

    # Sessions
    const char *ortc_available_provider(size_t index)
    const char *ortc_provider_why_not(const char *name)
    int ortc_provider_get_device_count(const char *name)
    const char *ortc_provider_get_device_name(const char *name, int device_id)
    const char *ortc_provider_get_library(const char *name)
    ortc_status *ortc_use_emulated_cuda()
    void ortc_set_cuda_library_folders(const char *folders)
    ctypedef struct ortc_session:
        pass
    ctypedef struct ortc_session_options:
        pass
    ortc_session_options *ortc_session_options_create()
    ortc_session_options *ortc_session_options_copy(const ortc_session_options *options)
    void ortc_session_options_release(ortc_session_options *options)
    ortc_status *ortc_session_options_set(ortc_session_options *options, const char *key, const char *value)
    const char *ortc_session_options_get(const ortc_session_options *options, const char *key)
    ortc_status *ortc_session_options_override_dim(ortc_session_options *options, const char *symbol, int64_t dim)
    ortc_status *ortc_session_options_override_denotation(ortc_session_options *options, const char *denotation, int64_t dim)
    ortc_status *ortc_session_options_add_initializer(ortc_session_options *options, const char *name, ortc_value *value, bint external)
    ortc_status *ortc_session_options_add_external_file(ortc_session_options *options, const char *name, const void *data, size_t bytes,
                                                        ortc_release_fn release, void *user)
    ortc_status *ortc_session_options_add_provider(ortc_session_options *options, const char *name, const char **keys, const char **values, size_t count)
    void ortc_session_options_cancel_load(ortc_session_options *options, bint cancel)
    ortc_status *ortc_session_create_from_file(const char *path, const ortc_session_options *options, ortc_session **out_session)
    ortc_status *ortc_session_create_from_memory(const void *data, size_t bytes, ortc_release_fn release, void *user,
                                                 const ortc_session_options *options, ortc_session **out_session)
    void ortc_session_release(ortc_session *session)
    ctypedef enum ortc_io:
        ORTC_IO_INPUT
        ORTC_IO_OUTPUT
        ORTC_IO_OVERRIDABLE
    ctypedef struct ortc_io_info:
        const char *name
        const char *type
        ortc_element_type element_type
        bint is_tensor, is_optional
        bint has_rank
        size_t rank
        const int64_t *dims
        const char *const *symbols
        ortc_memory_info memory
    size_t ortc_session_get_io_count(const ortc_session *session, ortc_io which)
    const ortc_io_info *ortc_session_get_io(const ortc_session *session, ortc_io which, size_t index)
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
    const ortc_model_metadata *ortc_session_get_metadata(const ortc_session *session)
    const char *ortc_session_get_provider(const ortc_session *session, size_t index)
    bint ortc_session_get_provider_option(const ortc_session *session, const char *provider, size_t index, const char **out_key,
                                          const char **out_value)
    ortc_allocator *ortc_session_get_allocator(const ortc_session *session)
    ortc_allocator *ortc_session_get_device_allocator(const ortc_session *session)
    ctypedef struct ortc_node_info:
        const char *name
        const char *op_type
        const char *domain
        const char *provider
        const char *reason
        int64_t bytes
        const char *computed_by
        const char *subgraph
    bint ortc_session_get_node(const ortc_session *session, size_t index, ortc_node_info *out_info)
    ortc_status *ortc_session_end_profiling(ortc_session *session, const char **out_path)
    int64_t ortc_session_get_profiling_start_ns(const ortc_session *session)
    ctypedef struct ortc_run_stats:
        uint64_t runs, bytes_copied, bytes_reordered, allocations, kernel_launches, host_to_device_copies, device_to_host_copies, planned_bytes
        uint64_t graph_captures, graph_updates, graph_launches
    void ortc_session_get_stats(const ortc_session *session, ortc_run_stats *out_total, ortc_run_stats *out_latest)
    uint64_t ortc_session_trim(ortc_session *session)

    # Runs and bindings
    ctypedef struct ortc_run_options:
        pass
    ortc_run_options *ortc_run_options_create()
    void ortc_run_options_release(ortc_run_options *options)
    void ortc_run_options_set_terminate(ortc_run_options *options, bint terminate)
    ortc_status *ortc_run_options_set(ortc_run_options *options, const char *key, const char *value)
    const char *ortc_run_options_get(const ortc_run_options *options, const char *key)
    ortc_status *ortc_session_run(ortc_session *session, const ortc_run_options *options, size_t input_count, const char **input_names,
                                  ortc_value **inputs, size_t output_count, const char **output_names, ortc_value **outputs)
    ctypedef struct ortc_binding:
        pass
    ortc_status *ortc_binding_create(ortc_session *session, ortc_binding **out_binding)
    void ortc_binding_release(ortc_binding *binding)
    ortc_status *ortc_binding_bind_input(ortc_binding *binding, const char *name, ortc_value *value)
    ortc_status *ortc_binding_bind_output(ortc_binding *binding, const char *name, ortc_value *value)
    ortc_status *ortc_binding_bind_output_device(ortc_binding *binding, const char *name, const ortc_memory_info *info)
    ctypedef int (*ortc_output_alloc_fn)(void *user, const char *name, ortc_element_type type, size_t rank, const int64_t *dims, size_t bytes,
                                         void **out_data) noexcept nogil
    ortc_status *ortc_binding_bind_output_allocator(ortc_binding *binding, const char *name, const ortc_memory_info *info, ortc_output_alloc_fn alloc,
                                                    ortc_release_fn release, void *user)
    ortc_status *ortc_binding_bind_output_capacity(ortc_binding *binding, const char *name, const ortc_memory_info *info, void *data, size_t capacity,
                                                   ortc_release_fn release, void *user)
    void ortc_binding_clear_inputs(ortc_binding *binding)
    void ortc_binding_clear_outputs(ortc_binding *binding)
    ortc_stream *ortc_binding_get_stream(ortc_binding *binding)
    ortc_status *ortc_binding_synchronize_inputs(ortc_binding *binding)
    ortc_status *ortc_binding_synchronize_outputs(ortc_binding *binding)
    size_t ortc_binding_get_output_count(const ortc_binding *binding)
    const char *ortc_binding_get_output_name(const ortc_binding *binding, size_t index)
    ortc_status *ortc_binding_get_output(ortc_binding *binding, size_t index, ortc_value **out_value)
    ortc_status *ortc_session_run_binding(ortc_session *session, ortc_binding *binding, const ortc_run_options *options)
    void ortc_binding_count_copied(ortc_binding *binding, uint64_t bytes)
