#include <ortcore/base/checked.h>
#include <ortcore/value/tensor.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Zero elements do not excuse dims whose product overflows, since a reshape or a reduction could bring the other dims back to life. */
static bool shape_bytes(dtype type, int rank, const int64_t *dims, int64_t *out_count) {
  int64_t count = 1, without_zeros = 1;
  size_t bytes;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] != 0 && checked_mul(without_zeros, dims[i], &without_zeros)) return false;
    count = dims[i] == 0 ? 0 : count;
  }
  *out_count = count == 0 ? 0 : without_zeros;
  return dtype_bytes(type, without_zeros, &bytes);
}

status tensor_init(tensor *t, dtype type, int rank, const int64_t *dims) {
  char text[DIMS_TEXT];
  memset(t, 0, sizeof *t);
  if (dtype_bits(type) == 0) return ERROR(INVALID_ARGUMENT, "tensor: element type %d is not one of ONNX's", (int)type);
  if (rank < 0 || rank > MAX_RANK) return ERROR(INVALID_ARGUMENT, "tensor: a shape of rank %d; ortcore's tensors have at most %d", rank, MAX_RANK);
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 0) return ERROR(INVALID_ARGUMENT, "tensor: dim %d of a tensor is %" PRId64 ", it must not be negative", i, dims[i]);
  }
  int64_t count;
  if (!shape_bytes(type, rank, dims, &count)) {
    return ERROR(INVALID_ARGUMENT, "tensor: shape %s of %s is larger than memory can be", dims_format(text, sizeof text, rank, dims), dtype_name(type));
  }
  t->type = type;
  t->rank = rank;
  t->count = count;
  if (rank > 0) memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
  return OK;
}

size_t tensor_bytes(const tensor *t) {
  size_t bytes;
  dtype_bytes(t->type, t->count, &bytes);                  /* cannot fail for what tensor_init accepted */
  return bytes;
}

bool dims_equal(int rank_a, const int64_t *a, int rank_b, const int64_t *b) {
  return rank_a == rank_b && (rank_a <= 0 || memcmp(a, b, (size_t)rank_a * sizeof *a) == 0);
}

char *dims_format(char *buffer, size_t capacity, int rank, const int64_t *dims) {
  size_t used = 0;
  if (capacity == 0) return buffer;
  if (rank < 0) {
    snprintf(buffer, capacity, "[...]");
    return buffer;
  }
  int written = snprintf(buffer, capacity, "[");
  for (int i = 0; i < rank && used + (size_t)written < capacity; ++i) {
    used += (size_t)written;
    const char *comma = i > 0 ? "," : "";
    if (dims[i] < 0) written = snprintf(buffer + used, capacity - used, "%s?", comma);
    else written = snprintf(buffer + used, capacity - used, "%s%" PRId64, comma, dims[i]);
  }
  used += (size_t)written;
  if (used + 1 < capacity) strcpy(buffer + used, "]");
  else if (capacity >= 4) strcpy(buffer + capacity - 4, "...");
  return buffer;
}
