/* What this build can run, and on what. */
#include <ortcore/ops/op.h>
#include <ortcore/provider/provider.h>

const char *ortc_available_provider(size_t index) { return provider_available(index); }

bool ortc_get_operator(size_t index, ortc_operator *out_operator) {
  const op_def *op = op_at(index);
  *out_operator = op ? (ortc_operator){op->name, op->domain ? op->domain : "", op->since, op->signature, {op->T, op->T1, op->T2, op->T3, op->T4, op->T5, op->V}}
                     : (ortc_operator){0};
  return op != NULL;
}
