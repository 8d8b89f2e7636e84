#include <ortcore/base/checked.h>
#include <ortcore/base/dtype.h>

#include <string.h>

static const struct { const char *name; int bits; } types[ORTC_ELEMENT_TYPE_COUNT] = {
  [ORTC_FLOAT] = {"float", 32}, [ORTC_UINT8] = {"uint8", 8}, [ORTC_INT8] = {"int8", 8}, [ORTC_UINT16] = {"uint16", 16},
  [ORTC_INT16] = {"int16", 16}, [ORTC_INT32] = {"int32", 32}, [ORTC_INT64] = {"int64", 64}, [ORTC_STRING] = {"string", 64},
  [ORTC_BOOL] = {"bool", 8}, [ORTC_FLOAT16] = {"float16", 16}, [ORTC_DOUBLE] = {"double", 64}, [ORTC_UINT32] = {"uint32", 32},
  [ORTC_UINT64] = {"uint64", 64}, [ORTC_COMPLEX64] = {"complex64", 64}, [ORTC_COMPLEX128] = {"complex128", 128},
  [ORTC_BFLOAT16] = {"bfloat16", 16}, [ORTC_FLOAT8E4M3FN] = {"float8e4m3fn", 8}, [ORTC_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8},
  [ORTC_FLOAT8E5M2] = {"float8e5m2", 8}, [ORTC_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8}, [ORTC_UINT4] = {"uint4", 4},
  [ORTC_INT4] = {"int4", 4}, [ORTC_FLOAT4E2M1] = {"float4e2m1", 4}, [ORTC_FLOAT8E8M0] = {"float8e8m0", 8}, [ORTC_UINT2] = {"uint2", 2},
  [ORTC_INT2] = {"int2", 2}, [ORTC_FLOAT6E2M3] = {"float6e2m3", 6}, [ORTC_FLOAT6E3M2] = {"float6e3m2", 6},
};

static bool known(dtype type) { return type > ORTC_UNDEFINED && type < ORTC_ELEMENT_TYPE_COUNT; }

int dtype_bits(dtype type) { return known(type) ? types[type].bits : 0; }
int dtype_width(dtype type) { return dtype_bits(type) / 8; }
const char *dtype_name(dtype type) { return known(type) ? types[type].name : "undefined"; }

dtype dtype_from_name(const char *name, size_t bytes) {
  for (int type = 1; type < ORTC_ELEMENT_TYPE_COUNT; ++type) {
    if (strlen(types[type].name) == bytes && memcmp(types[type].name, name, bytes) == 0) return (dtype)type;
  }
  return ORTC_UNDEFINED;
}

/* Elements are packed without gaps, the first in the lowest bits; the last byte is filled up with zeros. This is how ONNX keeps raw data. */
bool dtype_bytes(dtype type, int64_t count, size_t *out_bytes) {
  uint64_t bits = (uint64_t)dtype_bits(type), whole_bytes, total;
  *out_bytes = 0;
  if (bits == 0 || count < 0) return false;
  /* Eight elements fill `bits` bytes exactly. */
  if (checked_mul((uint64_t)count / 8, bits, &whole_bytes)) return false;
  if (checked_add(whole_bytes, ((uint64_t)count % 8 * bits + 7) / 8, &total) || total > PTRDIFF_MAX) return false;
  *out_bytes = (size_t)total;
  return true;
}
