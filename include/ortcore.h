/* ortcore: inference of ONNX models on memory that the caller owns.
 *
 * This header is the whole C ABI. Conventions that hold for every function:
 *
 *  Errors      A function that can fail returns `ortc_status *`: NULL is success, anything else is owned by the caller
 *              and freed with ortc_status_release(). After a failure every out parameter is NULL or zero.
 *  Ownership   `create`, `copy` and `retain` give the caller a reference that the matching `release` drops (NULL is fine);
 *              `get` lends a pointer that lives as long as the object asked. Whatever is bound, fed or registered is
 *              retained by its new holder, so the order in which references are dropped never matters.
 *  Threads     Sessions and values whose contents nobody writes may be used from any number of threads. One binding, one
 *              options object, one run-options object belong to one thread at a time; ortc_run_options_set_terminate()
 *              alone may be called while a run is using its object.
 *  Shapes      dims are int64_t, outermost first; data is dense and row-major unless a function says otherwise.
 *  Strings     are UTF-8 and NUL-terminated; string *elements* carry a length and may hold NUL bytes.
 *  Growth      structs that the caller fills begin with `size`, set to sizeof(the struct); fields are only ever appended.
 *
 * A program in twelve lines (error handling left out):
 *
 *     ortc_session *session; ortc_binding *binding; ortc_value *x, *y;
 *     ortc_session_create_from_file("model.onnx", NULL, &session);
 *     ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, (int64_t[]){1, 4}, x_data, sizeof x_data, NULL, NULL, &x);
 *     ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, (int64_t[]){1, 3}, y_data, sizeof y_data, NULL, NULL, &y);
 *     ortc_binding_create(session, &binding);
 *     ortc_binding_bind_input(binding, "x", x);
 *     ortc_binding_bind_output(binding, "y", y);
 *     ortc_session_run_binding(session, binding, NULL);          // y_data now holds the result; nothing was copied
 */
#ifndef ORTCORE_H
#define ORTCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define ORTC_API
#else
#define ORTC_API __attribute__((visibility("default")))
#endif

/* ---- Version ----------------------------------------------------------------------------------------------------- */

/* The ABI number rises when something that compiled and ran before may no longer do so. */
#define ORTC_ABI_VERSION 1

ORTC_API int ortc_abi_version(void);
ORTC_API const char *ortc_version_string(void);     /* "0.1.0" */
ORTC_API const char *ortc_build_info(void);         /* one line: compiler, oneDNN, CUDA */

/* ---- Status ------------------------------------------------------------------------------------------------------ */

/* The numbers and names are onnxruntime's. X(name, number, python class, python builtin base) */
#define ORTC_STATUS_CODES(X) \
  X(FAIL, 1, Fail, RuntimeError) \
  X(INVALID_ARGUMENT, 2, InvalidArgument, ValueError) \
  X(NO_SUCHFILE, 3, NoSuchFile, FileNotFoundError) \
  X(NO_MODEL, 4, NoModel, RuntimeError) \
  X(ENGINE_ERROR, 5, EngineError, RuntimeError) \
  X(RUNTIME_EXCEPTION, 6, RuntimeException, RuntimeError) \
  X(INVALID_PROTOBUF, 7, InvalidProtobuf, ValueError) \
  X(MODEL_LOADED, 8, ModelLoaded, RuntimeError) \
  X(NOT_IMPLEMENTED, 9, NotImplemented, NotImplementedError) \
  X(INVALID_GRAPH, 10, InvalidGraph, ValueError) \
  X(EP_FAIL, 11, EPFail, RuntimeError) \
  X(MODEL_LOAD_CANCELED, 12, ModelLoadCanceled, RuntimeError) \
  X(MODEL_REQUIRES_COMPILATION, 13, ModelRequiresCompilation, RuntimeError) \
  X(NOT_FOUND, 14, NotFound, KeyError) \
  X(OUT_OF_MEMORY, 15, OutOfMemory, MemoryError)

typedef enum ortc_status_code {
  ORTC_OK = 0,
#define ORTC_STATUS_ENUM_(name, number, cls, base) ORTC_##name = number,
  ORTC_STATUS_CODES(ORTC_STATUS_ENUM_)
#undef ORTC_STATUS_ENUM_
} ortc_status_code;

typedef struct ortc_status ortc_status;

ORTC_API ortc_status_code ortc_status_get_code(const ortc_status *status);       /* ORTC_OK for NULL */
ORTC_API const char *ortc_status_get_message(const ortc_status *status);         /* "" for NULL */
ORTC_API const char *ortc_status_get_node(const ortc_status *status);            /* node that failed, or "" */
ORTC_API void ortc_status_release(ortc_status *status);
ORTC_API const char *ortc_status_code_name(ortc_status_code code);               /* "INVALID_ARGUMENT" */

/* ---- Logging and process-wide settings --------------------------------------------------------------------------- */

typedef enum ortc_severity { ORTC_VERBOSE, ORTC_INFO, ORTC_WARNING, ORTC_ERROR, ORTC_FATAL } ortc_severity;

/* Called from whatever thread logs, with no lock held; must not call back into the object that is logging. */
typedef void (*ortc_log_fn)(void *user, ortc_severity severity, const char *category, const char *logid,
                            const char *location, const char *message);

ORTC_API void ortc_set_log_callback(ortc_log_fn callback, void *user);           /* NULL restores stderr */
ORTC_API ortc_status *ortc_set_log_severity(int severity);                       /* 0..4; default ORTC_WARNING */
ORTC_API int ortc_get_log_severity(void);
ORTC_API void ortc_set_seed(int64_t seed);                                       /* of random operators, for sessions made later */
/* The number of CPU threads that all runs of the process together may hold. 0: the cores of the cpuset and cgroup quota. */
ORTC_API void ortc_set_thread_budget(int threads);
ORTC_API int ortc_get_thread_budget(void);

/* ---- Element types ------------------------------------------------------------------------------------------------ */

/* Numbers are those of ONNX's TensorProto.DataType. Types narrower than a byte are packed, first element in the low bits. */
typedef enum ortc_element_type {
  ORTC_UNDEFINED = 0, ORTC_FLOAT, ORTC_UINT8, ORTC_INT8, ORTC_UINT16, ORTC_INT16, ORTC_INT32, ORTC_INT64, ORTC_STRING,
  ORTC_BOOL, ORTC_FLOAT16, ORTC_DOUBLE, ORTC_UINT32, ORTC_UINT64, ORTC_COMPLEX64, ORTC_COMPLEX128, ORTC_BFLOAT16,
  ORTC_FLOAT8E4M3FN, ORTC_FLOAT8E4M3FNUZ, ORTC_FLOAT8E5M2, ORTC_FLOAT8E5M2FNUZ, ORTC_UINT4, ORTC_INT4,
  ORTC_FLOAT4E2M1, ORTC_FLOAT8E8M0, ORTC_UINT2, ORTC_INT2, ORTC_FLOAT6E2M3, ORTC_FLOAT6E3M2,
  ORTC_ELEMENT_TYPE_COUNT
} ortc_element_type;

ORTC_API const char *ortc_element_type_name(ortc_element_type type);             /* "float", "bfloat16"; NULL if unknown */
ORTC_API int ortc_element_type_bits(ortc_element_type type);                     /* 0 for strings and unknown types */

/* ---- Memory infos ------------------------------------------------------------------------------------------------- */

typedef enum ortc_allocator_type { ORTC_INVALID_ALLOCATOR = -1, ORTC_DEVICE_ALLOCATOR = 0, ORTC_ARENA_ALLOCATOR = 1 } ortc_allocator_type;
typedef enum ortc_mem_type { ORTC_MEM_CPU_INPUT = -2, ORTC_MEM_CPU_OUTPUT = -1, ORTC_MEM_DEFAULT = 0 } ortc_mem_type;
typedef enum ortc_device_type { ORTC_DEVICE_CPU, ORTC_DEVICE_GPU, ORTC_DEVICE_FPGA, ORTC_DEVICE_NPU } ortc_device_type;
typedef enum ortc_device_mem_type { ORTC_DEVICE_MEM_DEFAULT = 0, ORTC_DEVICE_MEM_HOST_ACCESSIBLE = 5 } ortc_device_mem_type;

/* A plain value: copy it freely. `name` is the allocator's name ("Cpu", "Cuda", "CudaPinned", ...). */
typedef struct ortc_memory_info {
  char name[32];
  ortc_device_type device_type;
  ortc_device_mem_type device_mem_type;
  ortc_mem_type mem_type;
  ortc_allocator_type allocator_type;
  int32_t device_id;
  uint32_t vendor_id;
  uint64_t alignment;         /* bytes; 0: the device's default */
} ortc_memory_info;

/* From one of onnxruntime's known allocator names; an unknown name is INVALID_ARGUMENT. */
ORTC_API ortc_status *ortc_memory_info_init(const char *name, ortc_allocator_type allocator_type, int32_t device_id,
                                            ortc_mem_type mem_type, ortc_memory_info *out_info);
/* Which device's memory is that? Asks the devices that are in use; an error that says what it is instead if it is none's. */
ORTC_API ortc_status *ortc_memory_info_of(const void *data, ortc_memory_info *out_info);
ORTC_API bool ortc_memory_info_equal(const ortc_memory_info *a, const ortc_memory_info *b);

/* ---- Allocators --------------------------------------------------------------------------------------------------- */

typedef struct ortc_allocator ortc_allocator;

typedef enum ortc_arena_extend { ORTC_NEXT_POWER_OF_TWO = 0, ORTC_SAME_AS_REQUESTED = 1 } ortc_arena_extend;

/* 0 max_bytes is unlimited; -1 in any other field is the default. */
typedef struct ortc_arena_config {
  size_t size;
  uint64_t max_bytes;
  int32_t extend_strategy;                   /* ortc_arena_extend */
  int64_t initial_chunk_bytes;
  int64_t max_dead_bytes_per_chunk;
  int64_t initial_growth_chunk_bytes;
  int64_t max_power_of_two_extend_bytes;
} ortc_arena_config;

typedef struct ortc_allocator_stats {
  uint64_t bytes_in_use, peak_bytes_in_use;  /* handed out */
  uint64_t bytes_reserved;                   /* held from the system */
  uint64_t max_bytes;                        /* the limit, 0 if none */
  uint64_t allocations, frees, extensions, shrinks;
  uint64_t largest_allocation;
} ortc_allocator_stats;

/* info NULL: CPU. arena NULL: a plain allocator, which asks the system (on a GPU: CUDA) each time. "CudaPinned" is page-locked host memory. */
ORTC_API ortc_status *ortc_allocator_create(const ortc_memory_info *info, const ortc_arena_config *arena, ortc_allocator **out_allocator);
ORTC_API ortc_allocator *ortc_allocator_get_default(void);                       /* lent; process-wide CPU allocator */
ORTC_API ortc_allocator *ortc_allocator_retain(ortc_allocator *allocator);
ORTC_API void ortc_allocator_release(ortc_allocator *allocator);
ORTC_API ortc_status *ortc_allocator_alloc(ortc_allocator *allocator, size_t bytes, void **out_data); /* 0 bytes gives NULL */
ORTC_API void ortc_allocator_free(ortc_allocator *allocator, void *data);
ORTC_API void ortc_allocator_get_info(const ortc_allocator *allocator, ortc_memory_info *out_info);
ORTC_API void ortc_allocator_get_stats(const ortc_allocator *allocator, ortc_allocator_stats *out_stats);
ORTC_API uint64_t ortc_allocator_shrink(ortc_allocator *allocator);              /* bytes given back to the system */
/* Makes it the one that sessions with `session.use_env_allocators` = 1 use for its device. Replaces an earlier one. */
ORTC_API ortc_status *ortc_allocator_register(ortc_allocator *allocator);
/* The n-th allocation from now on, in the whole process, fails with OUT_OF_MEMORY (0: off). For tests of error paths. */
ORTC_API void ortc_allocator_inject_failure(uint64_t n);

/* ---- Streams ------------------------------------------------------------------------------------------------------
 *
 * Work in order on a device. What is enqueued may still be running when a call returns. Streams never wait for each other by themselves:
 * ortc_stream_wait orders them on the device, and the host does not wait. On the CPU work is done when its call returns. */

typedef struct ortc_stream ortc_stream;      /* one thread at a time */

ORTC_API ortc_status *ortc_stream_create(const ortc_memory_info *device, ortc_stream **out_stream);
/* The caller's own (for CUDA a cudaStream_t), which must belong to that device, outlives the object and is not destroyed with it. */
ORTC_API ortc_status *ortc_stream_wrap(const ortc_memory_info *device, void *handle, ortc_stream **out_stream);
ORTC_API void ortc_stream_release(ortc_stream *stream);
ORTC_API void *ortc_stream_get_handle(const ortc_stream *stream);                /* a cudaStream_t; NULL on the CPU */
ORTC_API ortc_status *ortc_stream_synchronize(ortc_stream *stream);              /* the host waits for all of its work */
/* What is enqueued on `stream` from now on waits for what was enqueued on `earlier` until now. They may be of different devices. */
ORTC_API ortc_status *ortc_stream_wait(ortc_stream *stream, ortc_stream *earlier);
/* ... waits for an event of the caller's (for CUDA a cudaEvent_t) that was recorded before. */
ORTC_API ortc_status *ortc_stream_wait_event(ortc_stream *stream, void *event);

/* ---- Values ------------------------------------------------------------------------------------------------------- */

#define ORTC_MAX_RANK 16                     /* tensors of higher rank are refused */

typedef struct ortc_value ortc_value;        /* reference-counted: tensor, sequence, map, optional or sparse tensor */

typedef enum ortc_value_kind {
  ORTC_VALUE_NONE = 0,                       /* an optional without a value, or an output not computed yet */
  ORTC_VALUE_TENSOR, ORTC_VALUE_SPARSE, ORTC_VALUE_SEQUENCE, ORTC_VALUE_MAP
} ortc_value_kind;

/* How the caller learns that memory it has lent is its own again. If the function that was given it succeeded, it is called exactly once, when the
 * last reference to the memory goes, from whatever thread drops that; of a model that needs nothing of its bytes, before the function returns. If
 * the function failed, the memory has stayed the caller's, and it is never called. */
typedef void (*ortc_release_fn)(void *user);

/* Dense tensor in memory of its own, uninitialised (strings: empty). allocator NULL: the default one. */
ORTC_API ortc_status *ortc_value_create_tensor(ortc_allocator *allocator, ortc_element_type type, size_t rank, const int64_t *dims, ortc_value **out_value);
/* Dense tensor over the caller's memory; `bytes` is checked against the shape. info NULL: CPU. release may be NULL.
 * data may be NULL only if there are no elements. Strings cannot be borrowed. */
ORTC_API ortc_status *ortc_value_create_borrowed(const ortc_memory_info *info, ortc_element_type type, size_t rank, const int64_t *dims,
                                                 void *data, size_t bytes, ortc_release_fn release, void *user, ortc_value **out_value);
ORTC_API ortc_value *ortc_value_create_none(void);
ORTC_API ortc_value *ortc_value_retain(ortc_value *value);
ORTC_API void ortc_value_release(ortc_value *value);
ORTC_API ortc_status *ortc_value_clone(const ortc_value *value, ortc_value **out_value);  /* deep copy, same device */
/* Same element type and byte size; shapes may differ. Devices may differ if both are reachable. */
ORTC_API ortc_status *ortc_value_copy_into(const ortc_value *source, ortc_value *destination);
/* Only enqueues the copy. The stream must be of a device that one of them lies on; both must stay until the copy is done. */
ORTC_API ortc_status *ortc_value_copy_on_stream(const ortc_value *source, ortc_value *destination, ortc_stream *stream);
/* A tensor over the same memory with another shape of the same byte size. */
ORTC_API ortc_status *ortc_value_reshape(ortc_value *value, size_t rank, const int64_t *dims, ortc_value **out_value);

ORTC_API ortc_value_kind ortc_value_get_kind(const ortc_value *value);
ORTC_API ortc_element_type ortc_value_get_element_type(const ortc_value *value); /* of a sequence: its elements' */
ORTC_API size_t ortc_value_get_rank(const ortc_value *value);
ORTC_API const int64_t *ortc_value_get_dims(const ortc_value *value);            /* `rank` of them */
ORTC_API int64_t ortc_value_get_count(const ortc_value *value);                  /* elements of a tensor, items of a sequence or map */
ORTC_API size_t ortc_value_get_bytes(const ortc_value *value);                   /* tensor data; 0 for strings */
ORTC_API void *ortc_value_get_data(ortc_value *value);                           /* NULL without elements, and for strings */
ORTC_API void ortc_value_get_memory_info(const ortc_value *value, ortc_memory_info *out_info);
/* Memory that must not be written (a read-only array, a DLPack tensor that says so): the value is refused as an output and as the
 * destination of a copy. Holds for every value over that memory, and cannot be undone. */
ORTC_API bool ortc_value_is_read_only(const ortc_value *value);
ORTC_API void ortc_value_set_read_only(ortc_value *value);
/* "tensor(float)", "seq(tensor(int64))", "map(string,tensor(float))", "optional(...)", "sparse_tensor(float)". Caller's buffer;
 * returns the length without the NUL, as snprintf does. */
ORTC_API size_t ortc_value_format_type(const ortc_value *value, char *buffer, size_t capacity);

/* String elements, one by one: data of `bytes` bytes, not NUL-terminated when lent. */
ORTC_API ortc_status *ortc_value_set_string(ortc_value *value, int64_t index, const char *data, size_t bytes);
ORTC_API ortc_status *ortc_value_get_string(const ortc_value *value, int64_t index, const char **out_data, size_t *out_bytes);

/* Sequences hold references to their items, which share one type. An empty sequence names its element type. */
ORTC_API ortc_status *ortc_value_create_sequence(ortc_element_type type, size_t count, ortc_value *const *items, ortc_value **out_value);
ORTC_API ortc_status *ortc_value_get_item(const ortc_value *value, int64_t index, ortc_value **out_item); /* retained */
/* Maps: a 1-D tensor of int64 or string keys and a 1-D tensor of as many values. */
ORTC_API ortc_status *ortc_value_create_map(ortc_value *keys, ortc_value *values, ortc_value **out_value);
ORTC_API ortc_status *ortc_value_get_map(const ortc_value *value, ortc_value **out_keys, ortc_value **out_values); /* retained */

/* Sparse tensors. COO: indices int64 [n] (linear) or [n, rank]; CSR (2-D): inner int64 [n], outer int64 [rows + 1].
 * Indices are checked against the shape. */
typedef enum ortc_sparse_format { ORTC_SPARSE_UNDEFINED = 0, ORTC_SPARSE_COO = 1, ORTC_SPARSE_CSRC = 2, ORTC_SPARSE_BLOCK = 4 } ortc_sparse_format;
ORTC_API ortc_status *ortc_value_create_sparse(ortc_sparse_format format, size_t rank, const int64_t *dims, ortc_value *values,
                                               ortc_value *indices, ortc_value *outer, ortc_value **out_value);
ORTC_API ortc_status *ortc_value_get_sparse(const ortc_value *value, ortc_sparse_format *out_format, ortc_value **out_values,
                                            ortc_value **out_indices, ortc_value **out_outer); /* retained; outer NULL unless CSR */

/* DLPack 1.x. `managed` is a DLManagedTensorVersioned* (versioned) or DLManagedTensor*. Import consumes it on success and
 * keeps the producer alive; strided tensors are INVALID_ARGUMENT unless copy_if_strided, which copies them. Export shares memory. */
ORTC_API ortc_status *ortc_value_from_dlpack(void *managed, bool versioned, bool copy_if_strided, ortc_value **out_value);
ORTC_API ortc_status *ortc_value_to_dlpack(ortc_value *value, bool versioned, void **out_managed);
ORTC_API void ortc_dlpack_release(void *managed, bool versioned);                /* calls its deleter */

/* ---- Providers and operators -------------------------------------------------------------------------------------- */

/* Providers that can run here and now, in priority order, the CPU last. Index out of range gives NULL. */
ORTC_API const char *ortc_available_provider(size_t index);

/* Why that provider cannot run here, "" if it can. Looking for CUDA opens the driver, once a process. */
ORTC_API const char *ortc_provider_why_not(const char *name);
/* How many devices it has here, and what one is called; NULL out of range. */
ORTC_API int ortc_provider_get_device_count(const char *name);
ORTC_API const char *ortc_provider_get_device_name(const char *name, int device_id);
/* Path of the shared library that it lies in, "" if it is not available. */
ORTC_API const char *ortc_provider_get_library(const char *name);
/* CUDA shall be the emulated GPU (docs/testing_without_a_gpu.md) in this process. An error after CUDA was looked for. */
ORTC_API ortc_status *ortc_use_emulated_cuda(void);
/* Folders, separated by colons, in which cuBLAS and cuDNN are looked for first; of no effect once they were needed. */
ORTC_API void ortc_set_cuda_library_folders(const char *folders);

/* An operator as this build implements it from opset `since` of its domain on (until the row with the next higher `since`). */
typedef struct ortc_operator {
  const char *name, *domain;                 /* domain "" is ai.onnx */
  int since;
  const char *signature;                     /* "data:T axes:i64? -> reduced:T": required, `?` optional, `*` and `%` any number */
  uint32_t types[7];                         /* what the type variables T, T1..T5 and V stand for: bit n is ortc_element_type n */
} ortc_operator;
ORTC_API bool ortc_get_operator(size_t index, ortc_operator *out_operator);      /* false out of range */
/* The same of the kernels for GPUs, where CUDA (emulated or not) is available. types[0] are those of the first input; signature is "". A kernel may
 * refuse some attributes and shapes: ortc_session_get_node tells where a node of a model runs. */
ORTC_API bool ortc_get_cuda_kernel(size_t index, ortc_operator *out_kernel);

/* ---- Sessions ----------------------------------------------------------------------------------------------------- */

typedef struct ortc_session ortc_session;
typedef struct ortc_session_options ortc_session_options;   /* an object with setters: it holds references */

ORTC_API ortc_session_options *ortc_session_options_create(void);
ORTC_API ortc_session_options *ortc_session_options_copy(const ortc_session_options *options);
ORTC_API void ortc_session_options_release(ortc_session_options *options);
/* Settings by name, numbers as text; a value that is none of its setting's is INVALID_ARGUMENT and changes nothing. Names: the keys of onnxruntime's
 * session config entries (unknown ones are kept and can be read back), and "intra_op_num_threads" (up to 1024; 0: the cores), "inter_op_num_threads",
 * "graph_optimization_level" (0,1,2,3,99), "enable_cpu_mem_arena",
 * "enable_mem_pattern", "enable_mem_reuse", "enable_profiling", "profile_file_prefix" ("onnxruntime_profile_"), "optimized_model_filepath", "logid",
 * "log_severity_level", "log_verbosity_level", "use_deterministic_compute", "disabled_optimizers" (';' list), "execution_mode",
 * "external_data_folder" (where a model given as bytes finds its external data; onnxruntime's key for it works, too), "map_model_files" (1: files
 * of 4 MB or more are mapped, and runs are refused once such a file was written; 0: files are read as a whole). */
ORTC_API ortc_status *ortc_session_options_set(ortc_session_options *options, const char *key, const char *value);
ORTC_API const char *ortc_session_options_get(const ortc_session_options *options, const char *key);  /* NULL if unset */
ORTC_API ortc_status *ortc_session_options_override_dim(ortc_session_options *options, const char *symbol, int64_t dim);
ORTC_API ortc_status *ortc_session_options_override_denotation(ortc_session_options *options, const char *denotation, int64_t dim);
/* Replaces the model's initializer of that name; type and shape are checked when a session is made. external: only for one with external data. */
ORTC_API ortc_status *ortc_session_options_add_initializer(ortc_session_options *options, const char *name, ortc_value *value, bool external);
/* External data file `name` of a model is this memory, which stays alive as long as anything needs it. */
ORTC_API ortc_status *ortc_session_options_add_external_file(ortc_session_options *options, const char *name, const void *data, size_t bytes,
                                                             ortc_release_fn release, void *user);
/* Appends a provider; keys and values are arrays of `count` strings. Order is priority. */
ORTC_API ortc_status *ortc_session_options_add_provider(ortc_session_options *options, const char *name, const char *const *keys,
                                                        const char *const *values, size_t count);
ORTC_API void ortc_session_options_cancel_load(ortc_session_options *options, bool cancel);  /* from any thread: loading ends with MODEL_LOAD_CANCELED */

/* options may be NULL and are copied. From bytes: the memory must stay valid until release is called (NULL: it is copied). */
ORTC_API ortc_status *ortc_session_create_from_file(const char *path, const ortc_session_options *options, ortc_session **out_session);
ORTC_API ortc_status *ortc_session_create_from_memory(const void *data, size_t bytes, ortc_release_fn release, void *user,
                                                      const ortc_session_options *options, ortc_session **out_session);
ORTC_API ortc_session *ortc_session_retain(ortc_session *session);
ORTC_API void ortc_session_release(ortc_session *session);

typedef enum ortc_io { ORTC_IO_INPUT = 0, ORTC_IO_OUTPUT = 1, ORTC_IO_OVERRIDABLE = 2 } ortc_io;

/* What the model says of one input, output or overridable initializer; lent by the session. */
typedef struct ortc_io_info {
  const char *name;
  const char *type;                          /* "tensor(float)", "seq(tensor(float))", ... */
  ortc_element_type element_type;            /* UNDEFINED for maps and sequences of maps */
  bool is_tensor, is_optional;
  bool has_rank;                             /* false: any rank */
  size_t rank;
  const int64_t *dims;                       /* -1 where not fixed */
  const char *const *symbols;                /* name of a symbolic dim, or NULL */
  ortc_memory_info memory;                   /* where the session consumes or produces it */
} ortc_io_info;

ORTC_API size_t ortc_session_get_io_count(const ortc_session *session, ortc_io which);
ORTC_API const ortc_io_info *ortc_session_get_io(const ortc_session *session, ortc_io which, size_t index);   /* NULL out of range */

typedef struct ortc_model_metadata {
  const char *producer_name, *graph_name, *domain, *description, *graph_description;
  int64_t version;                           /* INT64_MAX if the model does not say */
  size_t custom_count;
  const char *const *custom_keys, *const *custom_values;
} ortc_model_metadata;

ORTC_API const ortc_model_metadata *ortc_session_get_metadata(const ortc_session *session);
ORTC_API const char *ortc_session_get_provider(const ortc_session *session, size_t index);   /* in priority order; NULL out of range */
/* Option `index` of that provider as it holds for the session, given or by default; false out of range. */
ORTC_API bool ortc_session_get_provider_option(const ortc_session *session, const char *provider, size_t index, const char **out_key, const char **out_value);
ORTC_API ortc_allocator *ortc_session_get_allocator(const ortc_session *session);            /* lent: the session's CPU allocator */
ORTC_API ortc_allocator *ortc_session_get_device_allocator(const ortc_session *session);     /* lent: its arena on its GPU, from which weights and
                                                                                                streams take theirs; NULL on the CPU */
/* Nodes as placed. Returns false out of range. Names are the model's after optimisation. Copies between host and device are nodes MemcpyFromHost
 * and MemcpyToHost. Nodes of subgraphs follow the node that has the subgraph. */
typedef struct ortc_node_info {
  const char *name, *op_type, *domain, *provider;
  const char *reason;                        /* in a session on a device: why it does not run there, or why it copies; else NULL */
  int64_t bytes;                             /* of its first output with the latest shapes; -1 if they are not known */
  const char *computed_by;                   /* with the latest shapes: a library ("oneDNN", "cuBLASLt", "cuDNN") or "ortcore"; NULL if not known yet */
  const char *subgraph;                      /* "node/attribute" of the If, Loop or Scan that it is in; NULL in the main graph */
} ortc_node_info;
ORTC_API bool ortc_session_get_node(const ortc_session *session, size_t index, ortc_node_info *out_info);
/* Ends profiling and writes the trace (Chrome JSON). Lends the file's path, "" if profiling was off or has ended. */
ORTC_API ortc_status *ortc_session_end_profiling(ortc_session *session, const char **out_path);
ORTC_API int64_t ortc_session_get_profiling_start_ns(const ortc_session *session);

/* What runs have cost, in total and in the latest run that finished. */
typedef struct ortc_run_stats {
  uint64_t runs;
  uint64_t bytes_copied;                     /* between buffers of the caller and of ortcore, snapshots at bind included */
  uint64_t bytes_reordered;                  /* moved only to change a layout: by transposes that ortcore added, and inside oneDNN */
  uint64_t allocations;                      /* made from ortcore's allocators while running */
  uint64_t kernel_launches;                  /* steps executed */
  uint64_t host_to_device_copies, device_to_host_copies;
  uint64_t planned_bytes;                    /* activation memory of the latest run's shapes */
  uint64_t graph_captures;                   /* CUDA graphs: recorded anew, */
  uint64_t graph_updates;                    /* given other addresses, */
  uint64_t graph_launches;                   /* launched instead of running step by step */
} ortc_run_stats;
ORTC_API void ortc_session_get_stats(const ortc_session *session, ortc_run_stats *out_total, ortc_run_stats *out_latest); /* either may be NULL */
/* Frees what idle runs keep (frames, shape plans, arena regions); returns bytes given back. */
ORTC_API uint64_t ortc_session_trim(ortc_session *session);

/* ---- Runs --------------------------------------------------------------------------------------------------------- */

typedef struct ortc_run_options ortc_run_options;

ORTC_API ortc_run_options *ortc_run_options_create(void);
ORTC_API void ortc_run_options_release(ortc_run_options *options);
ORTC_API void ortc_run_options_set_terminate(ortc_run_options *options, bool terminate);   /* from any thread, also during a run */
/* "logid", "log_severity_level", "only_execute_path_to_fetches", "stage_outputs" (1: bound outputs are written only if the whole run
 * succeeds, at the price of a copy), "memory.enable_memory_arena_shrinkage", "disable_synchronize_execution_providers", "gpu_graph_id".
 * Values are checked as those of session options are. */
ORTC_API ortc_status *ortc_run_options_set(ortc_run_options *options, const char *key, const char *value);
ORTC_API const char *ortc_run_options_get(const ortc_run_options *options, const char *key);

/* Plain run. outputs[i]: NULL in, a new value out (retained for the caller); or a tensor to write into. options may be NULL. */
ORTC_API ortc_status *ortc_session_run(ortc_session *session, const ortc_run_options *options,
                                       size_t input_count, const char *const *input_names, ortc_value *const *inputs,
                                       size_t output_count, const char *const *output_names, ortc_value **outputs);

/* ---- Bindings ------------------------------------------------------------------------------------------------------ */

/* Which memory a session's inputs are read from and its outputs are written to. Holds the session and every value bound.
 * A mistake found before the first step leaves every bound buffer untouched; after a failed run their contents are undefined. */
typedef struct ortc_binding ortc_binding;

ORTC_API ortc_status *ortc_binding_create(ortc_session *session, ortc_binding **out_binding);
ORTC_API void ortc_binding_release(ortc_binding *binding);
/* Name, type, rank and fixed dims are checked here; a refused bind leaves the binding as it was. */
ORTC_API ortc_status *ortc_binding_bind_input(ortc_binding *binding, const char *name, ortc_value *value);
/* value must be a dense tensor; the run writes straight into it. A value of kind NONE asks for an engine-allocated output. */
ORTC_API ortc_status *ortc_binding_bind_output(ortc_binding *binding, const char *name, ortc_value *value);
/* The engine allocates there, once the shape is known; the address stays while the shape is unchanged. */
ORTC_API ortc_status *ortc_binding_bind_output_device(ortc_binding *binding, const char *name, const ortc_memory_info *info);
/* The caller allocates: called once in a run, on its thread, with the final shape, before anything is written.
 * Sets *out_data to at least `bytes` bytes that stay valid until the binding's next run, rebind or release; returns 0 or an error. Meanwhile the
 * binding cannot be run, bound or cleared. */
typedef int (*ortc_output_alloc_fn)(void *user, const char *name, ortc_element_type type, size_t rank, const int64_t *dims,
                                    size_t bytes, void **out_data);
ORTC_API ortc_status *ortc_binding_bind_output_allocator(ortc_binding *binding, const char *name, const ortc_memory_info *info,
                                                         ortc_output_alloc_fn alloc, ortc_release_fn release, void *user);
/* The buffer may be larger than the result: `capacity` bytes at data. get_output tells the true shape; too small is an error. */
ORTC_API ortc_status *ortc_binding_bind_output_capacity(ortc_binding *binding, const char *name, const ortc_memory_info *info, void *data,
                                                        size_t capacity, ortc_release_fn release, void *user);
ORTC_API void ortc_binding_clear_inputs(ortc_binding *binding);
ORTC_API void ortc_binding_clear_outputs(ortc_binding *binding);
/* The stream on which all runs of the binding are enqueued, lent, fixed when the binding is made; the CPU's where the session has no device.
 * A producer of inputs is ordered before the runs by ortc_stream_wait(binding's stream, producer's), a consumer of outputs after them by
 * ortc_stream_wait(consumer's, binding's stream). */
ORTC_API ortc_stream *ortc_binding_get_stream(ortc_binding *binding);
ORTC_API ortc_status *ortc_binding_synchronize_inputs(ortc_binding *binding);
ORTC_API ortc_status *ortc_binding_synchronize_outputs(ortc_binding *binding);
/* Outputs in the order in which they were first bound; the value (retained) is of kind NONE before a run has filled it. */
ORTC_API size_t ortc_binding_get_output_count(const ortc_binding *binding);
ORTC_API const char *ortc_binding_get_output_name(const ortc_binding *binding, size_t index);
ORTC_API ortc_status *ortc_binding_get_output(ortc_binding *binding, size_t index, ortc_value **out_value);
/* options may be NULL. The binding must be of this session. */
ORTC_API ortc_status *ortc_session_run_binding(ortc_session *session, ortc_binding *binding, const ortc_run_options *options);
/* Snapshots that a wrapper had to make when it bound (strided or byte-swapped arrays) are counted as copied bytes. */
ORTC_API void ortc_binding_count_copied(ortc_binding *binding, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif /* ORTCORE_H */
