/* Copies between the host and the session's device, which placement puts into the graph (plan/placement.h) and exec/transfer.c carries out. On
 * the CPU, where both sides are one, they are views. */
#include <ortcore/ops/op.h>

static status transfer_infer(infer_ctx *c) {
  *c->out[0] = *c->in[0];
  return OK;
}

static status transfer_run(kernel_ctx *k) { return kernel_view(k, 0, 0, k->in[0]->rank, k->in[0]->dims); }

#define TRANSFER(called) \
  {.name = called, .domain = "ortcore", .since = 1, .signature = "X:T -> Y:T", .T = TS_ALL_FIXED, .flags = OP_TRANSFER, .infer = transfer_infer, .run = transfer_run}

OP_FAMILY(transfer) = {TRANSFER("MemcpyFromHost"), TRANSFER("MemcpyToHost"), {0}};
