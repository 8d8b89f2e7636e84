#include <ortcore/base/mem.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/value/dlpack.h>

#include <inttypes.h>
#include <string.h>

/* ---- Element types and devices ---- */

static const struct { dtype type; uint8_t code, bits; } dl_types[] = {
  {ORTC_INT2, 0, 2}, {ORTC_INT4, 0, 4}, {ORTC_INT8, 0, 8}, {ORTC_INT16, 0, 16}, {ORTC_INT32, 0, 32}, {ORTC_INT64, 0, 64},
  {ORTC_UINT2, 1, 2}, {ORTC_UINT4, 1, 4}, {ORTC_UINT8, 1, 8}, {ORTC_UINT16, 1, 16}, {ORTC_UINT32, 1, 32}, {ORTC_UINT64, 1, 64},
  {ORTC_FLOAT16, 2, 16}, {ORTC_FLOAT, 2, 32}, {ORTC_DOUBLE, 2, 64}, {ORTC_BFLOAT16, 4, 16}, {ORTC_COMPLEX64, 5, 64}, {ORTC_COMPLEX128, 5, 128},
  {ORTC_BOOL, 6, 8}, {ORTC_FLOAT8E4M3FN, 10, 8}, {ORTC_FLOAT8E4M3FNUZ, 11, 8}, {ORTC_FLOAT8E5M2, 12, 8}, {ORTC_FLOAT8E5M2FNUZ, 13, 8},
  {ORTC_FLOAT8E8M0, 14, 8}, {ORTC_FLOAT6E2M3, 15, 6}, {ORTC_FLOAT6E3M2, 16, 6}, {ORTC_FLOAT4E2M1, 17, 4},
};
enum { TYPE_COUNT = sizeof dl_types / sizeof *dl_types };

static dtype type_of(const dl_tensor *t) {
  for (int i = 0; i < TYPE_COUNT; ++i) {
    if (dl_types[i].code == t->dtype.code && dl_types[i].bits == t->dtype.bits && t->dtype.lanes == 1) return dl_types[i].type;
  }
  return ORTC_UNDEFINED;
}

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_ROCM = 10, DL_ROCM_HOST = 11, DL_CUDA_MANAGED = 13 };

/* Import takes the first row of a device type, export the first that names the allocator's memory. */
static const struct { int32_t dl_type; const char *allocator; } dl_devices[] = {
  {DL_CPU, "Cpu"}, {DL_CUDA, "Cuda"}, {DL_CUDA_HOST, "CudaPinned"}, {DL_ROCM, "Hip"}, {DL_ROCM_HOST, "HipPinned"}, {DL_CUDA_MANAGED, "Cuda"},
};
enum { DEVICE_COUNT = sizeof dl_devices / sizeof *dl_devices };

static status info_of(const dl_tensor *t, ortc_memory_info *out) {
  for (int i = 0; i < DEVICE_COUNT; ++i) {
    if (dl_devices[i].dl_type == t->device.type) return memory_info_init(out, dl_devices[i].allocator, ORTC_DEVICE_ALLOCATOR, t->device.id, ORTC_MEM_DEFAULT);
  }
  return ERROR(INVALID_ARGUMENT, "DLPack: tensors on device type %d are not supported; supported are CPU (1), CUDA (2, 3, 13) and ROCm (10, 11)", t->device.type);
}

static int32_t device_of(const ortc_memory_info *info) {
  ortc_memory_info known;
  if (info->device_type == ORTC_DEVICE_CPU) return DL_CPU;
  for (int i = 0; i < DEVICE_COUNT; ++i) {
    status s = memory_info_init(&known, dl_devices[i].allocator, ORTC_DEVICE_ALLOCATOR, info->device_id, ORTC_MEM_DEFAULT);
    status_release(s);                                     /* the table's names are known names */
    if (memory_info_same_device(&known, info)) return dl_devices[i].dl_type;
  }
  return 0;
}

/* ---- Import ---- */

static void dense_strides(const tensor *view, int64_t *out) {
  int64_t stride = 1;
  for (int i = view->rank - 1; i >= 0; --i) {
    out[i] = stride;
    stride *= view->dims[i] > 0 ? view->dims[i] : 1;       /* cannot overflow: tensor_init takes zeros for ones there, too */
  }
}

static bool is_dense(const dl_tensor *t, const tensor *view) {
  int64_t expected[MAX_RANK];
  dense_strides(view, expected);
  if (!t->strides || view->count == 0) return true;
  for (int i = 0; i < view->rank; ++i) {
    if (view->dims[i] != 1 && t->strides[i] != expected[i]) return false;
  }
  return true;
}

/* Elements of `width` bytes, in row-major order, to dense memory. Returns the end of what was written. */
static unsigned char *gather(unsigned char *to, const unsigned char *from, const tensor *view, const int64_t *strides, int axis, size_t width) {
  if (axis == view->rank) return (unsigned char *)memcpy(to, from, width) + width;
  for (int64_t i = 0; i < view->dims[axis]; ++i) to = gather(to, from + i * strides[axis] * (int64_t)width, view, strides, axis + 1, width);
  return to;
}

/* Packs elements that came a byte each, the first into the lowest bits. */
static void pack(unsigned char *to, const unsigned char *from, int64_t count, int bits) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t position = (uint64_t)i * (uint64_t)bits;
    unsigned value = (from[i] & ((1u << bits) - 1)) << position % 8;
    to[position / 8] |= (unsigned char)value;
    if (value > 0xff) to[position / 8 + 1] |= (unsigned char)(value >> 8);
  }
}

static status import_copy(const dl_tensor *t, const unsigned char *data, const tensor *view, bool padded, ortc_value **out) {
  int64_t dense[MAX_RANK];
  const int64_t *strides = t->strides;
  if (!strides) {
    dense_strides(view, dense);
    strides = dense;
  }
  TRY(ort_value_create_tensor(NULL, view->type, view->rank, view->dims, out));
  unsigned char *to = (*out)->view.data, *bytes = to;
  if (padded) {
    bytes = mem_alloc((size_t)view->count);
    if (!bytes) {
      ort_value_release(*out);
      *out = NULL;
      return status_out_of_memory();
    }
  }
  gather(bytes, data, view, strides, 0, padded ? 1 : (size_t)dtype_width(view->type));
  if (padded) {
    memset(to, 0, tensor_bytes(view));
    pack(to, bytes, view->count, dtype_bits(view->type));
    mem_free(bytes);
  }
  return OK;
}

static void release_versioned(void *managed) { dlpack_release(managed, true); }
static void release_unversioned(void *managed) { dlpack_release(managed, false); }

static status import_shared(void *managed, bool versioned, const ortc_memory_info *info, tensor *view, unsigned char *data, bool read_only, ortc_value **out) {
  buffer *memory;
  TRY(buffer_borrow(info, data, tensor_bytes(view), versioned ? release_versioned : release_unversioned, managed, &memory));
  memory->read_only = read_only;
  view->data = data;
  status s = ort_value_from_tensor(view, memory, out);
  if (s) buffer_abandon(memory);
  else buffer_release(memory);
  return s;
}

static status check_type(const dl_tensor *t, tensor *view) {
  dtype type = type_of(t);
  if (type == ORTC_UNDEFINED) {
    return ERROR(INVALID_ARGUMENT, "DLPack: element type (code %d, %d bits, %d lanes) has no counterpart in ONNX", t->dtype.code, t->dtype.bits, t->dtype.lanes);
  }
  if (t->rank > 0 && !t->shape) return ERROR(INVALID_ARGUMENT, "DLPack: a tensor of rank %d without a shape", t->rank);
  return status_context(tensor_init(view, type, t->rank, t->shape), "DLPack");
}

status dlpack_import(void *managed, bool versioned, bool copy_if_strided, ortc_value **out) {
  *out = NULL;
  const dl_versioned *with_version = versioned ? managed : NULL;
  if (versioned && with_version->version.major != DL_MAJOR) {
    return ERROR(NOT_IMPLEMENTED, "DLPack: the tensor is of version %u.%u; version %d is supported", with_version->version.major, with_version->version.minor, DL_MAJOR);
  }
  const dl_tensor *t = versioned ? &with_version->tensor : &((dl_managed *)managed)->tensor;
  uint64_t flags = versioned ? with_version->flags : 0;
  ortc_memory_info info;
  tensor view;
  TRY(check_type(t, &view));
  TRY(info_of(t, &info));
  if (!t->data && view.count > 0) return ERROR(INVALID_ARGUMENT, "DLPack: the tensor has %" PRId64 " elements, but its data is NULL", view.count);

  unsigned char *data = t->data ? (unsigned char *)t->data + t->byte_offset : NULL;
  bool padded = dtype_width(view.type) == 0 && (flags & DL_SUBBYTE_PADDED), strided = !is_dense(t, &view);
  if (!padded && !strided) return import_shared(managed, versioned, &info, &view, data, flags & DL_READ_ONLY, out);

  const char *why = padded ? "its elements of less than a byte take a byte each" : "it is strided";
  if (!copy_if_strided) return ERROR(INVALID_ARGUMENT, "DLPack: the tensor cannot be shared because %s; make it contiguous, or allow a copy", why);
  if (!memory_info_is_host(&info) || (strided && !padded && dtype_width(view.type) == 0)) {
    return ERROR(INVALID_ARGUMENT, "DLPack: the tensor cannot be shared because %s, and it cannot be copied either: make it contiguous where it is", why);
  }
  TRY(import_copy(t, data, &view, padded, out));
  dlpack_release(managed, versioned);
  return OK;
}

/* ---- Export ---- */

/* The exported struct with all that it points to, in one allocation. */
typedef struct exported {
  union { dl_managed plain; dl_versioned versioned; } head;   /* first: the deleter is given its address */
  ortc_value *value;
  int64_t shape[MAX_RANK], strides[MAX_RANK];
} exported;

static void delete_plain(dl_managed *self) {
  ort_value_release(((exported *)self)->value);
  mem_free(self);
}

static void delete_versioned(dl_versioned *self) {
  ort_value_release(((exported *)self)->value);
  mem_free(self);
}

static dl_tensor describe(exported *e, const ortc_value *v, const ortc_memory_info *info) {
  const tensor *view = &v->view;
  dl_tensor t = {.data = view->data, .device = {device_of(info), info->device_type == ORTC_DEVICE_CPU ? 0 : info->device_id}, .rank = view->rank,
                 .shape = e->shape, .strides = e->strides};
  for (int i = 0; i < TYPE_COUNT; ++i) {
    if (dl_types[i].type != view->type) continue;
    t.dtype.code = dl_types[i].code;
    t.dtype.bits = dl_types[i].bits;
    t.dtype.lanes = 1;
  }
  memcpy(e->shape, view->dims, sizeof e->shape);
  dense_strides(view, e->strides);
  return t;
}

status dlpack_export(ortc_value *v, bool versioned, void **out_managed) {
  *out_managed = NULL;
  if (v->kind != ORTC_VALUE_TENSOR) return ERROR(INVALID_ARGUMENT, "DLPack: only tensors can be exported, the value is %s", ort_value_kind_name(v));
  if (v->view.type == ORTC_STRING) return ERROR(INVALID_ARGUMENT, "DLPack: string tensors cannot be exported");
  bool read_only = v->memory && v->memory->read_only;
  if (read_only && !versioned) {
    return ERROR(INVALID_ARGUMENT, "DLPack: the tensor's memory is read-only, which only a versioned capsule (DLPack 1.0 or later) can say; clone the tensor, or ask for one");
  }
  const ortc_memory_info *info = v->memory ? &v->memory->info : &memory_info_cpu;
  exported *e = MEM_NEW(exported);
  if (!e) return status_out_of_memory();
  dl_tensor t = describe(e, v, info);
  if (t.device.type == 0) {
    mem_free(e);
    return ERROR(INVALID_ARGUMENT, "DLPack: memory of '%.31s' has no device type there", info->name);
  }
  e->value = ort_value_retain(v);
  if (versioned) {
    e->head.versioned = (dl_versioned){.version = {DL_MAJOR, DL_MINOR}, .deleter = delete_versioned, .flags = read_only ? DL_READ_ONLY : 0, .tensor = t};
  } else {
    e->head.plain = (dl_managed){.tensor = t, .deleter = delete_plain};
  }
  *out_managed = e;
  return OK;
}

void dlpack_release(void *managed, bool versioned) {
  dl_versioned *with_version = managed;
  dl_managed *plain = managed;
  if (!managed) return;
  if (versioned && with_version->deleter) with_version->deleter(with_version);
  else if (!versioned && plain->deleter) plain->deleter(plain);
}
