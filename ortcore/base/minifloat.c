/* The 8-, 6- and 4-bit floats. One algorithm, a row of numbers a format. */
#include <ortcore/base/half.h>

#include <math.h>
#include <ortcore.h>

typedef struct format {
  uint8_t bits, mantissa_bits, bias;
  uint8_t largest;                                         /* code of the largest finite magnitude */
  uint8_t infinity;                                        /* code that magnitudes beyond it become; 0: none, they saturate always */
  uint8_t nan;                                             /* code without sign; 0: none */
  bool unsigned_zero;                                      /* FNUZ: the code of -0 is the NaN */
} format;

static const format formats[ORTC_ELEMENT_TYPE_COUNT] = {
  [ORTC_FLOAT8E4M3FN] = {8, 3, 7, .largest = 0x7e, .infinity = 0x7f, .nan = 0x7f},
  [ORTC_FLOAT8E5M2] = {8, 2, 15, .largest = 0x7b, .infinity = 0x7c, .nan = 0x7e},
  [ORTC_FLOAT8E4M3FNUZ] = {8, 3, 8, .largest = 0x7f, .infinity = 0x80, .nan = 0x80, .unsigned_zero = true},
  [ORTC_FLOAT8E5M2FNUZ] = {8, 2, 16, .largest = 0x7f, .infinity = 0x80, .nan = 0x80, .unsigned_zero = true},
  [ORTC_FLOAT6E2M3] = {6, 3, 1, .largest = 0x1f},
  [ORTC_FLOAT6E3M2] = {6, 2, 3, .largest = 0x1f},
  [ORTC_FLOAT4E2M1] = {4, 1, 1, .largest = 0x7},
};

static float e8m0_to_f32(uint8_t code) {
  if (code == 0xff) return NAN;
  return bits_float(code ? (uint32_t)code << 23 : 0x00400000u);   /* 2^-127 is subnormal as a float */
}

float minifloat_to_f32(int type, uint8_t code) {
  if (type == ORTC_FLOAT8E8M0) return e8m0_to_f32(code);
  const format *f = &formats[type];
  uint32_t sign = (uint32_t)code >> (f->bits - 1) & 1, magnitude = code & ((1u << (f->bits - 1)) - 1);
  bool special = f->unsigned_zero ? code == f->nan : magnitude > f->largest;
  if (special) return bits_float((magnitude == f->infinity && f->infinity != f->nan ? 0x7f800000u : 0x7fc00000u) | sign << 31);
  uint32_t exponent = magnitude >> f->mantissa_bits, mantissa = magnitude & ((1u << f->mantissa_bits) - 1);
  /* The unit in the last place is a power of two, and an integer times that is exact. */
  float unit = bits_float((uint32_t)(127 - f->bias - f->mantissa_bits + (int)(exponent ? exponent : 1)) << 23);
  float value = (float)(exponent ? mantissa + (1u << f->mantissa_bits) : mantissa) * unit;
  return sign ? -value : value;
}

uint8_t f32_to_minifloat(int type, float x, bool saturate) {
  const format *f = &formats[type];
  uint32_t u = float_bits(x), a = u & 0x7fffffffu, code;
  uint32_t sign = (u >> 31) << (f->bits - 1);
  if (a > 0x7f800000u) {
    if (f->unsigned_zero) return f->nan;
    /* Formats without NaN: zero with the sign turned, which is what ml_dtypes and so the ONNX reference give. */
    return (uint8_t)(f->nan ? sign | f->nan : sign ^ 1u << (f->bits - 1));
  }
  int dropped = 23 - f->mantissa_bits, rebias = 127 - f->bias;
  if (a < (uint32_t)(rebias + 1) << 23) {
    /* Subnormal: the ulps of `magic` are the format's smallest magnitude, so the addition rounds and leaves the code in the low bits. */
    uint32_t magic = (uint32_t)(rebias + 1 + dropped) << 23;
    code = float_bits(bits_float(a) + bits_float(magic)) - magic;
  } else if (a >= 0x7f000000u) {
    code = 0x100;                                          /* beyond every format; the sum below could overflow */
  } else {
    code = (a - ((uint32_t)rebias << 23) + (1u << (dropped - 1)) - 1 + (a >> dropped & 1)) >> dropped;
  }
  if (code > f->largest) {
    if (f->unsigned_zero && !saturate) return f->nan;
    code = saturate || !f->infinity ? f->largest : f->infinity;
  }
  if (f->unsigned_zero && code == 0) return 0;
  return (uint8_t)(sign | code);
}

/* The sign is ignored. Without saturation a magnitude outside [2^-127, 2^127] is NaN. */
uint8_t f32_to_e8m0(float x, bool saturate, int round) {
  uint32_t a = float_bits(x) & 0x7fffffffu;
  if (a > 0x7f800000u) return 0xff;
  if (a < 0x00400000u) return saturate ? 0 : 0xff;
  if (a < 0x00800000u) {                                   /* [2^-127, 2^-126): the only two codes that have a subnormal float below them */
    bool up = round == 1 ? a > 0x00400000u : round == 0 && a >= 0x00600000u;
    return up ? 1 : 0;
  }
  uint32_t exponent = a >> 23, fraction = a & 0x7fffffu;
  exponent += round == 1 ? fraction != 0 : round == 0 && fraction >= 0x400000u;
  if (exponent > 0xfe) return saturate ? 0xfe : 0xff;
  return (uint8_t)exponent;
}
