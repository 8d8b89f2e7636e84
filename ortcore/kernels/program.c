#include <ortcore/kernels/program.h>
#include <string.h>

static const struct { const char *name; int arity; } ops[PROGRAM_OP_COUNT] = {
#define BITS(op, arity) [PROGRAM_##op] = {#op, arity},
#define ONE(op, expression) [PROGRAM_##op] = {#op, 1},
#define TWO(op, expression) [PROGRAM_##op] = {#op, 2},
#define THREE(op, expression) [PROGRAM_##op] = {#op, 3},
  PROGRAM_BITS(BITS) PROGRAM_1(ONE) PROGRAM_LONG_1(ONE) PROGRAM_2(TWO) PROGRAM_LONG_2(TWO) PROGRAM_3(THREE)};

int program_find(const char *name) {
  for (int i = 0; i < PROGRAM_OP_COUNT; ++i)
    if (strcmp(ops[i].name, name) == 0) return i;
  return -1;
}

int program_arity(program_op op) { return ops[op].arity; }
const char *program_name(program_op op) { return ops[op].name; }

program_step *program_append(program *p, program_op op, int a, int b, int c) {
  if (p->count == PROGRAM_STEPS) return NULL;
  program_step *s = &p->steps[p->count++];
  *s = (program_step){.op = (uint8_t)op, .from = {(uint8_t)a, (uint8_t)b, (uint8_t)c}};
  return s;
}
