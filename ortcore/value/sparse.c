/* Sparse tensors: stored and passed on, so all that matters is that their indices mean something. */
#include <ortcore/device/memory_info.h>
#include <ortcore/value/ort_value.h>

#include <inttypes.h>

/* Indices are read here, so they must be int64 in the host's memory. */
static status check_int64(const char *what, const ortc_value *v) {
  if (!v) return ERROR(INVALID_ARGUMENT, "sparse tensor: %s are missing", what);
  if (v->kind != ORTC_VALUE_TENSOR) return ERROR(INVALID_ARGUMENT, "sparse tensor: %s are %s; they must be a tensor of int64", what, ort_value_kind_name(v));
  if (v->view.type != ORTC_INT64) return ERROR(INVALID_ARGUMENT, "sparse tensor: %s are of type %s; they must be int64", what, dtype_name(v->view.type));
  if (v->memory && !memory_info_is_host(&v->memory->info)) {
    return ERROR(INVALID_ARGUMENT, "sparse tensor: %s lie on %s; they must be in the CPU's memory to be checked", what, memory_info_device_name(&v->memory->info));
  }
  return OK;
}

static status wrong_shape(const char *what, const ortc_value *v, const char *expected) {
  char text[DIMS_TEXT];
  return ERROR(INVALID_ARGUMENT, "sparse tensor: %s have shape %s; expected %s", what, dims_format(text, sizeof text, v->view.rank, v->view.dims), expected);
}

/* COO: [n] linear indices, or [n, rank] coordinates. */
static status check_coo(const tensor *dense, int64_t n, const ortc_value *indices) {
  const tensor *t = &indices->view;
  const int64_t *data = t->data;
  bool linear = t->rank == 1 && t->dims[0] == n;
  bool coordinates = t->rank == 2 && t->dims[0] == n && t->dims[1] == dense->rank;
  if (!linear && !coordinates) return wrong_shape("COO indices", indices, "[n] or [n, rank], n being the number of values");
  for (int64_t i = 0; i < t->count; ++i) {
    int axis = linear ? 0 : (int)(i % dense->rank);
    int64_t limit = linear ? dense->count : dense->dims[axis];
    if (data[i] < 0 || data[i] >= limit) {
      return ERROR(INVALID_ARGUMENT, "sparse tensor: COO index %" PRId64 " of value %" PRId64 " is outside [0, %" PRId64 ") on axis %d", data[i],
                   linear ? i : i / dense->rank, limit, axis);
    }
  }
  return OK;
}

/* CSR of a matrix: columns [n], and offsets [rows + 1] that rise from 0 to n. */
static status check_csr(const tensor *dense, int64_t n, const ortc_value *columns, const ortc_value *offsets) {
  if (dense->rank != 2) return ERROR(INVALID_ARGUMENT, "sparse tensor: CSR needs a shape of two dims, this one has %d", dense->rank);
  TRY(check_int64("CSR outer indices", offsets));
  if (columns->view.rank != 1 || columns->view.count != n) return wrong_shape("CSR inner indices", columns, "[n], n being the number of values");
  /* Without values both may be empty. */
  if (n == 0 && offsets->view.count == 0) return OK;
  if (offsets->view.rank != 1 || offsets->view.count - 1 != dense->dims[0]) return wrong_shape("CSR outer indices", offsets, "[rows + 1]");
  const int64_t *inner = columns->view.data, *outer = offsets->view.data;
  for (int64_t i = 0; i < n; ++i) {
    if (inner[i] < 0 || inner[i] >= dense->dims[1]) {
      return ERROR(INVALID_ARGUMENT, "sparse tensor: CSR column %" PRId64 " of value %" PRId64 " is outside [0, %" PRId64 ")", inner[i], i, dense->dims[1]);
    }
  }
  for (int64_t row = 0; row <= dense->dims[0]; ++row) {
    int64_t before = row ? outer[row - 1] : 0;
    if (outer[row] < before || outer[row] > n || (row == 0 && outer[row] != 0) || (row == dense->dims[0] && outer[row] != n)) {
      return ERROR(INVALID_ARGUMENT, "sparse tensor: CSR offset %" PRId64 " is %" PRId64 "; offsets rise from 0 to the number of values, %" PRId64, row, outer[row], n);
    }
  }
  return OK;
}

static status check_format(ortc_sparse_format format) {
  if (format == ORTC_SPARSE_COO || format == ORTC_SPARSE_CSRC) return OK;
  if (format == ORTC_SPARSE_BLOCK) return ERROR(NOT_IMPLEMENTED, "sparse tensor: the block format is not supported; use COO (1) or CSR (2)");
  return ERROR(INVALID_ARGUMENT, "sparse tensor: format %d is unknown; use COO (1) or CSR (2)", (int)format);
}

status ort_value_create_sparse(ortc_sparse_format format, int rank, const int64_t *dims, ortc_value *values, ortc_value *indices, ortc_value *outer,
                               ortc_value **out) {
  tensor dense;
  *out = NULL;
  TRY(check_format(format));
  if (values->kind != ORTC_VALUE_TENSOR || values->view.rank != 1) {
    return ERROR(INVALID_ARGUMENT, "sparse tensor: the values are %s of rank %d; they must be a 1-D tensor", ort_value_kind_name(values), values->view.rank);
  }
  TRY(tensor_init(&dense, values->view.type, rank, dims));
  TRY(check_int64("indices", indices));
  int64_t n = values->view.count;
  if (format == ORTC_SPARSE_COO) TRY(check_coo(&dense, n, indices));
  else TRY(check_csr(&dense, n, indices, outer));

  status s = ort_value_from_tensor(&dense, NULL, out);
  if (s) return s;
  (*out)->kind = ORTC_VALUE_SPARSE;
  (*out)->format = format;
  (*out)->values = ort_value_retain(values);
  (*out)->indices = ort_value_retain(indices);
  if (format == ORTC_SPARSE_CSRC) (*out)->outer = ort_value_retain(outer);
  return OK;
}
