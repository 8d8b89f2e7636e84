#include <ortcore/kernels/cpu/trees.h>
#include <string.h>

enum { TOGETHER = 8, DEEP = 64 };                            /* trees that are walked at once, if they have that many nodes on the average */

#define T float
#define NAME(f) f##_f32
#define WEIGHT(w) ((w)->weight)
#include <ortcore/kernels/cpu/trees_type.h>
#define T double
#define NAME(f) f##_f64
#define WEIGHT(w) ((w)->wide)
#include <ortcore/kernels/cpu/trees_type.h>
