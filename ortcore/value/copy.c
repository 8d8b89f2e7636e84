/* What is done to whole values: copies, other shapes, their names in messages. */
#include <ortcore/device/device.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/value/ort_value.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *ort_value_kind_name(const ortc_value *v) {
  if (!v) return "NULL";
  switch (v->kind) {
    case ORTC_VALUE_NONE: return "an empty optional";
    case ORTC_VALUE_TENSOR: return "a tensor";
    case ORTC_VALUE_SPARSE: return "a sparse tensor";
    case ORTC_VALUE_SEQUENCE: return "a sequence";
    case ORTC_VALUE_MAP: return "a map";
  }
  return "no value";
}

size_t ort_value_format_type(const ortc_value *v, char *text, size_t capacity) {
  char item[64];
  int length = 0;
  switch (v->kind) {
    case ORTC_VALUE_NONE: length = snprintf(text, capacity, "optional"); break;
    case ORTC_VALUE_TENSOR: length = snprintf(text, capacity, "tensor(%s)", dtype_name(v->view.type)); break;
    case ORTC_VALUE_SPARSE: length = snprintf(text, capacity, "sparse_tensor(%s)", dtype_name(v->view.type)); break;
    case ORTC_VALUE_MAP: length = snprintf(text, capacity, "map(%s,tensor(%s))", dtype_name(v->keys->view.type), dtype_name(v->view.type)); break;
    case ORTC_VALUE_SEQUENCE:
      if (v->item_count > 0) ort_value_format_type(v->items[0], item, sizeof item);
      else snprintf(item, sizeof item, "tensor(%s)", dtype_name(v->view.type));
      length = snprintf(text, capacity, "seq(%s)", item);
      break;
  }
  return length > 0 ? (size_t)length : 0;
}

/* ---- Copies ---- */

/* Elements of `from` into a tensor of the same type and count. Strings are immutable, so only references to them are copied. */
static status copy_elements(const ortc_value *from, ortc_value *to, stream *on) {
  const tensor *source = &from->view, *target = &to->view;
  if (source->count == 0 || source->data == target->data) return OK;
  if (source->type != ORTC_STRING) {
    return device_copy_on(on, (memory_place){&to->memory->info, target->data}, (memory_place){&from->memory->info, source->data}, tensor_bytes(source));
  }
  rcstr_retain_n(source->data, source->count);
  rcstr_release_n(target->data, target->count);
  memcpy(target->data, source->data, (size_t)source->count * sizeof(rcstr *));
  return OK;
}

/* A tensor of the same type and shape, in memory from the allocator that the source's came from, or else from its device's. */
static status clone_tensor(const ortc_value *v, ortc_value **out) {
  ortc_allocator *allocator = v->memory ? v->memory->allocator : NULL, *found = NULL;
  if (!allocator && v->memory && !memory_info_is_host(&v->memory->info)) {
    const device *d = device_of(&v->memory->info);
    found = allocator_find_registered(&v->memory->info);
    allocator = found ? found : d ? d->vtable->allocator(d) : NULL;
    if (!allocator) {
      return ERROR(NOT_IMPLEMENTED, "clone: the value lies in memory of %s:%d, whose provider is not loaded",
                   memory_info_device_name(&v->memory->info), v->memory->info.device_id);
    }
  }
  status s = ort_value_create_tensor(allocator, v->view.type, v->view.rank, v->view.dims, out);
  allocator_release(found);
  if (!s) s = copy_elements(v, *out, NULL);
  if (s) {
    ort_value_release(*out);
    *out = NULL;
  }
  return s;
}

static status clone_sequence(const ortc_value *v, ortc_value **out) {
  TRY(ort_value_create_sequence(v->view.type, 0, NULL, out));
  for (int64_t i = 0; i < v->item_count; ++i) {
    ortc_value *item;
    status s = ort_value_clone(v->items[i], &item);
    if (!s) {
      s = ort_value_insert_item(*out, i, item, out);       /* consumes *out, also when it fails */
      ort_value_release(item);
    } else {
      ort_value_release(*out);
      *out = NULL;
    }
    TRY(s);
  }
  return OK;
}

/* A map, or a sparse tensor: clones of its parts, put together again. */
static status clone_parts(const ortc_value *v, ortc_value **out) {
  ortc_value *keys = NULL, *values = NULL, *indices = NULL, *outer = NULL;
  status s = v->keys ? ort_value_clone(v->keys, &keys) : OK;
  if (!s) s = ort_value_clone(v->values, &values);
  if (!s && v->indices) s = ort_value_clone(v->indices, &indices);
  if (!s && v->outer) s = ort_value_clone(v->outer, &outer);
  if (!s && v->kind == ORTC_VALUE_MAP) s = ort_value_create_map(keys, values, out);
  else if (!s) s = ort_value_create_sparse(v->format, v->view.rank, v->view.dims, values, indices, outer, out);
  ort_value_release(keys);
  ort_value_release(values);
  ort_value_release(indices);
  ort_value_release(outer);
  return s;
}

status ort_value_clone(const ortc_value *v, ortc_value **out) {
  *out = NULL;
  switch (v->kind) {
    case ORTC_VALUE_TENSOR: return clone_tensor(v, out);
    case ORTC_VALUE_SEQUENCE: return clone_sequence(v, out);
    case ORTC_VALUE_MAP:
    case ORTC_VALUE_SPARSE: return clone_parts(v, out);
    case ORTC_VALUE_NONE: break;
  }
  *out = ort_value_none();
  return OK;
}

status ort_value_copy_into(const ortc_value *from, ortc_value *to, stream *on) {
  if (from->kind != ORTC_VALUE_TENSOR || to->kind != ORTC_VALUE_TENSOR) {
    return ERROR(INVALID_ARGUMENT, "copy: from %s to %s; only tensors can be copied into", ort_value_kind_name(from), ort_value_kind_name(to));
  }
  if (to->memory && to->memory->read_only) return ERROR(INVALID_ARGUMENT, "copy: the destination's memory is read-only");
  const tensor *a = &from->view, *b = &to->view;
  if (a->type != b->type) return ERROR(INVALID_ARGUMENT, "copy: the source is of type %s and the destination of type %s", dtype_name(a->type), dtype_name(b->type));
  if (a->count != b->count) {
    char source[DIMS_TEXT], target[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "copy: the source has shape %s and the destination %s, which hold different numbers of elements",
                 dims_format(source, sizeof source, a->rank, a->dims), dims_format(target, sizeof target, b->rank, b->dims));
  }
  return copy_elements(from, to, on);
}

status ort_value_reshape(ortc_value *v, int rank, const int64_t *dims, ortc_value **out) {
  tensor view;
  *out = NULL;
  if (v->kind != ORTC_VALUE_TENSOR) return ERROR(INVALID_ARGUMENT, "reshape: the value is %s, not a tensor", ort_value_kind_name(v));
  TRY(tensor_init(&view, v->view.type, rank, dims));
  if (view.count != v->view.count) {
    char old[DIMS_TEXT], new[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "reshape: shape %s has %" PRId64 " elements, but the tensor of shape %s has %" PRId64,
                 dims_format(new, sizeof new, rank, dims), view.count, dims_format(old, sizeof old, v->view.rank, v->view.dims), v->view.count);
  }
  view.data = v->view.data;
  return ort_value_from_tensor(&view, v->memory, out);
}
