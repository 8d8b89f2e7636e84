#include <ortcore/base/checked.h>
#include <ortcore/base/mem.h>
#include <ortcore/exec/stack.h>
#include <string.h>

static status whole_elements(const tensor *t) {
  if (!tensor_width(t)) return ERROR(NOT_IMPLEMENTED, "slices of %s tensors, whose elements are narrower than a byte, are not supported", dtype_name(t->type));
  return OK;
}

status slicer_init(slicer *s, const tensor *whole, int64_t axis, bool reversed) {
  *s = (slicer){.data = whole->data, .reversed = reversed};
  TRY(whole_elements(whole));
  int at;
  TRY(axis_normalise(axis, whole->rank, "scan_input_axes", &at));
  int64_t dims[MAX_RANK];
  for (int d = 0, to = 0; d < whole->rank; ++d)
    if (d != at) dims[to++] = whole->dims[d];
  TRY(tensor_init(&s->slice, whole->type, whole->rank - 1, dims));
  s->length = whole->dims[at];
  s->outer = dims_product(whole->dims, 0, at);
  s->inner_bytes = dims_product(whole->dims, at + 1, whole->rank) * tensor_width(whole);
  s->outer_bytes = s->inner_bytes * s->length;
  if (s->outer > 1 && !(s->copy = mem_alloc(tensor_bytes(&s->slice) + 1))) return status_out_of_memory();
  return OK;
}

status slicer_init_part(slicer *s, const tensor *whole, int64_t length, bool reversed) {
  TRY(slicer_init(s, whole, 0, reversed));
  s->length = length;
  return OK;
}

const tensor *slicer_at(slicer *s, int64_t index) {
  if (s->reversed) index = s->length - 1 - index;
  const char *from = s->data + index * s->inner_bytes;
  if (!s->copy) {
    s->slice.data = (void *)from;
    return &s->slice;
  }
  for (int64_t o = 0; o < s->outer; ++o) memcpy((char *)s->copy + o * s->inner_bytes, from + o * s->outer_bytes, (size_t)s->inner_bytes);
  s->slice.data = s->copy;
  return &s->slice;
}

void slicer_deinit(slicer *s) {
  mem_free(s->copy);
}

void stack_init(stack *s, const fact *element, int64_t axis, bool reversed) {
  *s = (stack){.element = element, .axis = axis, .reversed = reversed, .first = {.rank = RANK_UNKNOWN}};
}

/* Room for `count` results; for all that are expected, if that is not too much. */
static status stack_reserve(stack *s, int64_t count, int64_t expected) {
  size_t needed, want;
  if (checked_mul((size_t)count, s->bytes_each, &needed))
    return ERROR(OUT_OF_MEMORY, "%lld results of %zu bytes each are more than memory can hold", (long long)count, s->bytes_each);
  if (needed <= s->capacity) return OK;
  want = s->capacity * 2 > needed ? s->capacity * 2 : needed;
  size_t all;
  if (!s->capacity && expected > 0 && !checked_mul((size_t)expected, s->bytes_each, &all) && all > want && all < (size_t)1 << 30) want = all;
  char *data = mem_realloc(s->data, want);
  if (!data) return status_out_of_memory();
  s->data = data;
  s->capacity = want;
  return OK;
}

status stack_push(stack *s, const tensor *t, int64_t expected) {
  bool is_first = s->first.rank < 0;
  if (is_first) {
    TRY(whole_elements(t));
    s->first = *t;
    s->bytes_each = tensor_bytes(t);
  } else if (!dims_equal(s->first.rank, s->first.dims, t->rank, t->dims)) {
    char before[DIMS_TEXT], now[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "a scan output has shape %s in iteration %lld but had %s before; results that are stacked must have one shape",
                 dims_format(now, sizeof now, t->rank, t->dims), (long long)s->count, dims_format(before, sizeof before, s->first.rank, s->first.dims));
  }
  TRY(stack_reserve(s, s->count + 1, expected));
  if (is_first && s->bytes_each) memset(s->data, 0, (size_t)s->count * s->bytes_each);       /* skipped before */
  if (s->bytes_each) memcpy(s->data + (size_t)s->count * s->bytes_each, t->data, s->bytes_each);
  if (t->type == ORTC_STRING) rcstr_retain_n(t->data, t->count);
  ++s->count;
  return OK;
}

status stack_skip(stack *s, int64_t n) {
  if (s->first.rank >= 0) {
    TRY(stack_reserve(s, s->count + n, -1));
    if (s->bytes_each && n) memset(s->data + (size_t)s->count * s->bytes_each, 0, (size_t)n * s->bytes_each);
  }
  s->count += n;
  return OK;
}

/* Without results the body's facts tell the shape; a dim that they do not know is 0. */
static void empty_shape(stack *s) {
  s->first = (tensor){.type = s->element->type, .rank = s->element->rank < 0 ? 0 : s->element->rank};
  for (int d = 0; d < s->first.rank; ++d) s->first.dims[d] = dim_known(s->element->dims[d]) ? s->element->dims[d] : 0;
}

void stack_assume(stack *s, const tensor *planned) {
  int axis = (int)(s->axis < 0 ? s->axis + planned->rank : s->axis);
  if (s->first.rank >= 0 || planned->rank < 1 || axis < 0 || axis >= planned->rank) return;
  s->first = (tensor){.type = planned->type, .rank = planned->rank - 1};
  for (int d = 0, to = 0; d < planned->rank; ++d)
    if (d != axis) s->first.dims[to++] = planned->dims[d];
}

status stack_deliver(stack *s, kernel_ctx *k, int32_t output) {
  if (s->first.rank < 0) empty_shape(s);
  int rank = s->first.rank + 1, axis;
  if (rank > MAX_RANK) return ERROR(NOT_IMPLEMENTED, "a stacked result would have rank %d; ortcore's tensors have at most %d", rank, MAX_RANK);
  TRY(axis_normalise(s->axis, rank, "scan_output_axes", &axis));
  int64_t dims[MAX_RANK];
  for (int d = 0, from = 0; d < rank; ++d) dims[d] = d == axis ? s->count : s->first.dims[from++];
  tensor *out;
  TRY(kernel_output(k, output, rank, dims, &out));
  if (!out || !out->count) return OK;
  size_t width = (size_t)tensor_width(out), inner = (size_t)dims_product(dims, axis + 1, rank) * width;
  int64_t outer = dims_product(dims, 0, axis);
  for (int64_t i = 0; i < s->count; ++i) {
    int64_t place = s->reversed ? s->count - 1 - i : i;
    for (int64_t o = 0; o < outer; ++o)
      memcpy((char *)out->data + (size_t)(o * s->count + place) * inner, s->data + (size_t)i * s->bytes_each + (size_t)o * inner, inner);
  }
  if (out->type == ORTC_STRING) rcstr_retain_n(out->data, out->count);
  return OK;
}

status stack_deliver_batch(stack *s, kernel_ctx *k, int32_t output, int64_t items, int64_t length) {
  if (s->first.rank < 0) empty_shape(s);
  int rank = s->first.rank + 2;
  if (rank > MAX_RANK) return ERROR(NOT_IMPLEMENTED, "a stacked result would have rank %d; ortcore's tensors have at most %d", rank, MAX_RANK);
  int64_t dims[MAX_RANK] = {items, length};
  memcpy(dims + 2, s->first.dims, (size_t)s->first.rank * sizeof *dims);
  tensor *out;
  TRY(kernel_output(k, output, rank, dims, &out));
  if (!out || !out->count) return OK;
  if (s->data) memcpy(out->data, s->data, tensor_bytes(out));
  else memset(out->data, 0, tensor_bytes(out));
  if (out->type == ORTC_STRING) rcstr_retain_n(out->data, out->count);
  return OK;
}

void stack_deinit(stack *s) {
  if (s->first.rank >= 0 && s->first.type == ORTC_STRING && s->data)
    for (int64_t i = 0; i < s->count; ++i) rcstr_release_n((rcstr **)(s->data + (size_t)i * s->bytes_each), s->first.count);
  mem_free(s->data);
}
