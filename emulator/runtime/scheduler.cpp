#include <emulator/runtime/scheduler.h>

#include <emulator/runtime/devices.h>
#include <emulator/runtime/memory.h>
#include <emulator/runtime/pinned.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/settings.h>
#include <emulator/runtime/streams.h>

#include <algorithm>
#include <condition_variable>

namespace emulator {

vector_clock &host_clock = *new vector_clock;

namespace {

/* A device takes only so much; then it has to work. */
constexpr size_t kMostQueued = 4096;

uint64_t last_operation;
auto &streams = *new std::vector<std::shared_ptr<stream>>;  /* with destroyed ones that have work left */
auto &progress = *new std::condition_variable_any;          /* a host function has returned */

bool ready(const stream &s) {
  if (s.busy || s.queue.empty()) return false;
  const std::vector<mark> &waits = s.queue.front().waits;
  return std::all_of(waits.begin(), waits.end(), [](const mark &m) { return m.reached(); });
}

void settle(const operation &op) {
  for (uint64_t number : op.protections) unprotect_pinned(number);
}

void run_front(const std::shared_ptr<stream> &s) {
  operation op = std::move(s->queue.front());
  s->queue.pop_front();
  uint64_t sequence = s->finished + 1;
  s->busy = true;
  device &d = *s->owner;
  settle(op);
  if (d.failed == cudaSuccess) {
    open_device_memory();
    if (settings.race_check) begin_accesses({op.id, s->lane, &op.after, name_of(op, *s)});
    cudaError_t error = op.what->run(*s, op);
    if (settings.race_check) end_accesses();
    if (error != cudaSuccess) fail_device(d, error, name_of(op, *s));
  }
  s->busy = false;
  s->finished = std::max(s->finished, sequence);
  --counters.pending;
  progress.notify_all();
}

/* Runs one operation that `m` needs. False: a host function that it needs is running. */
bool run_needed(const mark &m) {
  mark needed = m;
  while (!needed.on->busy) {
    const std::vector<mark> &waits = needed.on->queue.front().waits;
    size_t count = waits.size(), first = count > 1 ? random_number() % count : 0, i = 0;
    while (i < count && waits[(first + i) % count].reached()) ++i;
    if (i == count) return run_front(needed.on), true;
    needed = mark(waits[(first + i) % count]);
  }
  return false;
}

/* Runs any operation that could run now. False: nothing can before a host function returns. */
bool run_any() {
  std::vector<std::shared_ptr<stream>> candidates;
  for (auto &s : streams) {
    if (ready(*s)) candidates.push_back(s);
  }
  if (candidates.empty()) return false;
  run_front(candidates[random_number() % candidates.size()]);
  return true;
}

/* Work on the default stream comes after work on all blocking streams of its device, and before theirs that follows. */
template <class F> void for_each_implied(const std::shared_ptr<stream> &s, F &&f) {
  if (!s->blocking()) return;
  if (!s->is_default) return f(s->owner->default_stream);
  for (auto &other : streams) {
    if (other != s && other->owner == s->owner && other->blocking()) f(other);
  }
}

void check_not_freed(const operation &op, const stream &s) {
  std::vector<span> spans;
  op.what->spans(&spans);
  for (const span &used : spans) {
    allocation *a = find_device_allocation(used.address);
    if (!a || !a->freed || !used.certain || used.address >= a->address + a->bytes) continue;
    report("use_after_free", "%s uses %s, which %s has freed", name_of(op, s).c_str(), describe(*a).c_str(), a->freed_by);
  }
}

void forget_finished_streams() {
  auto gone = [](const std::shared_ptr<stream> &s) { return s->destroyed && s->queue.empty() && !s->busy; };
  streams.erase(std::remove_if(streams.begin(), streams.end(), gone), streams.end());
}

}  // namespace

std::string name_of(const operation &op, const stream &s) {
  return formatted("%s (operation %llu on %s)", op.what->describe().c_str(), static_cast<unsigned long long>(op.id), s.describe().c_str());
}

bool mark::reached() const { return !on || on->finished >= sequence; }

mark end_of(const std::shared_ptr<stream> &s) { return {s, s->enqueued}; }

uint32_t new_lane() {
  static uint32_t last = 0;
  return ++last;
}

void add_stream(const std::shared_ptr<stream> &s) {
  forget_finished_streams();
  streams.push_back(s);
}

const std::vector<std::shared_ptr<stream>> &all_streams() { return streams; }

mark enqueue(const std::shared_ptr<stream> &s, std::shared_ptr<const work> what, std::vector<mark> waits) {
  operation op = {++last_operation, std::move(what), std::move(waits), {}, {}};
  for_each_implied(s, [&](const std::shared_ptr<stream> &other) {
    if (mark m = end_of(other); !m.reached()) op.waits.push_back(m);
  });
  if (settings.race_check) {
    s->clock.join(host_clock);
    for_each_implied(s, [&](const std::shared_ptr<stream> &other) { s->clock.join(other->clock); });
    s->clock.advance(s->lane);
    op.after = s->clock;
  }
  check_not_freed(op, *s);
  op.what->enqueued(*s, &op);
  s->queue.push_back(std::move(op));
  ++s->enqueued;
  ++counters.pending;
  mark end = end_of(s);
  if (settings.policy == eager) run_until(end);
  if (s->queue.size() > kMostQueued) run_until({s, s->finished + kMostQueued / 2});
  return end;
}

void run_until(const mark &m) {
  while (!m.reached()) {
    bool ran = settings.policy == random_order ? run_any() : run_needed(m);
    if (!ran) progress.wait(lock);
  }
}

void run_all_of(device &d) {
  std::vector<std::shared_ptr<stream>> now = streams;
  for (auto &s : now) {
    if (s->owner != &d) continue;
    run_until(end_of(s));
    host_clock.join(s->clock);
  }
  forget_finished_streams();
}

void make_some_progress(const mark &m) {
  if (!m.reached() && random_number() & 1) run_needed(m);
}

bool host_knows_all() {
  return std::all_of(streams.begin(), streams.end(), [](const std::shared_ptr<stream> &s) { return host_clock.at(s->lane) >= s->clock.at(s->lane); });
}

void drop_all_work() {
  for (auto &s : streams) {
    for (operation &op : s->queue) settle(op);
    counters.pending -= static_cast<int64_t>(s->queue.size());
    s->queue.clear();
    s->finished = s->enqueued;
    s->clock.clear();
  }
  host_clock.clear();
  forget_finished_streams();
  progress.notify_all();
}

}  // namespace emulator
