#include <ortcore/ops/elementwise.h>

#include <ortcore/base/threads.h>
#include <string.h>

/* Integers have no quotient by zero. */
static bool divides_integers(const char *kernel, dtype type) {
  return typeset_has(TS_INTEGER, type) && (!strcmp(kernel, "Div") || !strcmp(kernel, "ModFloor") || !strcmp(kernel, "ModTrunc"));
}

status elementwise_step_make(prepare_ctx *c, const char *kernel, elementwise_step **out) {
  elementwise_step *s = *out = ZONE_NEW(c->memory, elementwise_step);
  if (!s) return status_out_of_memory();
  s->compute = elementwise_compute_type(c->in[0]->type);
  s->kernel = elementwise_find(kernel, s->compute);
  s->zero_divides = divides_integers(kernel, s->compute);
  if (!s->kernel) return ERROR(NOT_IMPLEMENTED, "%s has no kernel for elements of type %s", c->node->op_type, dtype_name(c->in[0]->type));
  return OK;
}

status elementwise_prepare(prepare_ctx *c, void **out_params) {
  elementwise_step *s;
  TRY(elementwise_step_make(c, c->op->data ? c->op->data : c->node->op_type, &s));
  s->truth = c->out[0] && c->out[0]->type == ORTC_BOOL;
  *out_params = s;
  return OK;
}

/* ---- Run ----------------------------------------------------------------------------------------------------------------------- */

typedef struct flat { const elementwise_step *step; int count; const tensor *const *in; tensor *out; int64_t width; } flat;

static void run_flat(void *context, int64_t begin, int64_t end) {
  const flat *f = context;
  const void *x[3];
  for (int i = 0; i < f->count; ++i) x[i] = (const char *)f->in[i]->data + begin * f->width;
  char *y = (char *)f->out->data + begin * (f->step->truth ? 1 : f->width);
  f->step->kernel->fn(y, x, end - begin, 0, &f->step->attrs);
}

/* Equal shapes, and the kernel reads and writes memory as it is: no more to do than the loop. */
static bool is_flat(const elementwise_step *s, int count, const tensor *const *in, const tensor *out) {
  if (count > (s->fold ? 2 : 3) || s->finish || (s->fold && count < 2)) return false;
  if (!s->truth && out->type != s->compute) return false;
  for (int i = 0; i < count; ++i)
    if (in[i]->type != s->compute || !dims_equal(in[i]->rank, in[i]->dims, out->rank, out->dims)) return false;
  return true;
}

/* Where the first zero is, or n. */
static int64_t find_zero(const void *data, int width, int64_t n) {
  int64_t i = 0;
#define FIND(type) while (i < n && ((const type *)data)[i] != 0) ++i
  switch (width) {
    case 1: FIND(uint8_t); break;
    case 2: FIND(uint16_t); break;
    case 4: FIND(uint32_t); break;
    default: FIND(uint64_t);
  }
#undef FIND
  return i;
}

static status check_divisor(const tensor *b) {
  int64_t i = find_zero(b->data, tensor_width(b), b->count);
  return i == b->count ? OK : ERROR(INVALID_ARGUMENT, "element %lld of 'B' is zero: integers cannot be divided by it", (long long)i);
}

status elementwise_apply(kernel_ctx *k, const elementwise_step *s, int count, const tensor *const *in, tensor *out) {
  if (out->count == 0) return OK;
  if (s->zero_divides) TRY(check_divisor(in[1]));
  if (is_flat(s, count, in, out)) {
    flat f = {s, count, in, out, dtype_width(s->compute)};
    if (out->count <= s->kernel->grain) run_flat(&f, 0, out->count);
    else parallel_for(k->threads, out->count, s->kernel->grain, run_flat, &f);
    return OK;
  }
  operand few[4];
  broadcast b = {.count = count, .in = few, .fold = s->fold, .kernel = s->kernel, .params = &s->attrs, .finish = s->finish ? s->finish->fn : NULL, .finish_params = &s->finish_attrs,
                 .compute_width = dtype_width(s->compute), .out = out->data, .out_width = tensor_width(out)};
  if (count > 4) {
    void *many;
    TRY(kernel_scratch(k, (size_t)count * sizeof *b.in, &many));
    b.in = many;
  }
  broadcast_shape(&b, out->rank, out->dims);
  for (int i = 0; i < count; ++i) broadcast_operand(&b, i, in[i], in[i]->type == s->compute ? NULL : convert_find(in[i]->type, s->compute));
  if (!s->truth && out->type != s->compute) b.store = convert_find(s->compute, out->type);
  broadcast_run(k->threads, &b);
  return OK;
}

status elementwise_run(kernel_ctx *k) {
  tensor *out;
  int rank = 0;
  int64_t dims[MAX_RANK];
  if (k->in_count == 1) {
    TRY(kernel_output_like(k, 0, k->in[0], &out));
  } else {
    TRY(broadcast_dims(k->in_count, k->in, &rank, dims));
    TRY(kernel_output(k, 0, rank, dims, &out));
  }
  return out ? elementwise_apply(k, k->params, k->in_count, k->in, out) : OK;
}
