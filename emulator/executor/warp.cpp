#include <emulator/executor/scheduler.h>
#include <emulator/executor/warp.h>
#include <emulator/executor/watch.h>

namespace emulator {

namespace {

constexpr uint32_t kNobodysValue = 0xcbcbcbcb;             /* what a lane gets that asks one which is not there */

/* Lanes that wait for the others of their mask. */
struct warp_group {
  unsigned mask;
  warp_function combine;                                   /* NULL: bar.warp.sync */
  unsigned ordinal, place;
  warp_meeting meeting;                                    /* its mask: who has come so far */
};

/* A waiting lane is in one group only, so there are no more groups than lanes. */
struct warp_record {
  unsigned count;
  warp_group groups[kWarp];
};
warp_record warps[kMostThreads / kWarp];

void wake_all(unsigned warp, unsigned lanes) {
  for (unsigned rest = lanes; rest; rest &= rest - 1) wake(warp * kWarp + static_cast<unsigned>(__builtin_ctz(rest)));
}

/* All have come: the results are computed, and the group is gone. */
void finish(unsigned warp, warp_group *g, unsigned who_runs) {
  if (g->combine) g->combine(&g->meeting);
  else ++grid.warp_interval[warp];
  wake_all(warp, g->meeting.mask & ~who_runs);
  *g = warps[warp].groups[--warps[warp].count];
}

void add(warp_group *g, void *brought) {
  g->meeting.mask |= 1u << lane();
  g->meeting.lanes[lane()] = brought;
}

warp_group *group_of(warp_record *w, unsigned mask, warp_function combine, unsigned ordinal, unsigned place) {
  for (unsigned i = 0; i < w->count; ++i) {
    warp_group *g = &w->groups[i];
    if (g->mask != mask) continue;
    if (g->combine != combine || (combine && g->ordinal != ordinal)) {
      stop_kernel(fault_kind::warp, 0, "lanes of one warp with the mask 0x%08x are at different instructions: others are at line %u", mask,
                  g->place & ((1u << kPlaceLineBits) - 1));
    }
    return g;
  }
  warp_group *g = &w->groups[w->count++];
  *g = {mask, combine, ordinal, place, {}};
  return g;
}

}  // namespace

void meet(unsigned mask, void *brought, warp_function combine, unsigned ordinal, unsigned place) {
  unsigned warp = device.index / kWarp, self = 1u << lane();
  watch_place(place);
  if (!(mask & self)) stop_kernel(fault_kind::warp, 0, "lane %u takes part in a warp instruction whose mask 0x%08x leaves it out", lane(), mask);
  warp_group *g = group_of(&warps[warp], mask, combine, ordinal, place);
  add(g, brought);
  if (g->meeting.mask == (mask & grid.lanes_alive[warp])) finish(warp, g, self);
  else suspend(combine ? "a warp instruction" : "__syncwarp()", place);
}

void warps_thread_ended() {
  unsigned warp = device.index / kWarp;
  warp_record *w = &warps[warp];
  for (unsigned i = w->count; i-- > 0;) {
    warp_group *g = &w->groups[i];
    if (g->meeting.mask == (g->mask & grid.lanes_alive[warp])) finish(warp, g, 0);
  }
}

void warps_begin_block() {
  for (unsigned w = 0; w < grid.warp_count; ++w) warps[w].count = grid.warp_interval[w] = 0;
}

void sync_warp(unsigned mask, unsigned ordinal, unsigned place) { meet(mask, nullptr, nullptr, ordinal, place); }

/* --- shuffles --- */

namespace {

struct shuffle_part {
  shuffle_mode mode;
  uint32_t value, b, c, result;
  bool valid;
};

void combine_shuffle(const warp_meeting *m) {
  for (unsigned i = 0; i < kWarp; ++i) {
    shuffle_part *me = static_cast<shuffle_part *>(m->lanes[i]);
    if (!me) continue;
    unsigned segments = me->c >> 8 & 31, b = me->b & 31;
    unsigned first = i & segments, last = first | (me->c & 31 & ~segments);
    unsigned from = me->mode == shuffle_mode::up ? i - b : me->mode == shuffle_mode::down ? i + b
                  : me->mode == shuffle_mode::bfly ? i ^ b : first | (b & ~segments);
    me->valid = me->mode == shuffle_mode::up ? static_cast<int>(from) >= static_cast<int>(last) : from <= last;
    if (!me->valid) from = i;
    const shuffle_part *other = static_cast<const shuffle_part *>(m->lanes[from % kWarp]);
    me->result = other ? other->value : kNobodysValue;
  }
}

}  // namespace

uint32_t shuffle(shuffle_mode mode, uint32_t value, uint32_t b, uint32_t c, uint32_t mask, bool *out_valid, unsigned ordinal, unsigned place) {
  shuffle_part part = {mode, value, b, c, 0, false};
  meet(mask, &part, combine_shuffle, ordinal, place);
  *out_valid = part.valid;
  return part.result;
}

/* --- votes, matches, reductions --- */

namespace {

struct value_part {
  uint64_t value;
  uint32_t result;
};

/* Folds the values of all lanes; every lane gets the result. */
template <class T, T FOLD(T, T)> void combine_all(const warp_meeting *m) {
  unsigned rest = m->mask;
  T total = static_cast<T>(static_cast<value_part *>(m->lanes[__builtin_ctz(rest)])->value);
  for (rest &= rest - 1; rest; rest &= rest - 1) total = FOLD(total, static_cast<T>(static_cast<value_part *>(m->lanes[__builtin_ctz(rest)])->value));
  for (rest = m->mask; rest; rest &= rest - 1) static_cast<value_part *>(m->lanes[__builtin_ctz(rest)])->result = static_cast<uint32_t>(total);
}

void combine_match_any(const warp_meeting *m) {
  for (unsigned rest = m->mask; rest; rest &= rest - 1) {
    value_part *me = static_cast<value_part *>(m->lanes[__builtin_ctz(rest)]);
    me->result = 0;
    for (unsigned others = m->mask; others; others &= others - 1) {
      unsigned i = static_cast<unsigned>(__builtin_ctz(others));
      if (static_cast<value_part *>(m->lanes[i])->value == me->value) me->result |= 1u << i;
    }
  }
}

void combine_match_all(const warp_meeting *m) {
  combine_match_any(m);
  for (unsigned rest = m->mask; rest; rest &= rest - 1) {
    value_part *me = static_cast<value_part *>(m->lanes[__builtin_ctz(rest)]);
    if (me->result != m->mask) me->result = 0;
  }
}

template <class T> T add_of(T a, T b) { return a + b; }
template <class T> T min_of(T a, T b) { return b < a ? b : a; }
template <class T> T max_of(T a, T b) { return a < b ? b : a; }
template <class T> T and_of(T a, T b) { return a & b; }
template <class T> T or_of(T a, T b) { return a | b; }
template <class T> T xor_of(T a, T b) { return a ^ b; }

uint32_t exchange(uint64_t value, uint32_t mask, warp_function combine, unsigned ordinal, unsigned place) {
  value_part part = {value, 0};
  meet(mask, &part, combine, ordinal, place);
  return part.result;
}

}  // namespace

uint32_t ballot(bool predicate, uint32_t mask, unsigned ordinal, unsigned place) {
  return exchange(predicate ? 1u << lane() : 0, mask, combine_all<uint32_t, or_of>, ordinal, place);
}

bool vote(vote_test test, bool predicate, uint32_t mask, unsigned ordinal, unsigned place) {
  if (test == vote_test::uni) return match_all(predicate, mask, ordinal, place) != 0;
  return exchange(predicate, mask, test == vote_test::all ? combine_all<uint32_t, and_of> : combine_all<uint32_t, or_of>, ordinal, place) != 0;
}

uint32_t match_any(uint64_t value, uint32_t mask, unsigned ordinal, unsigned place) { return exchange(value, mask, combine_match_any, ordinal, place); }
uint32_t match_all(uint64_t value, uint32_t mask, unsigned ordinal, unsigned place) { return exchange(value, mask, combine_match_all, ordinal, place); }

uint32_t reduce_add(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place) {
  return exchange(value, mask, combine_all<uint32_t, add_of>, ordinal, place);
}
uint32_t reduce_and(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place) {
  return exchange(value, mask, combine_all<uint32_t, and_of>, ordinal, place);
}
uint32_t reduce_or(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place) {
  return exchange(value, mask, combine_all<uint32_t, or_of>, ordinal, place);
}
uint32_t reduce_xor(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place) {
  return exchange(value, mask, combine_all<uint32_t, xor_of>, ordinal, place);
}
uint32_t reduce_min(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place) {
  return exchange(value, mask, combine_all<uint32_t, min_of>, ordinal, place);
}
uint32_t reduce_max(uint32_t value, uint32_t mask, unsigned ordinal, unsigned place) {
  return exchange(value, mask, combine_all<uint32_t, max_of>, ordinal, place);
}
int32_t reduce_min(int32_t value, uint32_t mask, unsigned ordinal, unsigned place) {
  return static_cast<int32_t>(exchange(static_cast<uint32_t>(value), mask, combine_all<int32_t, min_of>, ordinal, place));
}
int32_t reduce_max(int32_t value, uint32_t mask, unsigned ordinal, unsigned place) {
  return static_cast<int32_t>(exchange(static_cast<uint32_t>(value), mask, combine_all<int32_t, max_of>, ordinal, place));
}

}  // namespace emulator
