/* Signatures of operators (see ops/op.h), parsed. */
#ifndef ORTCORE_OPS_SIGNATURE_H
#define ORTCORE_OPS_SIGNATURE_H

#include <ortcore/ops/op.h>

#define MAX_PARAMETERS 40
#define TYPE_VARIABLES 7                                     /* T, T1..T5, V */

typedef struct parameter {
  char name[40];
  value_kind kind;                                           /* KIND_UNKNOWN: any kind at all */
  bool optional_type;                                        /* opt(...) around it */
  int8_t variable;                                           /* index of the type variable, or -1 */
  dtype fixed;                                               /* where there is no variable; UNDEFINED for `any` */
  bool may_be_absent;
  char repeat;                                               /* 0, '*' (one type for all) or '%' (each its own) */
} parameter;

typedef struct signature { int32_t in_count, out_count; parameter in[MAX_PARAMETERS], out[MAX_PARAMETERS]; } signature;

/* False if the text is malformed, which is a mistake in an operator's row. */
bool signature_parse(const char *text, signature *out);
typeset op_variable_types(const op_def *op, int variable);
const char *variable_name(int variable);

#endif
