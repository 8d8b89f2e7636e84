/* The element types that both sides of a product are packed from: matrices and images alike. Before inclusion: PACK, the header with the loop for one
 * type, which takes T, ACC (what the sums are of), LD(x) and NAME(x). */
#define T float
#define ACC float
#define LD(x) (x)
#define NAME(x) f32_##x
#include PACK
#define T f16
#define ACC float
#define LD(x) f16_to_f32(x)
#define NAME(x) f16_##x
#include PACK
#define T bf16
#define ACC float
#define LD(x) bf16_to_f32(x)
#define NAME(x) bf16_##x
#include PACK
#define T double
#define ACC double
#define LD(x) (x)
#define NAME(x) f64_##x
#include PACK
#define T uint8_t
#define ACC uint32_t
#define LD(x) ((uint32_t)(x))
#define NAME(x) u8_##x
#include PACK
#define T int8_t
#define ACC uint32_t
#define LD(x) ((uint32_t)(int32_t)(x))
#define NAME(x) i8_##x
#include PACK
#undef PACK
