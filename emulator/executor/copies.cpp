/* Asynchronous copies (cp.async): they happen when their thread waits for them, as late as a device may do it. */
#include <emulator/executor/scheduler.h>
#include <string.h>
#include <vector>

namespace emulator {

namespace {

constexpr int kUnwritten = 0xcb;                           /* stands in the destination until the copy is done */

struct pending_copy {
  uint64_t to, from;
  unsigned bytes, source_bytes, place;
};
struct thread_copies {
  std::vector<pending_copy> copies;                        /* in the order in which they were asked for */
  std::vector<size_t> group_ends;                          /* indices into copies; what lies behind the last one is not committed */
};
thread_copies copies_of[kMostThreads];
bool any_copies;

void carry_out(const pending_copy &c) {
  char *to = store_at(c.to, c.bytes, c.place);
  memcpy(to, reinterpret_cast<const char *>(c.from), c.source_bytes);
  memset(to + c.source_bytes, 0, c.bytes - c.source_bytes);
}

}  // namespace

void copy_async(uint64_t to, uint64_t from, unsigned bytes, unsigned source_bytes, unsigned place) {
  if (source_bytes > bytes) source_bytes = bytes;
  memset(store_at(to, bytes, place), kUnwritten, bytes);
  if (source_bytes) {                                      /* read now as well, so that a bad address is found at its instruction */
    volatile const char *source = load_at(from, bytes, place);
    (void)source[0];
    (void)source[source_bytes - 1];
  }
  copies_of[device.index].copies.push_back({to, from, bytes, source_bytes, place});
  any_copies = true;
}

void commit_copies() {
  thread_copies *mine = &copies_of[device.index];
  mine->group_ends.push_back(mine->copies.size());
  any_copies = true;
}

void wait_for_copies(unsigned groups_left) {
  thread_copies *mine = &copies_of[device.index];
  if (mine->group_ends.size() <= groups_left) return;
  size_t groups = mine->group_ends.size() - groups_left, done = mine->group_ends[groups - 1];
  for (size_t i = 0; i < done; ++i) carry_out(mine->copies[i]);
  mine->copies.erase(mine->copies.begin(), mine->copies.begin() + static_cast<ptrdiff_t>(done));
  mine->group_ends.erase(mine->group_ends.begin(), mine->group_ends.begin() + static_cast<ptrdiff_t>(groups));
  for (size_t &end : mine->group_ends) end -= done;
}

void copies_begin_block() {
  if (!any_copies) return;
  for (thread_copies &c : copies_of) {
    c.copies.clear();
    c.group_ends.clear();
  }
  any_copies = false;
}

}  // namespace emulator
