/* Instructions in which lanes of a warp take part together. Each lane brings its operands and waits; the last one computes the results of all. */
#ifndef EMULATOR_EXECUTOR_WARP_H
#define EMULATOR_EXECUTOR_WARP_H

#include <emulator/executor/device.h>

namespace emulator {

/* All lanes of a mask that have come, as one of them sees them. */
struct warp_meeting {
  unsigned mask;                                           /* lanes that are there; those that have ended are not */
  void *lanes[kWarp];                                      /* what each brought; NULL outside the mask */
};
typedef void (*warp_function)(const warp_meeting *);

/* Returns when every lane of `mask` has come with the same function and `combine` has run, which reads and writes what the lanes brought. */
void meet(unsigned mask, void *brought, warp_function combine, unsigned ordinal, unsigned place);

/* bar.warp.sync; lanes may wait at different ones. */
void sync_warp(unsigned mask, unsigned ordinal, unsigned place);

enum class shuffle_mode : unsigned char { up, down, bfly, idx };
/* `b` is the lane or the distance, `c` the clamp in its low 5 bits and the mask of segments above it: shfl.sync's own operands. */
uint32_t shuffle(shuffle_mode mode, uint32_t value, uint32_t b, uint32_t c, uint32_t mask, bool *out_valid, unsigned ordinal, unsigned place);

enum class vote_test : unsigned char { all, any, uni };
uint32_t ballot(bool predicate, uint32_t mask, unsigned ordinal, unsigned place);
bool vote(vote_test test, bool predicate, uint32_t mask, unsigned ordinal, unsigned place);

/* Lanes with an equal value; match_all gives the whole mask or 0. */
uint32_t match_any(uint64_t value, uint32_t mask, unsigned ordinal, unsigned place);
uint32_t match_all(uint64_t value, uint32_t mask, unsigned ordinal, unsigned place);

uint32_t reduce_add(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place);
uint32_t reduce_and(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place);
uint32_t reduce_or(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place);
uint32_t reduce_xor(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place);
uint32_t reduce_min(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place);
uint32_t reduce_max(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place);
int32_t reduce_min(int32_t value, uint32_t mask, unsigned ordinal, unsigned place);
int32_t reduce_max(int32_t value, uint32_t mask, unsigned ordinal, unsigned place);
inline int32_t reduce_add(int32_t value, uint32_t mask, unsigned ordinal, unsigned place) {
  return static_cast<int32_t>(reduce_add(static_cast<uint32_t>(value), mask, ordinal, place));
}

/* ldmatrix: lane 8i + r gives the address of row r of matrix i; each lane gets its two elements of every matrix. */
void load_matrices(uint64_t row, unsigned count, uint32_t *parts, unsigned ordinal, unsigned place);
void load_matrices_transposed(uint64_t row, unsigned count, uint32_t *parts, unsigned ordinal, unsigned place);

}  // namespace emulator

#endif
