/* Chains of elementwise nodes on their way to becoming one: a program whose steps name each other, without places for what is kept. */
#ifndef ORTCORE_PASSES_CHAIN_H
#define ORTCORE_PASSES_CHAIN_H

#include <ortcore/kernels/program.h>
#include <ortcore/passes/rewrite.h>

/* An argument: nothing, one of the step's numbers, the chain's input i, or the result of step i. */
enum { ARGUMENT_NONE, ARGUMENT_P, ARGUMENT_Q, ARGUMENT_INPUT, ARGUMENT_STEP = ARGUMENT_INPUT + PROGRAM_INPUTS };

typedef struct chain_step { int op, arguments[3]; double p, q; } chain_step;

typedef struct chain {
  int count, input_count;
  chain_step steps[PROGRAM_STEPS];
  int32_t inputs[PROGRAM_INPUTS];                          /* values of the graph, each once */
  int32_t reads[PROGRAM_INPUTS];                           /* operands of the chain's nodes that are that value */
} chain;

/* The chain that a node is: an elementwise operator in float arithmetic, or what an earlier fusion made. *out_is: whether it is one. */
status chain_of(rewriter *w, const node *n, chain *out, bool *out_is) MUST_CHECK;
/* Puts the chain that computes input i of `c` in front of it. False, and `c` as it was, if there is no room. */
bool chain_prepend(chain *c, int i, const chain *producer);
/* As a program: results are passed on to the next step where that is all, else kept. False if there are too few places. */
bool chain_program(const chain *c, program *out);

#endif
