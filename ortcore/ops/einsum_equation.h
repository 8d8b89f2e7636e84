/* The equation of Einsum: which label stands at which dim of each term. */
#ifndef ORTCORE_OPS_EINSUM_EQUATION_H
#define ORTCORE_OPS_EINSUM_EQUATION_H

#include <ortcore/ops/op.h>

/* Labels are numbers: 0..51 are A-Z and a-z, from 52 on come the dims that "..." stands for, outermost first. */
enum { LETTERS = 52, LABELS = LETTERS + MAX_RANK, EINSUM_INPUTS = 32, TERM_DIMS = LABELS };

typedef struct einsum_term { int rank; int labels[TERM_DIMS]; } einsum_term;

typedef struct einsum {
  int inputs;
  einsum_term in[EINSUM_INPUTS], out;
  dim dims[LABELS];                                         /* of each label; 0 for labels that do not occur */
  bool used[LABELS];
} einsum;

/* Reads the equation for inputs of these shapes; all ranks must be known. */
status einsum_read(const char *equation, int inputs, const int *ranks, const dim *const *dims, einsum *out) MUST_CHECK;

#endif
