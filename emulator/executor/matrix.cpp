#include <emulator/executor/matrix.h>
#include <emulator/ptx/halves.h>
#include <string.h>

namespace emulator {

namespace {

constexpr unsigned kRows = 16, kColumns = 8, kMostDepth = 32;

struct mma_part {
  mma_kind kind;
  const uint32_t *a, *b;
  uint32_t *c;
};

/* Elements of one register. */
constexpr unsigned packed(element e) { return e == element::tf32 ? 1 : e == element::f16 || e == element::bf16 ? 2 : 4; }

template <element E> auto element_of(uint32_t bits, unsigned i) {
  if constexpr (E == element::f16) return f32(f16{u16(bits >> 16 * i)});
  else if constexpr (E == element::bf16) return f32(bf16{u16(bits >> 16 * i)});
  else if constexpr (E == element::tf32) return as_f32(bits & 0xffffe000);
  else if constexpr (E == element::s8) return s32(s8(bits >> 8 * i));
  else return s32(u8(bits >> 8 * i));
}

const mma_part *part_of(const warp_meeting *m, unsigned lane) { return static_cast<const mma_part *>(m->lanes[lane]); }

/* Lane 4g + t has rows g and g + 8 of a, and column g of b; along the depth it has element t of each four, a register being one element. */
template <element E, class T> void gather_a(const warp_meeting *m, T (*a)[kMostDepth]) {
  constexpr unsigned n = packed(E);
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    const mma_part *part = part_of(m, lane);
    for (unsigned r = 0; r < part->kind.a_registers; ++r) {
      T *to = &a[lane / 4 + 8 * (r & 1)][n * (lane % 4) + 4 * n * (r >> 1)];
      for (unsigned i = 0; i < n; ++i) to[i] = element_of<E>(part->a[r], i);
    }
  }
}

template <element E, class T> void gather_b(const warp_meeting *m, T (*b)[kColumns]) {
  constexpr unsigned n = packed(E);
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    const mma_part *part = part_of(m, lane);
    for (unsigned r = 0; r < part->kind.a_registers / 2; ++r) {
      for (unsigned i = 0; i < n; ++i) b[n * (lane % 4) + 4 * n * r + i][lane / 4] = element_of<E>(part->b[r], i);
    }
  }
}

/* Of c, lane 4g + t has columns 2t and 2t + 1 of rows g and g + 8. */
template <class T> void add_product(T (*c)[kColumns], const T (*a)[kMostDepth], const T (*b)[kColumns], unsigned depth) {
  for (unsigned row = 0; row < kRows; ++row) {
    T sums[kColumns];
    memcpy(sums, c[row], sizeof sums);
    for (unsigned k = 0; k < depth; ++k) {
      for (unsigned j = 0; j < kColumns; ++j) sums[j] += a[row][k] * b[k][j];
    }
    memcpy(c[row], sums, sizeof sums);
  }
}

template <class T> void exchange_c(const warp_meeting *m, T (*c)[kColumns], bool out) {
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    uint32_t *own = part_of(m, lane)->c;
    for (unsigned half = 0; half < 2; ++half) {
      T *cells = &c[lane / 4 + 8 * half][2 * (lane % 4)];
      if (out) memcpy(own + 2 * half, cells, 8);
      else memcpy(cells, own + 2 * half, 8);
    }
  }
}

void exchange_half_c(const warp_meeting *m, f32 (*c)[kColumns], bool out) {
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    uint32_t *own = part_of(m, lane)->c;
    for (unsigned half = 0; half < 2; ++half) {
      f32 *cells = &c[lane / 4 + 8 * half][2 * (lane % 4)];
      if (out) own[half] = make_pair(to_f16(cells[0]), to_f16(cells[1])).bits;
      else for (unsigned i = 0; i < 2; ++i) cells[i] = element_of<element::f16>(own[half], i);
    }
  }
}

template <element E> void combine_floats(const warp_meeting *m) {
  alignas(32) f32 a[kRows][kMostDepth], b[kMostDepth][kColumns], c[kRows][kColumns];
  const mma_kind kind = part_of(m, 0)->kind;
  bool half = kind.c == accumulator::f16;
  gather_a<E>(m, a);
  gather_b<E>(m, b);
  half ? exchange_half_c(m, c, false) : exchange_c(m, c, false);
  add_product(c, a, b, 2 * kind.a_registers * packed(E));
  half ? exchange_half_c(m, c, true) : exchange_c(m, c, true);
}

void combine_bytes(const warp_meeting *m) {
  alignas(32) s32 a[kRows][kMostDepth], b[kMostDepth][kColumns], c[kRows][kColumns];
  const mma_kind kind = part_of(m, 0)->kind;
  kind.a == element::s8 ? gather_a<element::s8>(m, a) : gather_a<element::u8>(m, a);
  kind.b == element::s8 ? gather_b<element::s8>(m, b) : gather_b<element::u8>(m, b);
  exchange_c(m, c, false);
  add_product(c, a, b, 2 * kind.a_registers * packed(element::s8));
  exchange_c(m, c, true);
}

}  // namespace

void multiply_matrices(mma_kind kind, const uint32_t *a, const uint32_t *b, uint32_t *c, unsigned ordinal, unsigned place) {
  mma_part part = {kind, a, b, c};
  warp_function combine = kind.a == element::f16 ? combine_floats<element::f16> : kind.a == element::bf16 ? combine_floats<element::bf16>
                        : kind.a == element::tf32 ? combine_floats<element::tf32> : combine_bytes;
  meet(kAllLanes, &part, combine, ordinal, place);
}

/* --- ldmatrix --- */

namespace {

struct row_part {
  uint64_t row;
  unsigned count;
  uint32_t *parts;
};

/* Row r of matrix i, 8 elements of 16 bits; the address is that of lane 8i + r. */
const uint16_t *row_of(const warp_meeting *m, unsigned i) {
  return reinterpret_cast<const uint16_t *>(static_cast<const row_part *>(m->lanes[i])->row);
}

template <bool TRANSPOSED> void combine_rows(const warp_meeting *m) {
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    row_part *me = static_cast<row_part *>(m->lanes[lane]);
    for (unsigned i = 0; i < me->count; ++i) {
      unsigned at = lane / 4, pair = 2 * (lane % 4);
      uint32_t first = TRANSPOSED ? row_of(m, 8 * i + pair)[at] : row_of(m, 8 * i + at)[pair];
      uint32_t second = TRANSPOSED ? row_of(m, 8 * i + pair + 1)[at] : row_of(m, 8 * i + at)[pair + 1];
      me->parts[i] = first | second << 16;
    }
  }
}

void load_rows(warp_function combine, uint64_t row, unsigned count, uint32_t *parts, unsigned ordinal, unsigned place) {
  if (lane() < 8 * count) load_at(row, 16, place);
  row_part part = {row, count, parts};
  meet(kAllLanes, &part, combine, ordinal, place);
}

}  // namespace

void load_matrices(uint64_t row, unsigned count, uint32_t *parts, unsigned ordinal, unsigned place) {
  load_rows(combine_rows<false>, row, count, parts, ordinal, place);
}
void load_matrices_transposed(uint64_t row, unsigned count, uint32_t *parts, unsigned ordinal, unsigned place) {
  load_rows(combine_rows<true>, row, count, parts, ordinal, place);
}

}  // namespace emulator
