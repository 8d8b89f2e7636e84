/* Col2Im: columns of blocks added up into an image of any number of axes, the reverse of cutting it into blocks. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/checked.h>
#include <ortcore/base/threads.h>

typedef struct col2im_params {
  integers strides, pads, dilations;
  bool has_strides, has_pads, has_dilations;
  const combine_fns *add;
} col2im_params;

static status col2im_prepare(prepare_ctx *c, void **out_params) {
  col2im_params *p = ZONE_NEW(c->memory, col2im_params);
  if (!p) return status_out_of_memory();
  TRY(integers_from_attr(c->node, "strides", &p->strides, &p->has_strides));
  TRY(integers_from_attr(c->node, "pads", &p->pads, &p->has_pads));
  TRY(integers_from_attr(c->node, "dilations", &p->dilations, &p->has_dilations));
  p->add = combine_for(COMBINE_ADD, c->in[0]->type);
  *out_params = p;
  if (!p->add) return ERROR(NOT_IMPLEMENTED, "elements of type %s cannot be added", dtype_name(c->in[0]->type));
  for (int i = 0; i < p->strides.count; ++i)
    if (p->strides.at[i] < 1 || p->strides.at[i] > INT32_MAX)
      return ERROR(INVALID_GRAPH, "attribute 'strides' holds %" PRId64 ", but must be positive", p->strides.at[i]);
  for (int i = 0; i < p->dilations.count; ++i)
    if (p->dilations.at[i] < 1 || p->dilations.at[i] > INT32_MAX)
      return ERROR(INVALID_GRAPH, "attribute 'dilations' holds %" PRId64 ", but must be positive", p->dilations.at[i]);
  for (int i = 0; i < p->pads.count; ++i)
    if (p->pads.at[i] < 0 || p->pads.at[i] > INT32_MAX)
      return ERROR(INVALID_GRAPH, "attribute 'pads' holds %" PRId64 ", but must not be negative", p->pads.at[i]);
  return OK;
}

static status col2im_product(const integers *block, int64_t *out) {
  *out = 1;
  for (int i = 0; i < block->count; ++i)
    if (block->at[i] < 1 || checked_mul(*out, block->at[i], out))
      return ERROR(INVALID_ARGUMENT, "entry %d of 'block_shape' is %" PRId64 ", which is not a block's size", i, block->at[i]);
  return OK;
}

static status col2im_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  integers image, block;
  bool image_known = integers_from_fact(c->in[1], &image), block_known = integers_from_fact(c->in[2], &block);
  int64_t axes = integers_count(c->in[1]), product;
  if (axes < 0 || axes > MAX_RANK - 2) return OK;
  dim dims[MAX_RANK] = {x->rank == RANK_UNKNOWN ? DIM_UNKNOWN : x->dims[0], DIM_UNKNOWN};
  if (block_known && x->rank == 3 && dim_known(x->dims[1])) {
    TRY(col2im_product(&block, &product));
    dims[1] = x->dims[1] / product;
  }
  for (int i = 0; i < axes; ++i) dims[2 + i] = image_known ? image.at[i] : DIM_UNKNOWN;
  fact_set_shape(c->out[0], 2 + (int)axes, dims);
  return OK;
}

typedef struct col2im {
  const char *from;
  char *to;
  const combine_fns *add;
  int axes;
  int64_t image[MAX_RANK], block[MAX_RANK], columns[MAX_RANK], stride[MAX_RANK], pad[MAX_RANK], dilation[MAX_RANK];
  int64_t image_count, block_count, column_count, width;
} col2im;

/* Adds the columns of one place in the block: along the last axis, row by row over the others. */
static void col2im_place(const col2im *j, const int64_t *place, const char *from, char *to) {
  int last = j->axes - 1;
  int64_t rows = j->column_count / j->columns[last], step = j->stride[last], n = j->columns[last];
  int64_t first = place[last] * j->dilation[last] - j->pad[last];   /* where column 0 lands; those outside the image are left out */
  int64_t begin = first < 0 ? (-first + step - 1) / step : 0, end = j->image[last] > first ? (j->image[last] - first - 1) / step + 1 : 0;
  if (end > n) end = n;
  for (int64_t row = 0; row < rows && begin < end; ++row) {
    int64_t rest = row, base = 0, scale = j->image[last];
    bool inside = true;
    for (int d = last - 1; d >= 0; --d) {
      int64_t i = rest % j->columns[d] * j->stride[d] + place[d] * j->dilation[d] - j->pad[d];
      inside &= i >= 0 && i < j->image[d];
      base += i * scale;
      scale *= j->image[d];
      rest /= j->columns[d];
    }
    if (!inside) continue;
    const char *source = from + (row * n + begin) * j->width;
    char *target = to + (base + first + begin * step) * j->width;
    if (step == 1) j->add->adjacent(target, source, end - begin);
    else for (int64_t i = 0; i < end - begin; ++i) j->add->adjacent(target + i * step * j->width, source + i * j->width, 1);
  }
}

/* Images [begin, end), each one channel of one sample. */
static void col2im_range(void *context, int64_t begin, int64_t end) {
  const col2im *j = context;
  for (int64_t i = begin; i < end; ++i) {
    int64_t place[MAX_RANK] = {0};
    for (int64_t b = 0; b < j->block_count; ++b) {
      col2im_place(j, place, j->from + (i * j->block_count + b) * j->column_count * j->width, j->to + i * j->image_count * j->width);
      for (int d = j->axes - 1; d >= 0 && ++place[d] == j->block[d]; --d) place[d] = 0;
    }
  }
}

/* How many columns lie along each axis. */
static status col2im_columns(const col2im_params *p, const integers *image, const integers *block, col2im *j) {
  j->axes = image->count;
  if (j->axes < 1 || j->axes > MAX_RANK - 2 || block->count != j->axes)
    return ERROR(INVALID_ARGUMENT, "'image_shape' has %d entries and 'block_shape' %d; they must agree", j->axes, block->count);
  if ((p->has_strides && p->strides.count != j->axes) || (p->has_dilations && p->dilations.count != j->axes) ||
      (p->has_pads && p->pads.count != 2 * j->axes))
    return ERROR(INVALID_ARGUMENT, "attributes 'strides', 'dilations' and 'pads' must have an entry (pads: two) for each of the %d axes of "
                                   "the image", j->axes);
  for (int d = 0; d < j->axes; ++d) {
    j->image[d] = image->at[d];
    j->block[d] = block->at[d];
    j->stride[d] = p->has_strides ? p->strides.at[d] : 1;
    j->dilation[d] = p->has_dilations ? p->dilations.at[d] : 1;
    j->pad[d] = p->has_pads ? p->pads.at[d] : 0;
    if (j->image[d] < 1 || j->image[d] > INT32_MAX || j->block[d] > INT32_MAX)
      return ERROR(INVALID_ARGUMENT, "axis %d: image size %" PRId64 " and block size %" PRId64 " are not sizes", d, j->image[d],
                   j->block[d]);
    int64_t room = j->image[d] + j->pad[d] + (p->has_pads ? p->pads.at[j->axes + d] : 0) - (j->dilation[d] * (j->block[d] - 1) + 1);
    if (room < 0)
      return ERROR(INVALID_ARGUMENT, "axis %d: a block of %" PRId64 " with dilation %" PRId64 " does not fit the padded image of %" PRId64,
                   d, j->block[d], j->dilation[d], j->image[d]);
    j->columns[d] = room / j->stride[d] + 1;
  }
  return OK;
}

static status col2im_run(kernel_ctx *k) {
  const col2im_params *p = k->params;
  const tensor *x = k->in[0];
  integers image, block;
  col2im j = {.from = x->data, .add = p->add, .width = tensor_width(x), .column_count = 1, .image_count = 1};
  if (x->rank != 3) return ERROR(INVALID_ARGUMENT, "'input' must have shape [N, C * block, columns], but has rank %d", x->rank);
  TRY(integers_from_tensor(k->in[1], "image_shape", &image));
  TRY(integers_from_tensor(k->in[2], "block_shape", &block));
  TRY(col2im_product(&block, &j.block_count));
  TRY(col2im_columns(p, &image, &block, &j));
  int64_t dims[MAX_RANK] = {x->dims[0], x->dims[1] / j.block_count};
  for (int d = 0; d < j.axes; ++d) {
    dims[2 + d] = j.image[d];
    if (checked_mul(j.column_count, j.columns[d], &j.column_count) || checked_mul(j.image_count, j.image[d], &j.image_count))
      return ERROR(INVALID_ARGUMENT, "the image is too large");
  }
  if (x->dims[1] % j.block_count || x->dims[2] != j.column_count)
    return ERROR(INVALID_ARGUMENT,
                 "'input' has %" PRId64 " rows of %" PRId64 " columns, but blocks of %" PRId64
                 " elements on this image need a multiple of %" PRId64 " rows of %" PRId64 " columns",
                 x->dims[1], x->dims[2], j.block_count, j.block_count, j.column_count);
  tensor *out;
  TRY(kernel_output(k, 0, 2 + j.axes, dims, &out));
  if (!out || out->count == 0) return OK;
  j.to = out->data;
  memset(out->data, 0, tensor_bytes(out));
  parallel_for(k->threads, dims[0] * dims[1], move_grain(j.block_count * j.column_count * j.width), col2im_range, &j);
  return OK;
}

OP_FAMILY(col2im) = {
  {.name = "Col2Im", .since = 18, .signature = "input:T image_shape:i64 block_shape:i64 -> output:T", .T = TS_NUMERIC | TS(BOOL),
   .infer = col2im_infer, .prepare = col2im_prepare, .run = col2im_run},
  {0}};
