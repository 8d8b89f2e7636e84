/* Functions of one number: f(x), without parameters. Activations with attributes are in activation.c. */
#include <ortcore/ops/elementwise.h>

#define UNARY(op, version, types) \
  {.name = #op, .since = version, .signature = "X:T -> Y:T", .T = types, .flags = OP_LAYOUT_ANY, .inplace = 1, .prepare = elementwise_prepare, \
   .run = elementwise_run}
#define UNARY_6_13(op) UNARY(op, 6, TS_FLOAT_6), UNARY(op, 13, TS_FLOAT)
#define UNARY_22(op, first) UNARY(op, first, TS_FLOAT_6), UNARY(op, 22, TS_FLOAT)

#define NEGATABLE (TS_FLOAT_6 | TS_SIGNED)

OP_FAMILY(unary) = {
  UNARY(Abs, 6, TS_NUMERIC_12), UNARY(Abs, 13, TS_NUMERIC),
  UNARY(Neg, 6, NEGATABLE), UNARY(Neg, 13, NEGATABLE | TS(BFLOAT16)),
  UNARY(Sign, 9, TS_NUMERIC_12), UNARY(Sign, 13, TS_NUMERIC),
  UNARY(Erf, 9, TS_NUMERIC_12), UNARY(Erf, 13, TS_FLOAT),
  UNARY(BitwiseNot, 18, TS_INTEGER),
  UNARY_6_13(Ceil), UNARY_6_13(Floor), UNARY_6_13(Sqrt), UNARY_6_13(Exp), UNARY_6_13(Log), UNARY_6_13(Tanh), UNARY_6_13(Reciprocal), UNARY_6_13(Sigmoid),
  UNARY_22(Round, 11),
  UNARY_22(Sin, 7), UNARY_22(Cos, 7), UNARY_22(Tan, 7), UNARY_22(Asin, 7), UNARY_22(Acos, 7), UNARY_22(Atan, 7),
  UNARY_22(Sinh, 9), UNARY_22(Cosh, 9), UNARY_22(Asinh, 9), UNARY_22(Acosh, 9), UNARY_22(Atanh, 9),
  {.name = "Not", .since = 1, .signature = "X:bool -> Y:bool", .flags = OP_LAYOUT_ANY, .inplace = 1, .prepare = elementwise_prepare, .run = elementwise_run},
  {0}};
