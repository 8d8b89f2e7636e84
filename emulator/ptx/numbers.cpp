/* The rarer and longer functions of numbers.h. */
#include <emulator/ptx/numbers.h>

namespace emulator {

u32 reverse_bits(u32 x) {
  u32 reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
  return reversed;
}

u64 reverse_bits(u64 x) { return u64(reverse_bits(u32(x))) << 32 | reverse_bits(u32(x >> 32)); }

/* Selectors of each mode by the two low bits of c, one hexadecimal digit a byte. */
u32 permute_bytes(permutation mode, u32 a, u32 b, u32 c) {
  static const u16 selectors[][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543},                      /* f4e: four bytes forward from c */
    {0x5670, 0x6701, 0x7012, 0x0123},                      /* b4e: backward */
    {0x0000, 0x1111, 0x2222, 0x3333},                      /* rc8: one byte four times */
    {0x3210, 0x3211, 0x3222, 0x3333},                      /* ecl: clamped from the left */
    {0x0000, 0x1110, 0x2210, 0x3210},                      /* ecr: from the right */
    {0x1010, 0x3232, 0x1010, 0x3232},                      /* rc16: one half twice */
  };
  return permute_bytes(a, b, selectors[static_cast<int>(mode)][c & 3]);
}

}  // namespace emulator
