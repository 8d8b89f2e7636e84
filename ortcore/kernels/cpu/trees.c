#include <ortcore/kernels/cpu/trees.h>

#define T float
#define NAME(f) f##_f32
#define WEIGHT(w) ((w)->weight)
#include <ortcore/kernels/cpu/trees_type.h>
#define T double
#define NAME(f) f##_f64
#define WEIGHT(w) ((w)->wide)
#include <ortcore/kernels/cpu/trees_type.h>
