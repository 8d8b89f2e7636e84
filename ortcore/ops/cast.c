/* Cast, CastLike, BitCast: the same elements in another type. */
#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/kernels/cpu/copy.h>
#include <ortcore/ops/infer_common.h>
#include <string.h>

#define TS_6 (TS_INTEGER | TS(FLOAT) | TS(DOUBLE) | TS(FLOAT16) | TS(BOOL))
#define TS_9 (TS_6 | TS(STRING))
#define TS_13 (TS_9 | TS(BFLOAT16))
#define TS_19 (TS_13 | TS_FLOAT8)
#define TS_21 (TS_19 | TS(INT4) | TS(UINT4))
#define TS_23 (TS_21 | TS(FLOAT4E2M1))
#define TS_24 (TS_23 | TS(FLOAT8E8M0))
#define TS_25 (TS_24 | TS(INT2) | TS(UINT2))
#define TS_28 (TS_25 | TS(FLOAT6E2M3) | TS(FLOAT6E3M2))
#define TS_BITS ((TS_25 & ~TS(STRING)) | TS_COMPLEX)

static status cast_infer(infer_ctx *c) {
  if (!attr_find(c->node, "to")) return ERROR(INVALID_GRAPH, "attribute 'to' is required: it gives the type of the output");
  fact_copy_shape(c->out[0], c->in[0]);
  c->out[0]->order = c->in[0]->order;
  return infer_type_attr(c, "to", ORTC_UNDEFINED, c->op->T2);
}

static status cast_prepare(prepare_ctx *c, void **out_params) {
  static const char *const modes[] = {"nearest", "up", "down"};
  conversion *p = *out_params = ZONE_NEW(c->memory, conversion);
  if (!p) return status_out_of_memory();
  p->from = c->in[0]->type;
  p->to = c->out[0] ? c->out[0]->type : ORTC_UNDEFINED;
  p->saturate = attr_int_or(c->node, "saturate", 1) != 0;
  text round = attr_string_or(c->node, "round_mode", "up");
  for (p->round = 0; p->round < 3; ++p->round)
    if (!strcmp(round.data, modes[p->round])) return OK;
  return ERROR(INVALID_GRAPH, "attribute 'round_mode' is '%s'; it must be 'up', 'down' or 'nearest'", round.data);
}

static status cast_run(kernel_ctx *k) {
  const conversion *c = k->params;
  const tensor *in = k->in[0];
  tensor *out;
  TRY(kernel_output_like(k, 0, in, &out));
  if (!out || out->count == 0) return OK;
  if (c->from == ORTC_STRING && c->to == ORTC_STRING) {
    copy_bytes(k->threads, out->data, in->data, tensor_bytes(out));
    rcstr_retain_n(out->data, out->count);
    return OK;
  }
  if (c->from == ORTC_STRING) return convert_from_text(c, in->data, out->data, out->count);
  if (c->to == ORTC_STRING) return convert_to_text(c->from, in->data, out->data, out->count);
  convert_elements(k->threads, c, in->data, out->data, out->count);
  return OK;
}

/* ---- BitCast ---- */

static status bitcast_infer(infer_ctx *c) {
  TRY(cast_infer(c));
  dtype from = c->in[0]->type, to = c->out[0]->type;
  if (from && dtype_bits(from) != dtype_bits(to))
    return ERROR(INVALID_GRAPH, "BitCast from %s to %s: elements of %d bits cannot be seen as elements of %d bits", dtype_name(from), dtype_name(to),
                 dtype_bits(from), dtype_bits(to));
  return OK;
}

static status bitcast_run(kernel_ctx *k) {
  tensor *out;
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  if (out && out->data != k->in[0]->data) copy_bytes(k->threads, out->data, k->in[0]->data, tensor_bytes(out));
  return OK;
}

#define CAST(version, types) \
  {.name = "Cast", .since = version, .signature = "input:T1 -> output:T2", .T1 = types, .T2 = types, .flags = OP_LAYOUT_ANY, .infer = cast_infer, \
   .prepare = cast_prepare, .run = cast_run}
/* target_type is asked for its type only, and so is the output, by the signature. */
#define CAST_LIKE(version, types) \
  {.name = "CastLike", .since = version, .signature = "input:T1 target_type:T2 -> output:T2", .T1 = types, .T2 = types, .prepare = cast_prepare, \
   .run = cast_run}

OP_FAMILY(cast) = {
  CAST(6, TS_6), CAST(9, TS_9), CAST(13, TS_13), CAST(19, TS_19), CAST(21, TS_21), CAST(23, TS_23), CAST(24, TS_24), CAST(25, TS_25), CAST(28, TS_28),
  CAST_LIKE(15, TS_13), CAST_LIKE(19, TS_19), CAST_LIKE(21, TS_21), CAST_LIKE(23, TS_23), CAST_LIKE(24, TS_24), CAST_LIKE(25, TS_25),
  {.name = "BitCast", .since = 26, .signature = "input:T1 -> output:T2", .T1 = TS_BITS, .T2 = TS_BITS, .flags = OP_LAYOUT_ANY, .infer = bitcast_infer,
   .run = bitcast_run},
  {0}};
