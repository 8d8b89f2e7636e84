#include <ortcore/kernels/cpu/tree.h>
#include <string.h>

enum { ROWS_AT_ONCE = 8 };

#define T float
#define NAME(f) f##_f32
#include <ortcore/kernels/cpu/tree_type.h>
#undef T
#undef NAME

#define T double
#define NAME(f) f##_f64
#include <ortcore/kernels/cpu/tree_type.h>
