#include "epilogue.h"

#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>

static inline void no_activation(const activation *f, void *x, int64_t n) { (void)f, (void)x, (void)n; }

#define T float
#define ACC float
#define LD(x) (x)
#define ST(x) (x)
#define SCALE(x) (x)
#define ACTIVATE activation_apply_f32
#define NAME(x) f32_##x
#include "epilogue_type.h"
#define T f16
#define ACC float
#define LD(x) f16_to_f32(x)
#define ST(x) f32_to_f16(x)
#define SCALE(x) (x)
#define ACTIVATE activation_apply_f32
#define NAME(x) f16_##x
#include "epilogue_type.h"
#define T bf16
#define ACC float
#define LD(x) bf16_to_f32(x)
#define ST(x) f32_to_bf16(x)
#define SCALE(x) (x)
#define ACTIVATE activation_apply_f32
#define NAME(x) bf16_##x
#include "epilogue_type.h"
#define T double
#define ACC double
#define LD(x) (x)
#define ST(x) (x)
#define SCALE(x) ((double)(x))
#define ACTIVATE activation_apply_f64
#define NAME(x) f64_##x
#include "epilogue_type.h"
#define T uint32_t
#define ACC uint32_t
#define LD(x) (x)
#define ST(x) (x)
#define SCALE(x) ((uint32_t)(int64_t)(x))
#define ACTIVATE no_activation
#define NAME(x) i32_##x
#include "epilogue_type.h"
#define T uint64_t
#define ACC uint64_t
#define LD(x) (x)
#define ST(x) (x)
#define SCALE(x) ((uint64_t)(int64_t)(x))
#define ACTIVATE no_activation
#define NAME(x) i64_##x
#include "epilogue_type.h"

bool epilogue_init(epilogue *e, dtype type) {
  *e = (epilogue){.alpha = 1, .beta = 1, .column_stride = 1};
  switch (type) {
    case ORTC_FLOAT: e->sink.store = f32_store; break;
    case ORTC_FLOAT16: e->sink.store = f16_store; break;
    case ORTC_BFLOAT16: e->sink.store = bf16_store; break;
    case ORTC_DOUBLE: e->sink.store = f64_store; break;
    case ORTC_INT32: case ORTC_UINT32: e->sink.store = i32_store; break;
    case ORTC_INT64: case ORTC_UINT64: e->sink.store = i64_store; break;
    default: return false;
  }
  return true;
}
