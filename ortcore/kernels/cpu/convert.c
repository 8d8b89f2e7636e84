#include <ortcore/kernels/cpu/convert.h>

#include <ortcore/base/half.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/copy.h>
#include <string.h>

enum {
  BLOCK = 512,                                             /* elements on their way through the native types; whole bytes of every packed type */
  GRAIN_DIRECT = 1 << 17, GRAIN_STAGED = 1 << 13,
};

#define TS_SMALL_FLOAT (TS_FLOAT8 | TS(FLOAT8E8M0) | TS(FLOAT4E2M1) | TS(FLOAT6E2M3) | TS(FLOAT6E3M2))

dtype convert_native(dtype type) {
  if (typeset_has(TS(INT4) | TS(INT2), type)) return ORTC_INT8;
  if (typeset_has(TS(UINT4) | TS(UINT2), type)) return ORTC_UINT8;
  return typeset_has(TS_SMALL_FLOAT, type) ? ORTC_FLOAT : type;
}

void convert_load(dtype type, const void *data, int64_t begin, int64_t n, void *out) {
  int bits = dtype_bits(type);
  if (bits >= 8) {
    const char *from = (const char *)data + begin * (bits / 8);
    convert_fn load = convert_native(type) == type ? NULL : convert_find(type, ORTC_FLOAT);
    if (load) load(from, out, n);
    else memcpy(out, from, (size_t)(n * (bits / 8)));
    return;
  }
  int sign = typeset_has(TS(INT4) | TS(INT2), type) ? 1 << (bits - 1) : 0;
  bool is_float = convert_native(type) == ORTC_FLOAT;
  for (int64_t i = 0; i < n; ++i) {
    int code = (int)packed_get(data, begin + i, bits);
    if (is_float) ((float *)out)[i] = minifloat_to_f32(type, (uint8_t)code);
    else ((uint8_t *)out)[i] = (uint8_t)((code ^ sign) - sign);
  }
}

void convert_store(const conversion *c, const void *in, void *data, int64_t begin, int64_t n) {
  int bits = dtype_bits(c->to);
  dtype native = convert_native(c->to);
  if (native == c->to) {
    memcpy((char *)data + begin * (bits / 8), in, (size_t)(n * (bits / 8)));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    uint8_t code;
    if (native != ORTC_FLOAT) code = ((const uint8_t *)in)[i];
    else if (c->to == ORTC_FLOAT8E8M0) code = f32_to_e8m0(((const float *)in)[i], c->saturate, c->round);
    else code = f32_to_minifloat(c->to, ((const float *)in)[i], c->saturate);
    if (bits == 8) ((uint8_t *)data)[begin + i] = code;
    else packed_put(data, begin + i, bits, code & ((1u << bits) - 1));
  }
}

typedef struct work { const conversion *c; convert_fn row; const char *in; char *out; int64_t count; } work;

static void run_direct(void *context, int64_t begin, int64_t end) {
  const work *w = context;
  w->row(w->in + begin * dtype_width(w->c->from), w->out + begin * dtype_width(w->c->to), end - begin);
}

/* To a small float in one rounding. */
static void f64_to_small(const void *in, void *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) ((float *)out)[i] = f64_to_f32_odd(((const double *)in)[i]);
}

/* In units of whole blocks, so that threads share no byte of a packed type. */
static void run_staged(void *context, int64_t begin, int64_t end) {
  const work *w = context;
  const conversion *c = w->c;
  double from[BLOCK], to[BLOCK];                           /* wide enough for any native type */
  bool odd = c->from == ORTC_DOUBLE && typeset_has(TS_SMALL_FLOAT, c->to);
  convert_fn row = odd ? f64_to_small : convert_find(convert_native(c->from), convert_native(c->to));
  for (int64_t i = begin * BLOCK; i < end * BLOCK && i < w->count; i += BLOCK) {
    int64_t n = w->count - i < BLOCK ? w->count - i : BLOCK;
    convert_load(c->from, w->in, i, n, from);
    row(from, to, n);
    convert_store(c, to, w->out, i, n);
  }
}

void convert_elements(int threads, const conversion *c, const void *in, void *out, int64_t count) {
  if (count == 0) return;
  work w = {c, convert_find(c->from, c->to), in, out, count};
  if (c->from == c->to) {
    copy_bytes(threads, out, in, ((size_t)count * (size_t)dtype_bits(c->to) + 7) / 8);
  } else if (w.row) {
    if (count <= GRAIN_DIRECT) run_direct(&w, 0, count);
    else parallel_for(threads, count, GRAIN_DIRECT, run_direct, &w);
  } else {
    if (dtype_bits(c->to) < 8) memset((char *)out + ((size_t)count * (size_t)dtype_bits(c->to) + 7) / 8 - 1, 0, 1);   /* bits after the last element */
    parallel_for(threads, (count + BLOCK - 1) / BLOCK, GRAIN_STAGED / BLOCK, run_staged, &w);
  }
}
