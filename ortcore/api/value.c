/* Tensors, and what all values have in common. */
#include <ortcore/api/check.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/value/dlpack.h>

#include <inttypes.h>

ortc_status *ortc_value_create_tensor(ortc_allocator *allocator, ortc_element_type type, size_t rank, const int64_t *dims, ortc_value **out_value) {
  NEEDS(out_value);
  *out_value = NULL;
  NEEDS_ARRAY(dims, rank);
  return ort_value_create_tensor(allocator, type, rank_of(rank), dims, out_value);
}

ortc_status *ortc_value_create_borrowed(const ortc_memory_info *info, ortc_element_type type, size_t rank, const int64_t *dims, void *data, size_t bytes,
                                        ortc_release_fn release, void *user, ortc_value **out_value) {
  tensor view;
  buffer *memory;
  NEEDS(out_value);
  *out_value = NULL;
  NEEDS_ARRAY(dims, rank);
  TRY(tensor_init(&view, type, rank_of(rank), dims));
  if (type == ORTC_STRING) return ERROR(INVALID_ARGUMENT, "strings cannot be borrowed: make a tensor with ortc_value_create_tensor and fill it with ortc_value_set_string");
  if (bytes < tensor_bytes(&view)) {
    char shape[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "a tensor(%s) of shape %s needs %zu bytes, but the memory given has %zu", dtype_name(type),
                 dims_format(shape, sizeof shape, view.rank, view.dims), tensor_bytes(&view), bytes);
  }
  if (!data && view.count > 0) return ERROR(INVALID_ARGUMENT, "the memory given for a tensor of %" PRId64 " elements is NULL", view.count);
  TRY(buffer_borrow(info, data, bytes, release, user, &memory));
  view.data = data;
  status s = ort_value_from_tensor(&view, memory, out_value);
  if (s) buffer_abandon(memory);
  else buffer_release(memory);
  return s;
}

ortc_value *ortc_value_create_none(void) { return ort_value_none(); }
ortc_value *ortc_value_retain(ortc_value *value) { return ort_value_retain(value); }
void ortc_value_release(ortc_value *value) { ort_value_release(value); }

ortc_status *ortc_value_clone(const ortc_value *value, ortc_value **out_value) {
  NEEDS(out_value);
  *out_value = NULL;
  NEEDS(value);
  return ort_value_clone(value, out_value);
}

ortc_status *ortc_value_copy_into(const ortc_value *source, ortc_value *destination) {
  NEEDS(source);
  NEEDS(destination);
  return ort_value_copy_into(source, destination, NULL);
}

ortc_status *ortc_value_copy_on_stream(const ortc_value *source, ortc_value *destination, ortc_stream *stream) {
  NEEDS(source);
  NEEDS(destination);
  NEEDS(stream);
  return ort_value_copy_into(source, destination, stream);
}

ortc_status *ortc_value_reshape(ortc_value *value, size_t rank, const int64_t *dims, ortc_value **out_value) {
  NEEDS(out_value);
  *out_value = NULL;
  NEEDS(value);
  NEEDS_ARRAY(dims, rank);
  return ort_value_reshape(value, rank_of(rank), dims, out_value);
}

/* ---- Questions. They have answers for NULL, too. ---- */

static bool is_tensor(const ortc_value *value) { return value && value->kind == ORTC_VALUE_TENSOR; }

ortc_value_kind ortc_value_get_kind(const ortc_value *value) { return value ? value->kind : ORTC_VALUE_NONE; }
ortc_element_type ortc_value_get_element_type(const ortc_value *value) { return value ? value->view.type : ORTC_UNDEFINED; }
size_t ortc_value_get_rank(const ortc_value *value) { return value ? (size_t)value->view.rank : 0; }
const int64_t *ortc_value_get_dims(const ortc_value *value) { return value ? value->view.dims : NULL; }

int64_t ortc_value_get_count(const ortc_value *value) {
  if (!value) return 0;
  if (value->kind == ORTC_VALUE_SEQUENCE) return value->item_count;
  return value->kind == ORTC_VALUE_MAP ? value->keys->view.count : value->view.count;
}

size_t ortc_value_get_bytes(const ortc_value *value) { return is_tensor(value) && value->view.type != ORTC_STRING ? tensor_bytes(&value->view) : 0; }
void *ortc_value_get_data(ortc_value *value) { return ortc_value_get_bytes(value) ? value->view.data : NULL; }

void ortc_value_get_memory_info(const ortc_value *value, ortc_memory_info *out_info) {
  const ortc_value *holder = value && !value->memory && value->values ? value->values : value;   /* maps and sparse tensors: their values' */
  if (out_info) *out_info = holder && holder->memory ? holder->memory->info : memory_info_cpu;
}

bool ortc_value_is_read_only(const ortc_value *value) { return value && value->memory && value->memory->read_only; }

void ortc_value_set_read_only(ortc_value *value) {
  if (value && value->memory) value->memory->read_only = true;
}

size_t ortc_value_format_type(const ortc_value *value, char *buffer, size_t capacity) {
  return ort_value_format_type(value ? value : ort_value_none(), buffer, capacity);
}

/* ---- DLPack ---- */

ortc_status *ortc_value_from_dlpack(void *managed, bool versioned, bool copy_if_strided, ortc_value **out_value) {
  NEEDS(out_value);
  *out_value = NULL;
  NEEDS(managed);
  return dlpack_import(managed, versioned, copy_if_strided, out_value);
}

ortc_status *ortc_value_to_dlpack(ortc_value *value, bool versioned, void **out_managed) {
  NEEDS(out_managed);
  *out_managed = NULL;
  NEEDS(value);
  return dlpack_export(value, versioned, out_managed);
}

void ortc_dlpack_release(void *managed, bool versioned) { dlpack_release(managed, versioned); }
