/* Operators on sequences and optionals. Sequences are immutable and share their items; an append to one that nobody else holds is in place. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>

static const int64_t *const no_dims = NULL;

/* A position from an int32 or int64 scalar, negative from the back, in [0, limit). */
static status read_position(const tensor *t, int64_t items, int64_t limit, int64_t *out) {
  if (t->count != 1) return ERROR(INVALID_ARGUMENT, "'position' must be one number, but has %" PRId64 " elements", t->count);
  int64_t position = integer_at(t, 0), at = index_wrap(position, items);
  if (at < 0 || at >= limit)
    return ERROR(INVALID_ARGUMENT,
                 "position %" PRId64 " is out of range: the sequence has %" PRId64 " items, so positions go from %" PRId64 " to %" PRId64,
                 position, items, -items, limit - 1);
  *out = at;
  return OK;
}

static status input_sequence(const kernel_ctx *k, ortc_value **out) {
  *out = kernel_in_value(k, 0);
  if (!*out || (*out)->kind != ORTC_VALUE_SEQUENCE)
    return ERROR(INVALID_ARGUMENT, "'input_sequence' is not a sequence, but %s", ort_value_kind_name(*out));
  return OK;
}

/* ---- Facts ---- */

static status sequence_infer(infer_ctx *c) {
  (void)c;
  return OK;
}

static status sequence_empty_infer(infer_ctx *c) {
  c->out[0]->kind = KIND_SEQUENCE;
  c->out[0]->type = (dtype)attr_int_or(c->node, "dtype", ORTC_FLOAT);
  return OK;
}

static status scalar_infer(infer_ctx *c) {
  fact_set_shape(c->out[0], 0, no_dims);
  return OK;
}

static status optional_infer(infer_ctx *c) {
  const attr *type = attr_find(c->node, "type");
  if (infer_in(c, 0)) *c->out[0] = *c->in[0];
  else if (type && type->kind == ATTR_TYPE_PROTO) *c->out[0] = *type->type;
  else return ERROR(INVALID_GRAPH, "without an input, the attribute 'type' must say what the optional could hold");
  c->out[0]->optional = true;
  c->out[0]->value = NULL;
  return OK;
}

static status optional_get_infer(infer_ctx *c) {
  *c->out[0] = *c->in[0];
  c->out[0]->optional = false;
  c->out[0]->value = NULL;
  return OK;
}

/* ---- Making and editing ---- */

static status sequence_construct_run(kernel_ctx *k) {
  ortc_value **items, *sequence = NULL;
  int32_t count = 0;
  status s = kernel_scratch(k, (size_t)k->in_count * sizeof *items, (void **)&items);
  if (s) return s;
  while (!s && count < k->in_count) {
    s = kernel_as_value(k, count, &items[count]);
    count += s == OK;
  }
  if (!s) s = ort_value_create_sequence(k->in[0]->type, count, items, &sequence);
  for (int32_t i = 0; i < count; ++i) ort_value_release(items[i]);
  if (!s) kernel_set_value(k, 0, sequence);
  return s;
}

static status sequence_empty_run(kernel_ctx *k) {
  ortc_value *sequence;
  TRY(ort_value_create_sequence((dtype)attr_int_or(k->node, "dtype", ORTC_FLOAT), 0, NULL, &sequence));
  kernel_set_value(k, 0, sequence);
  return OK;
}

static status sequence_insert_run(kernel_ctx *k) {
  const tensor *position = kernel_in(k, 2);
  ortc_value *sequence, *item, *result;
  TRY(input_sequence(k, &sequence));
  int64_t items = sequence->item_count, at = items;
  if (position) TRY(read_position(position, items, items + 1, &at));
  TRY(kernel_as_value(k, 1, &item));
  status s = ort_value_insert_item(kernel_take_value(k, 0), at, item, &result);
  ort_value_release(item);
  if (!s) kernel_set_value(k, 0, result);
  return s;
}

static status sequence_erase_run(kernel_ctx *k) {
  const tensor *position = kernel_in(k, 1);
  ortc_value *sequence, *result, **items;
  TRY(input_sequence(k, &sequence));
  int64_t count = sequence->item_count, at = count - 1;
  if (count == 0) return ERROR(INVALID_ARGUMENT, "'input_sequence' is empty, so nothing can be erased");
  if (position) TRY(read_position(position, count, count, &at));
  TRY(kernel_scratch(k, (size_t)count * sizeof *items, (void **)&items));
  for (int64_t i = 0, n = 0; i < count; ++i)
    if (i != at) items[n++] = sequence->items[i];
  TRY(ort_value_create_sequence(sequence->view.type, count - 1, items, &result));
  kernel_set_value(k, 0, result);
  return OK;
}

/* ---- Looking ---- */

static status sequence_at_run(kernel_ctx *k) {
  ortc_value *sequence;
  int64_t at;
  TRY(input_sequence(k, &sequence));
  TRY(read_position(k->in[1], sequence->item_count, sequence->item_count, &at));
  kernel_set_value(k, 0, ort_value_retain(sequence->items[at]));
  return OK;
}

static status sequence_length_run(kernel_ctx *k) {
  ortc_value *sequence;
  tensor *out;
  TRY(input_sequence(k, &sequence));
  TRY(kernel_output(k, 0, 0, no_dims, &out));
  if (out) *(int64_t *)out->data = sequence->item_count;
  return OK;
}

/* ---- Between tensors and sequences ---- */

typedef struct split_part { int64_t begin, size; } split_part;

/* Part i of the axis; parts are 1, a fixed size (the last may be smaller) or listed. */
static split_part part_at(const tensor *split, int64_t i, int64_t begin, int64_t n) {
  int64_t size = !split ? 1 : split->rank == 0 ? integer_at(split, 0) : integer_at(split, i);
  return (split_part){begin, size < n - begin ? size : n - begin};
}

static status count_parts(const tensor *split, int64_t n, int axis, int64_t *out) {
  *out = n;
  if (!split) return OK;
  if (split->rank > 1) return ERROR(INVALID_ARGUMENT, "'split' must be one number or a list of them, but has rank %d", split->rank);
  if (split->rank == 0) {
    int64_t size = integer_at(split, 0);
    if (size <= 0) return ERROR(INVALID_ARGUMENT, "'split' is %" PRId64 ", but a part has at least one element", size);
    *out = n / size + (n % size != 0);
    return OK;
  }
  int64_t left = n;
  for (int64_t i = 0; i < split->count; ++i) {
    int64_t size = integer_at(split, i);
    if (size < 0) return ERROR(INVALID_ARGUMENT, "entry %" PRId64 " of 'split' is negative: %" PRId64, i, size);
    if (size > left) return ERROR(INVALID_ARGUMENT, "the sizes in 'split' sum to more than the %" PRId64 " elements of axis %d", n, axis);
    left -= size;
  }
  if (left)
    return ERROR(INVALID_ARGUMENT, "the sizes in 'split' sum to %" PRId64 ", but axis %d has %" PRId64 " elements", n - left, axis, n);
  *out = split->count;
  return OK;
}

static status split_one(kernel_ctx *k, const tensor *in, int axis, split_part part, bool drop_axis, ortc_value **out) {
  int64_t dims[MAX_RANK], inner = dims_product(in->dims, axis + 1, in->rank);
  int rank = 0;
  for (int d = 0; d < in->rank; ++d)
    if (d != axis || !drop_axis) dims[rank++] = d == axis ? part.size : in->dims[d];
  TRY(ort_value_create_tensor(NULL, in->type, rank, dims, out));
  strided_copy c = {.bits = dtype_bits(in->type), .rank = 2, .to = (*out)->view.data, .from = in->data, .from_offset = part.begin * inner,
                    .dims = {dims_product(in->dims, 0, axis), part.size * inner}, .from_strides = {in->dims[axis] * inner, 1},
                      .to_strides = {part.size * inner, 1}};
  copy_strided(k->threads, &c);
  tensor_moved(&(*out)->view);
  return OK;
}

typedef struct split_params { int64_t axis; bool keepdims; } split_params;

static status split_prepare(prepare_ctx *c, void **out_params) {
  split_params *p = ZONE_NEW(c->memory, split_params);
  if (!p) return status_out_of_memory();
  p->axis = attr_int_or(c->node, "axis", 0);
  p->keepdims = attr_int_or(c->node, "keepdims", 1) != 0;
  *out_params = p;
  return OK;
}

static status split_to_sequence_run(kernel_ctx *k) {
  const split_params *p = k->params;
  const tensor *in = k->in[0], *split = kernel_in(k, 1);
  ortc_value **items, *sequence = NULL;
  int axis;
  int64_t parts, made = 0;
  TRY(axis_normalise(p->axis, in->rank, "axis", &axis));
  TRY(count_parts(split, in->dims[axis], axis, &parts));
  TRY(kernel_scratch(k, (size_t)parts * sizeof *items, (void **)&items));
  status s = OK;
  for (int64_t begin = 0; !s && made < parts; ++made) {
    split_part part = part_at(split, made, begin, in->dims[axis]);
    s = split_one(k, in, axis, part, !split && !p->keepdims, &items[made]);
    begin += part.size;
    if (s) break;
  }
  if (!s) s = ort_value_create_sequence(in->type, parts, items, &sequence);
  for (int64_t i = 0; i < made; ++i) ort_value_release(items[i]);
  if (!s) kernel_set_value(k, 0, sequence);
  return s;
}

typedef struct join_params { int64_t axis; bool stack; } join_params;

static status join_prepare(prepare_ctx *c, void **out_params) {
  join_params *p = ZONE_NEW(c->memory, join_params);
  if (!p) return status_out_of_memory();
  p->axis = attr_int_or(c->node, "axis", 0);
  p->stack = attr_int_or(c->node, "new_axis", 0) != 0;
  *out_params = p;
  return OK;
}

static status concat_from_sequence_run(kernel_ctx *k) {
  const join_params *p = k->params;
  const tensor **tensors;
  ortc_value *sequence;
  TRY(input_sequence(k, &sequence));
  if (sequence->item_count == 0) return ERROR(INVALID_ARGUMENT, "'input_sequence' is empty, so there is nothing to concatenate");
  TRY(kernel_scratch(k, (size_t)sequence->item_count * sizeof *tensors, (void **)&tensors));
  for (int64_t i = 0; i < sequence->item_count; ++i) tensors[i] = &sequence->items[i]->view;
  return concat_tensors(k, sequence->item_count, tensors, p->axis, p->stack);
}

/* ---- Optionals ---- */

/* Hands input 0 on, whatever it is; NULL if it is absent or empty. */
static status pass_value(kernel_ctx *k, ortc_value **out) {
  if (kernel_in(k, 0)) return kernel_as_value(k, 0, out);
  *out = k->in_count ? kernel_take_value(k, 0) : NULL;
  return OK;
}

static status optional_run(kernel_ctx *k) {
  ortc_value *v;
  TRY(pass_value(k, &v));
  kernel_set_value(k, 0, v ? v : ort_value_none());
  return OK;
}

static status optional_get_run(kernel_ctx *k) {
  ortc_value *v;
  TRY(pass_value(k, &v));
  if (!v) return ERROR(INVALID_ARGUMENT, "the optional is empty; ask OptionalHasElement first");
  kernel_set_value(k, 0, v);
  return OK;
}

static status optional_has_run(kernel_ctx *k) {
  tensor *out;
  TRY(kernel_output(k, 0, 0, no_dims, &out));
  if (out) *(bool *)out->data = kernel_in(k, 0) || (k->in_count && kernel_in_value(k, 0));
  return OK;
}

#define SEQUENCE .T = TS_ALL, .T1 = TS_INDEX, .flags = OP_VALUES

OP_FAMILY(sequence) = {
  {.name = "SequenceConstruct", .since = 11, .signature = "inputs:T* -> output_sequence:seq(T)", SEQUENCE, .infer = sequence_infer,
   .run = sequence_construct_run},
  {.name = "SequenceEmpty", .since = 11, .signature = "-> output:seq(T)", SEQUENCE, .infer = sequence_empty_infer,
   .run = sequence_empty_run},
  {.name = "SequenceInsert", .since = 11, .signature = "input_sequence:seq(T) tensor:T position:T1? -> output_sequence:seq(T)", SEQUENCE,
   .infer = sequence_infer, .run = sequence_insert_run},
  {.name = "SequenceErase", .since = 11, .signature = "input_sequence:seq(T) position:T1? -> output_sequence:seq(T)", SEQUENCE,
   .infer = sequence_infer, .run = sequence_erase_run},
  {.name = "SequenceAt", .since = 11, .signature = "input_sequence:seq(T) position:T1 -> tensor:T", SEQUENCE, .infer = sequence_infer,
   .run = sequence_at_run},
  {.name = "SequenceLength", .since = 11, .signature = "input_sequence:seq(T) -> length:i64", SEQUENCE, .infer = scalar_infer,
   .run = sequence_length_run},
  {.name = "SplitToSequence", .since = 11, .signature = "input:T split:T1? -> output_sequence:seq(T)", SEQUENCE, .infer = sequence_infer,
   .prepare = split_prepare, .run = split_to_sequence_run},
  {.name = "ConcatFromSequence", .since = 11, .signature = "input_sequence:seq(T) -> concat_result:T", SEQUENCE, .infer = sequence_infer,
   .prepare = join_prepare, .run = concat_from_sequence_run},
  {.name = "Optional", .since = 15, .signature = "input:any? -> output:any", .flags = OP_VALUES, .infer = optional_infer,
   .run = optional_run},
  {.name = "OptionalHasElement", .since = 15, .signature = "input:any? -> output:bool", .flags = OP_VALUES, .infer = scalar_infer,
   .run = optional_has_run},
  {.name = "OptionalGetElement", .since = 15, .signature = "input:any -> output:any", .flags = OP_VALUES, .infer = optional_get_infer,
   .run = optional_get_run},
  {0}};
