/* Elementwise operators as programs (kernels/program.h): what each computes on the GPU, in which type. Params are those that ops/ prepares. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/ops/params/elementwise.h>
#include <ortcore/provider/cuda/pointwise.h>
#include <string.h>

/* ---- Recipes ------------------------------------------------------------------------------------------------------------------- */

static status no_room(const specialise_ctx *c) {
  return ERROR(NOT_IMPLEMENTED, "%s has %d inputs: its kernel takes at most %d and a program has at most %d steps", c->node->op_type, c->in_count, PROGRAM_INPUTS,
               PROGRAM_STEPS);
}

/* Operators whose params are an elementwise_step. */
static status steps_recipe(const specialise_ctx *c, pointwise *p) {
  const elementwise_step *s = c->params;
  int arguments[PROGRAM_INPUTS];
  p->compute = pointwise_compute(s->compute);
  for (int i = 0; i < c->in_count; ++i) arguments[i] = c->in[i] ? pointwise_operand(c, p, i) : FROM_NOWHERE;
  return elementwise_steps(&p->launch.what, s, c->in_count, arguments) ? OK : no_room(c);
}

/* Shapes that must be equal, where broadcasting would go unnoticed. */
static status gated_recipe(const specialise_ctx *c, pointwise *p) {
  const tensor *a = c->in[0], *b = c->in[1];
  char text_a[DIMS_TEXT], text_b[DIMS_TEXT];
  if (!dims_equal(a->rank, a->dims, b->rank, b->dims))
    return ERROR(INVALID_ARGUMENT, "'A' has shape %s and 'B' has %s; they must be equal", dims_format(text_a, sizeof text_a, a->rank, a->dims),
                 dims_format(text_b, sizeof text_b, b->rank, b->dims));
  return steps_recipe(c, p);
}

static status pow_recipe(const specialise_ctx *c, pointwise *p) {
  const pow_params *params = c->params;
  p->compute = pointwise_compute(params->general.compute);
  int base = pointwise_operand(c, p, 0), exponent = params->constant.kernel ? FROM_NOWHERE : pointwise_operand(c, p, 1);
  return pow_steps(&p->launch.what, params, base, exponent) ? OK : no_room(c);
}

static status clip_recipe(const specialise_ctx *c, pointwise *p) {
  static const char *const names[] = {"min", "max"};
  const clip_params *params = c->params;
  p->compute = pointwise_compute(params->step.compute);
  int x = pointwise_operand(c, p, 0), bounds[2] = {FROM_NOWHERE, FROM_NOWHERE};
  for (int i = 0; i < 2; ++i) {
    const tensor *bound = i + 1 < c->in_count ? c->in[i + 1] : NULL;
    char dims[DIMS_TEXT];
    if (!bound) continue;
    if (bound->count != 1)
      return ERROR(INVALID_ARGUMENT, "'%s' must be one number, but has shape %s", names[i], dims_format(dims, sizeof dims, bound->rank, bound->dims));
    bounds[i] = pointwise_operand(c, p, i + 1);
  }
  return clip_steps(&p->launch.what, params, c->in[0]->type, x, bounds[0], bounds[1]) ? OK : no_room(c);
}

/* Integers as they are; floats in a float type that holds them. */
static status cast_recipe(const specialise_ctx *c, pointwise *p) {
  p->compute = pointwise_compute(c->in[0]->type);
  program_append(&p->launch.what, PROGRAM_Copy, pointwise_operand(c, p, 0), FROM_NOWHERE, FROM_NOWHERE);
  return OK;
}

/* The unsigned integer of a type's width, for elements that are only moved. */
static dtype bits_type(dtype type) {
  int width = dtype_width(type);
  return width == 1 ? ORTC_UINT8 : width == 2 ? ORTC_UINT16 : width == 4 ? ORTC_UINT32 : ORTC_UINT64;
}

static status where_recipe(const specialise_ctx *c, pointwise *p) {
  p->compute = ORTC_INT64;
  int condition = pointwise_operand(c, p, 0), x = pointwise_operand(c, p, 1), y = pointwise_operand(c, p, 2);
  p->launch.in[1].type = p->launch.in[2].type = p->launch.out_type = bits_type(c->out[0]->type);
  program_append(&p->launch.what, PROGRAM_Where, condition, x, y);
  return OK;
}

static status bits_recipe(const specialise_ctx *c, pointwise *p) {
  p->compute = ORTC_INT64;
  int x = pointwise_operand(c, p, 0);
  p->launch.in[0].type = p->launch.out_type = bits_type(c->out[0]->type);
  program_append(&p->launch.what, PROGRAM_Copy, x, FROM_NOWHERE, FROM_NOWHERE);
  return OK;
}

/* FusedElementwise: its params are the program. */
static status fused_recipe(const specialise_ctx *c, pointwise *p) {
  p->compute = ORTC_FLOAT;
  for (int i = 0; i < c->in_count; ++i) pointwise_operand(c, p, i);
  p->launch.what = *(const program *)c->params;
  return OK;
}

static const pointwise_row steps = {steps_recipe}, gated = {gated_recipe}, power = {pow_recipe}, clip = {clip_recipe}, cast = {cast_recipe}, where = {where_recipe},
  bits = {bits_recipe}, fused = {fused_recipe};

/* ---- More inputs than a program has ---------------------------------------------------------------------------------------------- */

/* Launches that go on with the result of the one before, which is their input 0. */
typedef struct many { int32_t count; void *parts[]; } many;

enum { MORE_INPUTS = PROGRAM_INPUTS - 1 };                  /* that a launch adds */

/* What launch `part` reads; returns how many inputs that are. */
static int32_t part_inputs(int32_t part, int32_t count, const tensor *const *in, const tensor *result, const tensor **out) {
  int32_t first = part ? PROGRAM_INPUTS + (part - 1) * MORE_INPUTS : 0, taken = 0;
  if (part) out[taken++] = result;
  while (taken < PROGRAM_INPUTS && first < count) out[taken++] = in[first++];
  return taken;
}

static void many_dispose(void *spec) {
  many *m = spec;
  for (int32_t i = 0; i < m->count; ++i) pointwise_dispose(m->parts[i]);
  mem_free(m);
}

/* The last step of all, such as Mean's, belongs to the last launch. */
static status many_specialise(specialise_ctx *c, void **out_spec) {
  int32_t count = 1 + (c->in_count - PROGRAM_INPUTS + MORE_INPUTS - 1) / MORE_INPUTS;
  *out_spec = NULL;
  if (!c->out[0]) return OK;                               /* nobody wants it */
  many *m = mem_calloc(1, sizeof *m + (size_t)count * sizeof *m->parts);
  if (!m) return status_out_of_memory();
  for (; m->count < count; ++m->count) {
    const tensor *in[PROGRAM_INPUTS];
    elementwise_step step = *(const elementwise_step *)c->params;
    specialise_ctx part = *c;
    if (m->count + 1 < count) step.finish = NULL;
    part.in_count = part_inputs(m->count, c->in_count, c->in, c->out[0], in);
    part.in = in;
    part.params = &step;
    status s = pointwise_specialise(&part, &m->parts[m->count]);
    if (s) {
      many_dispose(m);
      return s;
    }
  }
  *out_spec = m;
  return OK;
}

static status many_launch(kernel_ctx *k, stream *on) {
  const many *m = k->spec;
  tensor *out;
  TRY(kernel_output_inferred(k, 0, &out));
  for (int32_t i = 0; out && m && i < m->count; ++i) {
    const tensor *in[PROGRAM_INPUTS];
    part_inputs(i, k->in_count, k->in, out, in);
    TRY(pointwise_enqueue(k, m->parts[i], in, out, on));
  }
  return OK;
}

static bool many_supports(const node *n, const fact *const *in) {
  for (int32_t i = 0; i < n->input_count; ++i)
    if (in[i] && in[i]->order != LAYOUT_PLAIN) return false;
  return n->input_count > PROGRAM_INPUTS;
}

/* ---- What the kernels do not have ---------------------------------------------------------------------------------------------- */

#define CAST_TYPES (TS_NUMERIC | TS(BOOL))

static bool cast_supports(const node *n, const fact *const *in) {
  return typeset_has(CAST_TYPES, (dtype)attr_int_or(n, "to", ORTC_UNDEFINED)) && pointwise_supports(n, in);
}

static bool cast_like_supports(const node *n, const fact *const *in) { return in[1] && typeset_has(CAST_TYPES, in[1]->type) && pointwise_supports(n, in); }

/* Elements of up to 8 bytes. */
static bool where_supports(const node *n, const fact *const *in) { return in[1] && typeset_has(CAST_TYPES | TS(COMPLEX64), in[1]->type) && pointwise_supports(n, in); }

/* ---- Rows ---------------------------------------------------------------------------------------------------------------------- */

#define ROW(name, first, set, recipe, in_place) {.op = name, .since = first, .types = set, .inplace = in_place, POINTWISE, .data = &recipe}
#define UNARY(name, first, set) ROW(name, first, set, steps, 1)
#define TEST(name, first, set) ROW(name, first, set, steps, 0)
#define BINARY(name, first, set) ROW(name, first, set, steps, 3)
#define COMPARE(name, first, set) ROW(name, first, set, steps, 0)
/* Sums so far are kept in the result: only types that are computed in themselves. No input shares its memory. */
#define MANY(name, first, set) \
  {.op = name, .since = first, .types = set, .supports = many_supports, .specialise = many_specialise, .dispose_spec = many_dispose, \
   .launch = many_launch, .data = &steps}
#define MICROSOFT(name) {.op = name, .domain = "com.microsoft", .since = 1, .types = TS_FLOAT, .inplace = 1, POINTWISE, .data = &steps}

KERNEL_FAMILY(elementwise) = {
  UNARY("Abs", 6, TS_NUMERIC), UNARY("Neg", 6, TS_FLOAT | TS_SIGNED), UNARY("Sign", 9, TS_NUMERIC), UNARY("BitwiseNot", 18, TS_INTEGER),
  UNARY("Not", 1, TS(BOOL)), UNARY("Erf", 9, TS_FLOAT), UNARY("Ceil", 6, TS_FLOAT), UNARY("Floor", 6, TS_FLOAT), UNARY("Round", 11, TS_FLOAT),
  UNARY("Sqrt", 6, TS_FLOAT), UNARY("Exp", 6, TS_FLOAT), UNARY("Log", 6, TS_FLOAT), UNARY("Tanh", 6, TS_FLOAT), UNARY("Reciprocal", 6, TS_FLOAT),
  UNARY("Sigmoid", 6, TS_FLOAT), UNARY("Sin", 7, TS_FLOAT), UNARY("Cos", 7, TS_FLOAT), UNARY("Tan", 7, TS_FLOAT), UNARY("Asin", 7, TS_FLOAT),
  UNARY("Acos", 7, TS_FLOAT), UNARY("Atan", 7, TS_FLOAT), UNARY("Sinh", 9, TS_FLOAT), UNARY("Cosh", 9, TS_FLOAT), UNARY("Asinh", 9, TS_FLOAT),
  UNARY("Acosh", 9, TS_FLOAT), UNARY("Atanh", 9, TS_FLOAT),
  UNARY("Relu", 6, TS_FLOAT | TS_SIGNED), UNARY("LeakyRelu", 6, TS_FLOAT), UNARY("HardSigmoid", 6, TS_FLOAT), UNARY("HardSwish", 14, TS_FLOAT),
  UNARY("Elu", 6, TS_FLOAT), UNARY("Selu", 6, TS_FLOAT), UNARY("Celu", 12, TS_FLOAT), UNARY("Softplus", 1, TS_FLOAT), UNARY("Softsign", 1, TS_FLOAT),
  UNARY("ThresholdedRelu", 10, TS_FLOAT), UNARY("Mish", 18, TS_FLOAT), UNARY("Shrink", 9, TS_FLOAT), UNARY("Gelu", 20, TS_FLOAT),
  UNARY("Swish", 24, TS_FLOAT),
  MICROSOFT("Gelu"), MICROSOFT("QuickGelu"), MICROSOFT("BiasGelu"), MICROSOFT("FastGelu"),
  {.op = "Silu", .domain = "ortcore", .since = 1, .types = TS_FLOAT, .inplace = 1, POINTWISE, .data = &steps},
  {.op = "FusedElementwise", .domain = "ortcore", .since = 1, .types = TS_NUMERIC | TS(BOOL), POINTWISE, .data = &fused},
  BINARY("Add", 7, TS_NUMERIC), BINARY("Sub", 7, TS_NUMERIC), BINARY("Mul", 7, TS_NUMERIC), BINARY("Div", 7, TS_NUMERIC), BINARY("Mod", 10, TS_NUMERIC),
  BINARY("PRelu", 7, TS_FLOAT | TS_INTEGER), BINARY("BitwiseAnd", 18, TS_INTEGER), BINARY("BitwiseOr", 18, TS_INTEGER), BINARY("BitwiseXor", 18, TS_INTEGER),
  BINARY("BitShift", 11, TS_INTEGER), BINARY("Max", 6, TS_NUMERIC), BINARY("Min", 6, TS_NUMERIC), BINARY("Sum", 6, TS_FLOAT), BINARY("Mean", 6, TS_FLOAT),
  MANY("Max", 6, TS_NUMERIC), MANY("Min", 6, TS_NUMERIC), MANY("Sum", 6, TS(FLOAT) | TS(DOUBLE)), MANY("Mean", 6, TS(FLOAT) | TS(DOUBLE)),
  ROW("SwiGLU", 28, TS_FLOAT, gated, 3), ROW("Pow", 7, TS_FLOAT | TS_INDEX, power, 0), ROW("Clip", 6, TS_NUMERIC, clip, 1),
  COMPARE("Equal", 7, TS_NUMERIC | TS(BOOL)), COMPARE("Less", 7, TS_NUMERIC), COMPARE("Greater", 7, TS_NUMERIC), COMPARE("LessOrEqual", 12, TS_NUMERIC),
  COMPARE("GreaterOrEqual", 12, TS_NUMERIC), BINARY("And", 7, TS(BOOL)), BINARY("Or", 7, TS(BOOL)), BINARY("Xor", 7, TS(BOOL)),
  TEST("IsNaN", 9, TS_FLOAT), TEST("IsInf", 10, TS_FLOAT),
  {.op = "Where", .since = 9, .types = TS(BOOL), .supports = where_supports, POINTWISE_FUNCTIONS, .data = &where},
  {.op = "Cast", .since = 6, .types = CAST_TYPES, .supports = cast_supports, POINTWISE_FUNCTIONS, .data = &cast},
  {.op = "CastLike", .since = 15, .types = CAST_TYPES, .supports = cast_like_supports, POINTWISE_FUNCTIONS, .data = &cast},
  ROW("BitCast", 26, TS_NUMERIC | TS(BOOL), bits, 0),
  {0}};
