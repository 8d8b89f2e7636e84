#include <ortcore/base/mem.h>
#include <ortcore/value/ort_value.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

/* The one value of kind NONE. It is not counted, so that making one cannot fail. */
static ortc_value none = {.kind = ORTC_VALUE_NONE};

ortc_value *ort_value_none(void) { return &none; }

static ortc_value *value_new(ortc_value_kind kind) {
  ortc_value *v = MEM_NEW(ortc_value);
  if (!v) return NULL;
  atomic_init(&v->references, 1);
  v->kind = kind;
  return v;
}

ortc_value *ort_value_retain(ortc_value *v) {
  if (v && v != &none) atomic_fetch_add_explicit(&v->references, 1, memory_order_relaxed);
  return v;
}

void ort_value_release(ortc_value *v) {
  if (!v || v == &none || atomic_fetch_sub_explicit(&v->references, 1, memory_order_acq_rel) != 1) return;
  buffer_release(v->memory);
  for (int64_t i = 0; i < v->item_count; ++i) ort_value_release(v->items[i]);
  mem_free(v->items);
  ort_value_release(v->keys);
  ort_value_release(v->values);
  ort_value_release(v->indices);
  ort_value_release(v->outer);
  mem_free(v);
}

bool ort_value_any(const ortc_value *v, bool (*test)(const ortc_value *tensor, const void *context), const void *context) {
  if (!v) return false;
  if (v->kind == ORTC_VALUE_TENSOR) return test(v, context);
  for (int64_t i = 0; i < v->item_count; ++i)
    if (ort_value_any(v->items[i], test, context)) return true;
  return ort_value_any(v->keys, test, context) || ort_value_any(v->values, test, context) || ort_value_any(v->indices, test, context) ||
         ort_value_any(v->outer, test, context);
}

typedef struct byte_range { const char *begin, *end; } byte_range;

static bool tensor_lies_in(const ortc_value *tensor, const void *context) {
  const byte_range *r = context;
  const char *begin = tensor->view.data;
  return begin < r->end && r->begin < begin + tensor_bytes(&tensor->view);
}

bool ort_value_lies_in(const ortc_value *v, const void *begin, const void *end) {
  return ort_value_any(v, tensor_lies_in, &(byte_range){begin, end});
}

/* ---- Tensors ---- */

status ort_value_from_tensor(const tensor *view, buffer *memory, ortc_value **out) {
  ortc_value *v = *out = value_new(ORTC_VALUE_TENSOR);
  if (!v) return status_out_of_memory();
  v->view = *view;
  v->memory = buffer_retain(memory);
  return OK;
}

status ort_value_create_tensor(ortc_allocator *allocator, dtype type, int rank, const int64_t *dims, ortc_value **out) {
  tensor view;
  buffer *memory;
  *out = NULL;
  TRY(tensor_init(&view, type, rank, dims));
  status s = type == ORTC_STRING ? buffer_create_strings(allocator, view.count, &memory) : buffer_create(allocator, tensor_bytes(&view), &memory);
  if (s) {
    char shape[DIMS_TEXT];
    return status_context(s, "a tensor(%s) of shape %s", dtype_name(type), dims_format(shape, sizeof shape, rank, dims));
  }
  view.data = memory->data;
  s = ort_value_from_tensor(&view, memory, out);
  buffer_release(memory);
  return s;
}

/* ---- Sequences ---- */

/* Items are tensors or maps, all of one kind and element type, maps also of one type of keys. `first` is NULL in an empty sequence, which accepts what its type says. */
static status check_item(dtype type, const ortc_value *first, int64_t index, const ortc_value *item) {
  if (!item || (item->kind != ORTC_VALUE_TENSOR && item->kind != ORTC_VALUE_MAP)) {
    return ERROR(INVALID_ARGUMENT, "sequence: item %" PRId64 " is %s; the items of a sequence are tensors or maps", index, ort_value_kind_name(item));
  }
  if (first && first->kind != item->kind) {
    return ERROR(INVALID_ARGUMENT, "sequence: item %" PRId64 " is %s, but the first item is %s", index, ort_value_kind_name(item), ort_value_kind_name(first));
  }
  if (type != ORTC_UNDEFINED && item->view.type != type) {
    return ERROR(INVALID_ARGUMENT, "sequence: item %" PRId64 " has elements of type %s, but the sequence's are %s", index, dtype_name(item->view.type), dtype_name(type));
  }
  if (first && item->kind == ORTC_VALUE_MAP && item->keys->view.type != first->keys->view.type) {
    return ERROR(INVALID_ARGUMENT, "sequence: item %" PRId64 " is a map with keys of type %s, but the first item's are %s", index,
                 dtype_name(item->keys->view.type), dtype_name(first->keys->view.type));
  }
  return OK;
}

/* A sequence with room for `capacity` items, none of them there yet. */
static status sequence_new(dtype type, int64_t capacity, ortc_value **out) {
  ortc_value *v = *out = value_new(ORTC_VALUE_SEQUENCE);
  if (!v) return status_out_of_memory();
  v->view.type = type;
  if (capacity == 0) return OK;
  v->items = mem_calloc((size_t)capacity, sizeof *v->items);
  if (!v->items) {
    ort_value_release(v);
    *out = NULL;
    return status_out_of_memory();
  }
  v->item_capacity = capacity;
  return OK;
}

status ort_value_create_sequence(dtype type, int64_t count, ortc_value *const *items, ortc_value **out) {
  *out = NULL;
  if (type == ORTC_UNDEFINED && count > 0 && items[0]) type = items[0]->view.type;
  for (int64_t i = 0; i < count; ++i) TRY(check_item(type, items[0], i, items[i]));
  TRY(sequence_new(type, count, out));
  for (int64_t i = 0; i < count; ++i) (*out)->items[i] = ort_value_retain(items[i]);
  (*out)->item_count = count;
  return OK;
}

/* Makes room for one more item in a sequence of which the caller holds the only reference. */
static status sequence_grow(ortc_value *v) {
  if (v->item_count < v->item_capacity) return OK;
  int64_t capacity = v->item_capacity < 4 ? 8 : 2 * v->item_capacity;
  ortc_value **items = mem_realloc(v->items, (size_t)capacity * sizeof *items);
  if (!items) return status_out_of_memory();
  v->items = items;
  v->item_capacity = capacity;
  return OK;
}

/* A copy with room for one more item; items are shared. */
static status sequence_copy(const ortc_value *v, ortc_value **out) {
  TRY(sequence_new(v->view.type, v->item_count + 1, out));
  for (int64_t i = 0; i < v->item_count; ++i) (*out)->items[i] = ort_value_retain(v->items[i]);
  (*out)->item_count = v->item_count;
  return OK;
}

status ort_value_insert_item(ortc_value *sequence, int64_t position, ortc_value *item, ortc_value **out) {
  *out = NULL;
  status s = OK;
  ortc_value *edited = sequence;
  if (position < 0 || position > sequence->item_count) {
    s = ERROR(INVALID_ARGUMENT, "sequence: position %" PRId64 " is outside 0 to %" PRId64, position, sequence->item_count);
  }
  if (!s) s = check_item(sequence->view.type, sequence->item_count ? sequence->items[0] : NULL, position, item);
  if (!s && atomic_load_explicit(&sequence->references, memory_order_acquire) == 1) s = sequence_grow(sequence);
  else if (!s) {
    s = sequence_copy(sequence, &edited);
    ort_value_release(sequence);
    sequence = edited;
  }
  if (s) {
    ort_value_release(sequence);
    return s;
  }
  memmove(&edited->items[position + 1], &edited->items[position], (size_t)(edited->item_count - position) * sizeof *edited->items);
  edited->items[position] = ort_value_retain(item);
  edited->view.type = item->view.type;
  ++edited->item_count;
  *out = edited;
  return OK;
}

/* ---- Maps ---- */

status ort_value_create_map(ortc_value *keys, ortc_value *values, ortc_value **out) {
  *out = NULL;
  if (keys->kind != ORTC_VALUE_TENSOR || values->kind != ORTC_VALUE_TENSOR) {
    return ERROR(INVALID_ARGUMENT, "map: keys are %s and values are %s; both must be 1-D tensors", ort_value_kind_name(keys), ort_value_kind_name(values));
  }
  if (keys->view.type != ORTC_INT64 && keys->view.type != ORTC_STRING) {
    return ERROR(INVALID_ARGUMENT, "map: keys are of type %s; they must be int64 or string", dtype_name(keys->view.type));
  }
  if (keys->view.rank != 1 || values->view.rank != 1 || keys->view.count != values->view.count) {
    char a[DIMS_TEXT], b[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "map: keys have shape %s and values %s; both must be 1-D and of one length",
                 dims_format(a, sizeof a, keys->view.rank, keys->view.dims), dims_format(b, sizeof b, values->view.rank, values->view.dims));
  }
  ortc_value *v = *out = value_new(ORTC_VALUE_MAP);
  if (!v) return status_out_of_memory();
  v->view.type = values->view.type;
  v->keys = ort_value_retain(keys);
  v->values = ort_value_retain(values);
  return OK;
}
