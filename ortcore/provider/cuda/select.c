/* NonZero and Compress: how many elements there are is found on the device and fetched before the output is made. */
#include <inttypes.h>
#include <ortcore/kernels/cuda/select.h>
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/select.h>
#include <ortcore/provider/cuda/plugin.h>

static status count_elements(kernel_ctx *k, stream *s, const cuda_elements *x, void **out_scratch, int64_t *out_total) {
  const int64_t *total;
  TRY(kernel_scratch(k, cuda_select_scratch_bytes(x->count), out_scratch));
  TRY(cuda_launched(cuda_select_count(x, *out_scratch, cuda_raw(s), &total)));
  return cuda_fetch(s, total, out_total, sizeof *total);
}

static status nonzero_launch(kernel_ctx *k, stream *s) {
  const tensor *in = k->in[0];
  cuda_elements x = {in->data, in->count, tensor_width(in), truth_bits(in->type)};
  int rank = in->rank ? in->rank : 1;                      /* a scalar counts as one element of a list */
  int64_t dims[2] = {rank, 0}, one = 1;
  void *scratch;
  tensor *y;
  TRY(count_elements(k, s, &x, &scratch, &dims[1]));
  TRY(kernel_output(k, 0, 2, dims, &y));
  if (!y) return OK;
  return cuda_launched(cuda_select_indices(&x, scratch, rank, in->rank ? in->dims : &one, dims[1], y->data, cuda_raw(s)));
}

/* Entries of the condition beyond the axis must be false. */
static status check_rest(kernel_ctx *k, stream *s, const tensor *condition, int64_t n) {
  cuda_elements rest = {(const char *)condition->data + n, condition->count - n, 1, UINT8_MAX};
  void *scratch;
  int64_t beyond;
  if (rest.count <= 0) return OK;
  TRY(count_elements(k, s, &rest, &scratch, &beyond));
  if (beyond == 0) return OK;
  return ERROR(INVALID_ARGUMENT, "'condition' selects element %" PRId64 " or a later one, but there are only %" PRId64, n, n);
}

static status compress_launch(kernel_ctx *k, stream *s) {
  const compress_params *p = k->params;
  const tensor *in = k->in[0], *condition = k->in[1];
  int axis = 0, rank = p->has_axis ? in->rank : 1;
  if (p->has_axis) TRY(axis_normalise(p->axis, in->rank, "axis", &axis));
  if (condition->rank != 1) return ERROR(INVALID_ARGUMENT, "'condition' must have rank 1, but has rank %d", condition->rank);
  int64_t n = p->has_axis ? in->dims[axis] : in->count, kept, dims[MAX_RANK];
  cuda_elements flags = {condition->data, condition->count < n ? condition->count : n, 1, UINT8_MAX};
  void *scratch, *index;
  tensor *y;
  TRY(check_rest(k, s, condition, n));
  TRY(count_elements(k, s, &flags, &scratch, &kept));
  for (int d = 0; d < rank; ++d) dims[d] = d == axis ? kept : in->dims[d];
  TRY(kernel_output(k, 0, rank, dims, &y));
  if (!y || y->count == 0) return OK;
  TRY(kernel_scratch(k, (size_t)kept * sizeof(int64_t), &index));
  TRY(cuda_launched(cuda_select_indices(&flags, scratch, 1, &n, kept, index, cuda_raw(s))));
  int64_t outer = p->has_axis ? dims_product(in->dims, 0, axis) : 1, inner = p->has_axis ? dims_product(in->dims, axis + 1, in->rank) : 1;
  cuda_take take = {in->data, y->data, index, outer, n, kept, inner * tensor_width(in)};
  return cuda_launched(cuda_take_run(&take, cuda_raw(s)));
}

/* Types of up to 8 bytes: complex128 stays on the CPU. */
#define NONZERO_TYPES (TS_WHOLE & ~(TS(STRING) | TS(COMPLEX128)))
#define COMPRESS(first) {.op = "Compress", .since = first, .types = TS_WHOLE & ~TS(STRING), .launch = compress_launch}

KERNEL_FAMILY(select) = {
  {.op = "NonZero", .since = 9, .types = NONZERO_TYPES, .launch = nonzero_launch},
  COMPRESS(9), COMPRESS(11),
  {0}};
