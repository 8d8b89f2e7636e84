/* Element types and sets of them. A dtype is ONNX's number (ortc_element_type). */
#ifndef ORTCORE_BASE_DTYPE_H
#define ORTCORE_BASE_DTYPE_H

#include <ortcore.h>
#include <stdbool.h>

typedef ortc_element_type dtype;

int dtype_bits(dtype type);                                /* 0: unknown. Strings: 64 (a handle, see value/string.h) */
int dtype_width(dtype type);                               /* bytes of one element; 0 for the packed sub-byte types */
const char *dtype_name(dtype type);                        /* "float", "uint8", "float16", "double", "bfloat16", "string"... */
dtype dtype_from_name(const char *name, size_t bytes);     /* UNDEFINED if unknown */
/* Bytes of `count` packed elements; false on overflow, a negative count or an unknown type. */
bool dtype_bytes(dtype type, int64_t count, size_t *out_bytes);

/* Sets of dtypes, one bit a type. */
typedef uint32_t typeset;
#define TS(type) ((typeset)1 << ORTC_##type)
#define TS_SIGNED (TS(INT8) | TS(INT16) | TS(INT32) | TS(INT64))
#define TS_UNSIGNED (TS(UINT8) | TS(UINT16) | TS(UINT32) | TS(UINT64))
#define TS_INTEGER (TS_SIGNED | TS_UNSIGNED)
#define TS_HALF (TS(FLOAT16) | TS(BFLOAT16))
#define TS_FLOAT (TS(FLOAT) | TS(DOUBLE) | TS_HALF)
#define TS_FLOAT8 (TS(FLOAT8E4M3FN) | TS(FLOAT8E4M3FNUZ) | TS(FLOAT8E5M2) | TS(FLOAT8E5M2FNUZ))
#define TS_NUMERIC (TS_INTEGER | TS_FLOAT)
#define TS_COMPLEX (TS(COMPLEX64) | TS(COMPLEX128))
#define TS_INDEX (TS(INT32) | TS(INT64))
#define TS_SUBBYTE (TS(UINT4) | TS(INT4) | TS(FLOAT4E2M1) | TS(UINT2) | TS(INT2) | TS(FLOAT6E2M3) | TS(FLOAT6E3M2))
#define TS_ALL_FIXED (TS_NUMERIC | TS(BOOL) | TS_COMPLEX | TS_FLOAT8 | TS(FLOAT8E8M0) | TS_SUBBYTE)
#define TS_ALL (TS_ALL_FIXED | TS(STRING))

static inline bool typeset_has(typeset set, dtype type) { return type > 0 && type < ORTC_ELEMENT_TYPE_COUNT && (set >> type & 1); }

#endif
