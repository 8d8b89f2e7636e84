/* Elementwise operators as steps of programs (kernels/program.h). */
#include <float.h>
#include <ortcore/ops/params/elementwise.h>

static bool append(program *p, const char *kernel, int a, int b, int c, elementwise_params numbers) {
  int op = program_find(kernel);
  program_step *step = op < 0 ? NULL : program_append(p, (program_op)op, a, b, c);
  if (!step) return false;
  step->p = numbers.p;
  step->q = numbers.q;
  return true;
}

bool elementwise_steps(program *p, const elementwise_step *s, int count, const int *arguments) {
  int op = program_find(s->kernel->op), given = 0, last = FROM_NOWHERE;
  bool pairs = op >= 0 && program_arity((program_op)op) == 2;
  for (int i = 0; i < count; ++i) {
    if (arguments[i] == FROM_NOWHERE) continue;
    if (++given == 1) last = arguments[i];
    if (given == 1 && pairs) continue;
    if (!append(p, s->kernel->op, last, pairs ? arguments[i] : FROM_NOWHERE, FROM_NOWHERE, s->attrs)) return false;
    last = FROM_LAST;
  }
  if (s->finish) return append(p, s->finish->op, last, FROM_NOWHERE, FROM_NOWHERE, s->finish_attrs);
  return last == FROM_LAST || append(p, "Copy", last, FROM_NOWHERE, FROM_NOWHERE, s->attrs);   /* one operand of many */
}

bool pow_steps(program *p, const pow_params *s, int base, int exponent) {
  const elementwise_params none = {0, 0};
  return s->constant.kernel ? append(p, s->constant.kernel->op, base, FROM_NOWHERE, FROM_NOWHERE, none) : append(p, "Pow", base, exponent, FROM_NOWHERE, none);
}

/* The largest finite value of a float type. Integers need no bound that is not given. */
static double limit_of(dtype type) {
  return type == ORTC_DOUBLE ? DBL_MAX : type == ORTC_FLOAT16 ? 65504 : type == ORTC_BFLOAT16 ? 0x1.fep127 : FLT_MAX;
}

bool clip_steps(program *p, const clip_params *s, dtype type, int x, int low, int high) {
  elementwise_params numbers = {-limit_of(type), limit_of(type)};
  if (s->by_attributes) numbers = (elementwise_params){(double)s->low, (double)s->high};
  if (!typeset_has(TS_INTEGER, type)) return append(p, "Clip", x, low ? low : FROM_P, high ? high : FROM_Q, numbers);
  if (low && high) return append(p, "Clip", x, low, high, numbers);
  if (low || high) return append(p, low ? "Max" : "Min", x, low ? low : high, FROM_NOWHERE, numbers);
  return append(p, "Copy", x, FROM_NOWHERE, FROM_NOWHERE, numbers);
}
