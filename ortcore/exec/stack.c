#include <ortcore/base/checked.h>
#include <ortcore/base/mem.h>
#include <ortcore/exec/stack.h>
#include <ortcore/exec/transfer.h>
#include <string.h>

static status whole_elements(const tensor *t) {
  if (!tensor_width(t)) return ERROR(NOT_IMPLEMENTED, "slices of %s tensors, whose elements are narrower than a byte, are not supported", dtype_name(t->type));
  return OK;
}

status slicer_init(slicer *s, run_env *env, bool on_device, const tensor *whole, int64_t axis, bool reversed) {
  *s = (slicer){.env = env, .on_device = on_device, .data = whole->data, .reversed = reversed};
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
  return s->outer > 1 ? buffer_create(on_device ? env->device_allocator : env->allocator, tensor_bytes(&s->slice), &s->copy) : OK;
}

status slicer_init_part(slicer *s, run_env *env, bool on_device, const tensor *whole, int64_t length, bool reversed) {
  TRY(slicer_init(s, env, on_device, whole, 0, reversed));
  s->length = length;
  return OK;
}

status slicer_at(slicer *s, int64_t index, feed *out) {
  if (s->reversed) index = s->length - 1 - index;
  const char *from = s->data + index * s->inner_bytes;
  s->slice.data = s->copy ? s->copy->data : (void *)(uintptr_t)from;
  *out = (feed){.view = &s->slice, .info = side_info(s->env, s->on_device), .fleeting = s->copy != NULL};
  if (!s->copy) return OK;
  return transfer_rows(s->env, s->on_device, s->slice.data, (size_t)s->inner_bytes, from, (size_t)s->outer_bytes, (size_t)s->inner_bytes, s->outer);
}

void slicer_deinit(slicer *s) {
  buffer_release(s->copy);
  s->copy = NULL;
}

void stack_init(stack *s, run_env *env, bool on_device, const fact *element, int64_t axis, bool reversed) {
  *s = (stack){.env = env, .on_device = on_device, .element = element, .axis = axis, .reversed = reversed, .first = {.rank = RANK_UNKNOWN}};
}

static status copy_bytes(const stack *s, void *to, const void *from, size_t bytes) {
  return transfer_rows(s->env, s->on_device, to, bytes, from, bytes, bytes, 1);
}

/* On the device the memory that was goes back at once: what takes it next comes later in the stream. */
static status move_to(stack *s, size_t capacity) {
  if (!s->on_device) {
    char *data = mem_realloc(s->data, capacity);
    if (!data) return status_out_of_memory();
    s->data = data;
  } else {
    buffer *larger;
    TRY(buffer_create(s->env->device_allocator, capacity, &larger));
    ++s->env->stats.allocations;
    status copied = s->memory ? copy_bytes(s, larger->data, s->data, (size_t)s->count * s->bytes_each) : OK;
    buffer_release(s->memory);
    s->memory = larger;
    s->data = larger->data;
    TRY(copied);
  }
  s->capacity = capacity;
  return OK;
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
  return move_to(s, want);
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
  if (is_first) TRY(transfer_zeros(s->env, s->on_device, s->data, (size_t)s->count * s->bytes_each));       /* skipped before */
  TRY(copy_bytes(s, s->data + (size_t)s->count * s->bytes_each, t->data, s->bytes_each));
  if (t->type == ORTC_STRING) rcstr_retain_n(t->data, t->count);
  ++s->count;
  return OK;
}

status stack_skip(stack *s, int64_t n) {
  if (s->first.rank >= 0) {
    TRY(stack_reserve(s, s->count + n, -1));
    TRY(transfer_zeros(s->env, s->on_device, s->data + (size_t)s->count * s->bytes_each, (size_t)n * s->bytes_each));
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

/* Each result to its place along the axis. */
static status spread(const stack *s, tensor *out, int axis) {
  size_t inner = (size_t)dims_product(out->dims, axis + 1, out->rank) * (size_t)tensor_width(out);
  int64_t outer = dims_product(out->dims, 0, axis);
  if (outer == 1 && !s->reversed) return copy_bytes(s, out->data, s->data, (size_t)s->count * inner);
  for (int64_t i = 0; i < s->count; ++i) {
    int64_t place = s->reversed ? s->count - 1 - i : i;
    char *to = (char *)out->data + (size_t)place * inner, *from = s->data + (size_t)i * s->bytes_each;
    TRY(transfer_rows(s->env, s->on_device, to, (size_t)s->count * inner, from, inner, inner, outer));
  }
  return OK;
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
  TRY(spread(s, out, axis));
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
  if (s->data) TRY(copy_bytes(s, out->data, s->data, tensor_bytes(out)));
  else TRY(transfer_zeros(s->env, s->on_device, out->data, tensor_bytes(out)));
  if (out->type == ORTC_STRING) rcstr_retain_n(out->data, out->count);
  return OK;
}

void stack_deinit(stack *s) {
  if (s->first.rank >= 0 && s->first.type == ORTC_STRING && s->data)
    for (int64_t i = 0; i < s->count; ++i) rcstr_release_n((rcstr **)(s->data + (size_t)i * s->bytes_each), s->first.count);
  if (s->memory) buffer_release(s->memory);
  else mem_free(s->data);
}
