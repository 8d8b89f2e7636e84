/* Barriers of a block: bar.sync, bar.arrive, bar.red. */
#include <emulator/executor/scheduler.h>
#include <emulator/executor/watch.h>
#include <utility>
#include <vector>

namespace emulator {

namespace {

constexpr unsigned kBarriers = 16;

struct barrier_record {
  unsigned count;                                          /* threads that it waits for; 0: all that have not ended */
  unsigned arrived, trues;
  unsigned ordinal, place;                                 /* of the first that arrived */
  std::vector<unsigned> waiting;
};
barrier_record barriers[kBarriers];

/* Everybody is there: all go on, and the next round begins. */
void release(barrier_record *b) {
  for (unsigned thread : b->waiting) grid.threads[thread].barrier = {b->trues, b->arrived};
  if (order_is_shuffled()) {
    for (size_t i = b->waiting.size(); i > 1; --i) std::swap(b->waiting[i - 1], b->waiting[random_below(static_cast<unsigned>(i))]);
  }
  for (unsigned thread : b->waiting) wake(thread);
  b->waiting.clear();
  b->arrived = b->trues = 0;
  ++grid.interval;
}

barrier_record *arrive(unsigned id, unsigned count, bool predicate, unsigned ordinal, unsigned place) {
  watch_place(place);
  if (id >= kBarriers) stop_kernel(fault_kind::barrier, 0, "barrier %u does not exist: there are %u", id, kBarriers);
  barrier_record *b = &barriers[id];
  if (b->arrived == 0) {
    b->count = count;
    b->ordinal = ordinal;
    b->place = place;
  } else if (b->count != count) {
    stop_kernel(fault_kind::barrier, 0, "barrier %u is waited for with %u threads here and with %u elsewhere", id, count, b->count);
  } else if (count == 0 && b->ordinal != ordinal) {
    stop_kernel(fault_kind::barrier, 0, "threads of one block wait at different __syncthreads(): %u threads are at another one, line %u", b->arrived,
                b->place & ((1u << kPlaceLineBits) - 1));
  }
  ++b->arrived;
  b->trues += predicate;
  return b;
}

bool complete(const barrier_record *b) { return b->arrived && b->arrived >= (b->count ? b->count : grid.alive); }

}  // namespace

barrier_result barrier(unsigned id, unsigned count, bool predicate, unsigned ordinal, unsigned place) {
  barrier_record *b = arrive(id, count, predicate, ordinal, place);
  unsigned self = device.index;
  b->waiting.push_back(self);
  if (complete(b)) release(b);
  suspend("__syncthreads()", place);
  return grid.threads[self].barrier;
}

void barrier_arrive(unsigned id, unsigned count, unsigned ordinal, unsigned place) {
  barrier_record *b = arrive(id, count, false, ordinal, place);
  if (complete(b)) release(b);
}

void barriers_thread_ended() {
  for (barrier_record &b : barriers) {
    if (b.count == 0 && complete(&b)) release(&b);
  }
}

void barriers_begin_block() {
  for (barrier_record &b : barriers) {
    b.waiting.clear();
    b.arrived = b.trues = 0;
  }
}

}  // namespace emulator
