#include <emulator/executor/scheduler.h>
#include <stdlib.h>
#include <utility>
#include <vector>

namespace emulator {

grid_run grid;

namespace {

struct queue {
  unsigned items[kMostThreads];
  unsigned first, count;
  void push(unsigned item) { items[(first + count++) % kMostThreads] = item; }
  unsigned pop() {
    unsigned item = items[first];
    first = (first + 1) % kMostThreads;
    --count;
    return item;
  }
};

queue ready;                                               /* woken threads */
unsigned order[kMostThreads];                              /* of first turns */
unsigned started;                                          /* threads of `order` that have had one */
schedule kind;
uint64_t random_state = 1;
context caller;
std::vector<stack *> all_stacks;
unsigned free_stacks;                                      /* all_stacks[0 .. free_stacks) carry no thread */
stack *current_stack;
uint64_t switches;

void take_turn(unsigned thread) {
  device.index = thread;
  device.thread = grid.threads[thread].position;
}

void thread_ended() {
  --grid.alive;
  grid.lanes_alive[device.index / kWarp] &= ~(1u << lane());
  if (grid.suspended == 0) return;                           /* nobody is waiting for this one's end */
  barriers_thread_ended();
  warps_thread_ended();
}

/* Runs threads that have not started, one after the other, until one of them waits and takes this stack with it. */
void carry_threads();

void place_stack(unsigned slot, stack *s) {
  all_stacks[slot] = s;
  s->slot = slot;
}

void swap_slots(unsigned i, unsigned j) {
  stack *s = all_stacks[i];
  place_stack(i, all_stacks[j]);
  place_stack(j, s);
}

stack *take_stack() {
  if (free_stacks == 0) {
    stack *created = stack_create();
    if (!created) stop_kernel(fault_kind::stack, 0, "there is no memory for the stack of another thread");
    all_stacks.push_back(created);
    place_stack(static_cast<unsigned>(all_stacks.size() - 1), created);
    swap_slots(0, created->slot);
    free_stacks = 1;
  }
  stack *s = all_stacks[--free_stacks];
  stack_prepare(s, started, carry_threads);
  return s;
}

void give_stack_back(stack *s) { swap_slots(free_stacks++, s->slot); }

void switch_to_next(context *from) {
  ++switches;
  if (ready.count) {
    unsigned thread = ready.pop();
    take_turn(thread);
    current_stack = grid.threads[thread].on;
    if (from != &grid.threads[thread].at) switch_context(from, &grid.threads[thread].at);
  } else if (started < grid.thread_count) {
    current_stack = take_stack();
    switch_context(from, &current_stack->start);
  } else {
    switch_context(from, &caller);
  }
}

void carry_threads() {
  while (started < grid.thread_count && ready.count == 0) {
    take_turn(order[started++]);
    grid.image->body(grid.params);
    thread_ended();
  }
  give_stack_back(current_stack);
  context abandoned;
  switch_to_next(&abandoned);
  abort();
}

}  // namespace

unsigned random_below(unsigned limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return static_cast<unsigned>(random_state % limit);
}

void scheduler_begin_grid(extent block, schedule how, uint64_t seed) {
  kind = how;
  random_state = seed * 0x9e3779b97f4a7c15ull + 1;
  grid.thread_count = block.x * block.y * block.z;
  grid.warp_count = (grid.thread_count + kWarp - 1) / kWarp;
  for (unsigned t = 0; t < grid.thread_count; ++t) {
    grid.threads[t].position = {t % block.x, t / block.x % block.y, t / (block.x * block.y)};
    order[t] = how == schedule::backward ? grid.thread_count - 1 - t : t;
  }
}

void scheduler_run_block() {
  grid.alive = grid.thread_count;
  grid.suspended = 0;
  grid.interval = 0;
  for (unsigned w = 0; w < grid.warp_count; ++w) {
    unsigned lanes = grid.thread_count - w * kWarp;
    grid.lanes_alive[w] = lanes >= kWarp ? kAllLanes : (1u << lanes) - 1;
  }
  if (kind == schedule::shuffled) {
    for (unsigned t = grid.thread_count; t > 1; --t) std::swap(order[t - 1], order[random_below(t)]);
  }
  barriers_begin_block();
  warps_begin_block();
  copies_begin_block();
  ready.first = ready.count = started = 0;
  free_stacks = static_cast<unsigned>(all_stacks.size());
  switch_to_next(&caller);
}

void stop_block() {
  context abandoned;
  switch_context(&abandoned, &caller);
  abort();
}

void suspend(const char *waits_for, unsigned place) {
  thread_record *self = &grid.threads[device.index];
  self->waits_for = waits_for;
  self->place = place;
  self->on = current_stack;
  ++grid.suspended;
  switch_to_next(&self->at);
  --grid.suspended;
  self->waits_for = nullptr;
}

void wake(unsigned thread) { ready.push(thread); }
bool order_is_shuffled() { return kind == schedule::shuffled; }

uint64_t switch_count() { return switches; }

static bool within(uint64_t address, const char *begin, size_t bytes) { return address - reinterpret_cast<uint64_t>(begin) < bytes; }
bool on_own_stack(uint64_t address) { return current_stack && within(address, current_stack->low, kStackBytes); }
bool in_stack_guard(uint64_t address) { return current_stack && within(address, current_stack->low - kGuardBytes, kGuardBytes); }

}  // namespace emulator
