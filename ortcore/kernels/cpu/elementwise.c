#include <ortcore/kernels/cpu/elementwise.h>
#include <string.h>

#define T uint8_t
#define SUFFIX bool
#include <ortcore/kernels/cpu/elementwise_loops.h>

UNARY_LOOP(Not, uint8_t, x == 0)
#define TRUTH(name, expression) BINARY_LOOP(name, uint8_t, expression)
ARITHMETIC_TRUTH(TRUTH)
BINARY_LOOP(Equal, uint8_t, (a != 0) == (b != 0))

const elementwise elementwise_bool[] = {CHEAP(Not) ARITHMETIC_TRUTH(CHEAP_2) CHEAP_2(Equal) {0}};

typedef struct wide { uint64_t low, high; } wide;           /* 16 bytes that are only moved */

#define WHERE(width, type) \
  MULTIVERSION static void where_w##width(void *out, const void *const *in, int64_t n, unsigned repeated, const void *params) { \
    (void)params, (void)repeated; \
    type *y = out; \
    const uint8_t *c = in[0]; \
    const type *a = in[1], *b = in[2]; \
    EACH(n) y[i] = c[i] ? a[i] : b[i]; \
  }
WHERE(1, uint8_t)
WHERE(2, uint16_t)
WHERE(4, uint32_t)
WHERE(8, uint64_t)
WHERE(16, wide)

elementwise_fn elementwise_where(int width) {
  switch (width) {
    case 1: return where_w1;
    case 2: return where_w2;
    case 4: return where_w4;
    case 8: return where_w8;
    default: return where_w16;
  }
}

const elementwise *elementwise_find(const char *op, dtype type) {
  static const elementwise *const tables[ORTC_ELEMENT_TYPE_COUNT] = {
    [ORTC_FLOAT] = elementwise_f32, [ORTC_DOUBLE] = elementwise_f64, [ORTC_BOOL] = elementwise_bool,
    [ORTC_INT8] = elementwise_i8, [ORTC_INT16] = elementwise_i16, [ORTC_INT32] = elementwise_i32, [ORTC_INT64] = elementwise_i64,
    [ORTC_UINT8] = elementwise_u8, [ORTC_UINT16] = elementwise_u16, [ORTC_UINT32] = elementwise_u32, [ORTC_UINT64] = elementwise_u64};
  for (const elementwise *e = tables[type]; e && e->op; ++e)
    if (!strcmp(e->op, op)) return e;
  return NULL;
}
