/* Values made of parts: strings in tensors, sequences, maps, sparse tensors. */
#include <ortcore/api/check.h>
#include <ortcore/value/ort_value.h>

#include <inttypes.h>

static status string_slot(const ortc_value *value, int64_t index, rcstr ***out_slot) {
  if (value->kind != ORTC_VALUE_TENSOR || value->view.type != ORTC_STRING) {
    char type[64];
    ort_value_format_type(value, type, sizeof type);
    return ERROR(INVALID_ARGUMENT, "the value is %s; only a tensor(string) has string elements", type);
  }
  if (index < 0 || index >= value->view.count) {
    return ERROR(INVALID_ARGUMENT, "string element %" PRId64 " of a tensor of %" PRId64 " elements does not exist", index, value->view.count);
  }
  *out_slot = (rcstr **)value->view.data + index;
  return OK;
}

ortc_status *ortc_value_set_string(ortc_value *value, int64_t index, const char *data, size_t bytes) {
  rcstr **slot;
  NEEDS(value);
  NEEDS_ARRAY(data, bytes);
  TRY(string_slot(value, index, &slot));
  if (value->memory->read_only) return ERROR(INVALID_ARGUMENT, "the tensor's memory is read-only");
  rcstr *text = bytes ? rcstr_create(data, bytes) : NULL;
  if (bytes && !text) return status_out_of_memory();
  rcstr_release(*slot);
  *slot = text;
  return OK;
}

ortc_status *ortc_value_get_string(const ortc_value *value, int64_t index, const char **out_data, size_t *out_bytes) {
  rcstr **slot;
  NEEDS(out_data);
  NEEDS(out_bytes);
  *out_data = NULL;
  *out_bytes = 0;
  NEEDS(value);
  TRY(string_slot(value, index, &slot));
  *out_data = rcstr_text(*slot);
  *out_bytes = rcstr_bytes(*slot);
  return OK;
}

ortc_status *ortc_value_create_sequence(ortc_element_type type, size_t count, ortc_value *const *items, ortc_value **out_value) {
  NEEDS(out_value);
  *out_value = NULL;
  NEEDS_ARRAY(items, count);
  if (count > PTRDIFF_MAX / sizeof *items) return ERROR(OUT_OF_MEMORY, "a sequence of %zu items is more than memory can hold", count);
  return ort_value_create_sequence(type, (int64_t)count, items, out_value);
}

ortc_status *ortc_value_get_item(const ortc_value *value, int64_t index, ortc_value **out_item) {
  NEEDS(out_item);
  *out_item = NULL;
  NEEDS(value);
  if (value->kind != ORTC_VALUE_SEQUENCE) return ERROR(INVALID_ARGUMENT, "the value is %s; only sequences have items", ort_value_kind_name(value));
  if (index < 0 || index >= value->item_count) {
    return ERROR(INVALID_ARGUMENT, "item %" PRId64 " of a sequence of %" PRId64 " items does not exist", index, value->item_count);
  }
  *out_item = ort_value_retain(value->items[index]);
  return OK;
}

ortc_status *ortc_value_create_map(ortc_value *keys, ortc_value *values, ortc_value **out_value) {
  NEEDS(out_value);
  *out_value = NULL;
  NEEDS(keys);
  NEEDS(values);
  return ort_value_create_map(keys, values, out_value);
}

ortc_status *ortc_value_get_map(const ortc_value *value, ortc_value **out_keys, ortc_value **out_values) {
  NEEDS(out_keys);
  NEEDS(out_values);
  *out_keys = *out_values = NULL;
  NEEDS(value);
  if (value->kind != ORTC_VALUE_MAP) return ERROR(INVALID_ARGUMENT, "the value is %s, not a map", ort_value_kind_name(value));
  *out_keys = ort_value_retain(value->keys);
  *out_values = ort_value_retain(value->values);
  return OK;
}

ortc_status *ortc_value_create_sparse(ortc_sparse_format format, size_t rank, const int64_t *dims, ortc_value *values, ortc_value *indices, ortc_value *outer,
                                      ortc_value **out_value) {
  NEEDS(out_value);
  *out_value = NULL;
  NEEDS_ARRAY(dims, rank);
  NEEDS(values);
  NEEDS(indices);
  return ort_value_create_sparse(format, rank_of(rank), dims, values, indices, outer, out_value);
}

ortc_status *ortc_value_get_sparse(const ortc_value *value, ortc_sparse_format *out_format, ortc_value **out_values, ortc_value **out_indices,
                                   ortc_value **out_outer) {
  NEEDS(out_format);
  NEEDS(out_values);
  NEEDS(out_indices);
  NEEDS(out_outer);
  *out_format = ORTC_SPARSE_UNDEFINED;
  *out_values = *out_indices = *out_outer = NULL;
  NEEDS(value);
  if (value->kind != ORTC_VALUE_SPARSE) return ERROR(INVALID_ARGUMENT, "the value is %s, not a sparse tensor", ort_value_kind_name(value));
  *out_format = value->format;
  *out_values = ort_value_retain(value->values);
  *out_indices = ort_value_retain(value->indices);
  *out_outer = ort_value_retain(value->outer);
  return OK;
}
