/* Conversion of elements from one type to another, as ONNX's Cast has it. */
#ifndef ORTCORE_KERNELS_CPU_CONVERT_H
#define ORTCORE_KERNELS_CPU_CONVERT_H

#include <ortcore/base/dtype.h>
#include <ortcore/base/status.h>
#include <ortcore/value/string.h>
#include <stdint.h>

/* n adjacent elements. */
typedef void (*convert_fn)(const void *in, void *out, int64_t n);

/* Between float, double, float16, bfloat16, bool and the integers; and from the 8-bit floats to float. NULL for other types.
 * Integers wrap. A float that is not a value of the integer type wraps like the 32 bits (for 8 and 16 bit types) or 64 bits (uint32) that
 * hold it, and beyond those gives the least integer, as the processor does. */
convert_fn convert_find(dtype from, dtype to);

typedef struct conversion {
  dtype from, to;
  bool saturate;                                           /* to float8: beyond the largest value comes that value, not infinity or NaN */
  int round;                                               /* to float8e8m0: 0 nearest, 1 up, 2 down */
} conversion;

/* All types but strings and complex numbers, the packed ones included. in and out do not overlap. */
void convert_elements(int threads, const conversion *c, const void *in, void *out, int64_t count);

/* The small types as something to compute with: the small integers are int8 or uint8, the small floats are float. Other types are themselves. */
dtype convert_native(dtype type);
/* Elements [begin, begin + n) of a tensor's data, to and from their native type. */
void convert_load(dtype type, const void *data, int64_t begin, int64_t n, void *out);
void convert_store(const conversion *c, const void *in, void *data, int64_t begin, int64_t n);

/* Text: the shortest decimal number that reads back as the same value; "NaN", "INF", "-INF". */
status convert_to_text(dtype from, const void *in, rcstr **out, int64_t count) MUST_CHECK;
status convert_from_text(const conversion *c, rcstr *const *in, void *out, int64_t count) MUST_CHECK;

#endif
