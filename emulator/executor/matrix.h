/* mma.sync: the product of the small matrices that the lanes of a warp hold together. */
#ifndef EMULATOR_EXECUTOR_MATRIX_H
#define EMULATOR_EXECUTOR_MATRIX_H

#include <emulator/executor/warp.h>

namespace emulator {

enum class element : unsigned char { f16, bf16, tf32, s8, u8 };
enum class accumulator : unsigned char { f32, f16, s32 };

struct mma_kind {
  element a, b;
  accumulator c;
  unsigned a_registers;                                    /* of a lane: 2 or 4; b has half as many */
};

/* c += a * b, for a of 16 rows and b of 8 columns, in registers as PTX lays them out; halves of c are packed in pairs. */
void multiply_matrices(mma_kind kind, const uint32_t *a, const uint32_t *b, uint32_t *c, unsigned ordinal, unsigned place);

}  // namespace emulator

#endif
