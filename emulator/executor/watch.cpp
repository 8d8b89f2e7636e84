#include <cxxabi.h>
#include <emulator/executor/scheduler.h>
#include <emulator/executor/watch.h>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utility>
#include <vector>

namespace emulator {

namespace {

/* A byte of shared memory: who wrote and who read it last, and when. */
struct shared_byte {
  unsigned write_interval, write_warp_interval, write_place, read_interval, read_warp_interval, read_place;
  int writer, reader;                                      /* threads; -1: nobody, -2: several readers */
  bool atomic;                                             /* the write was part of an atomic operation */
};

const observer *watcher;
uint64_t block_index;
unsigned last_place;                                       /* of the running thread, or of one before it */
uint64_t last_address;
std::vector<shared_byte> shared_bytes;
std::set<std::pair<unsigned, unsigned>> reported;          /* pairs of places, in the grid that runs */

unsigned warp_interval() { return grid.warp_interval[device.index / kWarp]; }

/* Two accesses are ordered by a barrier between them, or if both are of one thread, or of one warp with a __syncwarp() between them. */
bool ordered(int thread, unsigned interval, unsigned their_warp_interval) {
  if (thread == -1 || interval != grid.interval || thread == static_cast<int>(device.index)) return true;
  return thread >= 0 && static_cast<unsigned>(thread) / kWarp == device.index / kWarp && their_warp_interval != warp_interval();
}

void report_race(const shared_byte *byte, uint64_t offset, bool other_wrote, bool writes, unsigned place) {
  unsigned other = other_wrote ? byte->write_place : byte->read_place;
  if (!reported.insert({other < place ? other : place, other < place ? place : other}).second) return;
  char message[600], where[300], there[120];
  last_place = place;
  describe_thread(where, sizeof where);
  describe_place(other, there, sizeof there);
  int thread = other_wrote ? byte->writer : byte->reader;
  char who[40] = "several threads";
  if (thread >= 0) snprintf(who, sizeof who, "thread %d", thread);
  snprintf(message, sizeof message, "%s: %s byte %llu of shared memory, which %s %s at %s, with no barrier between them", where, writes ? "writes" : "reads",
           static_cast<unsigned long long>(offset), who, other_wrote ? "wrote" : "read", there);
  watcher->shared_race(watcher->self, message);
}

void watch_shared(uint64_t offset, unsigned bytes, access_kind kind, unsigned place) {
  bool writes = kind != access_kind::read, atomic = kind == access_kind::atomic;
  int self = static_cast<int>(device.index);
  for (uint64_t i = offset; i < offset + bytes && i < shared_bytes.size(); ++i) {
    shared_byte *b = &shared_bytes[i];
    bool after_write = ordered(b->writer, b->write_interval, b->write_warp_interval) || (atomic && b->atomic);
    if (!after_write) report_race(b, i, true, writes, place);
    else if (writes && !ordered(b->reader, b->read_interval, b->read_warp_interval)) report_race(b, i, false, true, place);
    if (writes) {
      b->writer = self;
      b->write_interval = grid.interval;
      b->write_warp_interval = warp_interval();
      b->write_place = place;
      b->atomic = atomic;
    } else {
      bool shared_read = b->reader != -1 && b->reader != self && b->read_interval == grid.interval;
      b->reader = shared_read ? -2 : self;
      b->read_interval = grid.interval;
      b->read_warp_interval = warp_interval();
      b->read_place = place;
    }
  }
}

}  // namespace

void set_observer(const observer *o) { watcher = o; }

uint64_t watch_begin_grid() {
  last_place = 0;
  last_address = 0;
  reported.clear();
  return watcher ? kWatchAccesses | kWatchPlaces : 0;
}

void watch_begin_block(uint64_t block) {
  block_index = block;
  last_place = 0;
  if (watcher && watcher->shared_race) shared_bytes.assign(device.shared_bytes, {0, 0, 0, 0, 0, 0, -1, -1, false});
  else shared_bytes.clear();
}

void watch_place(unsigned place) { last_place = place; }
uint64_t watched_address() { return last_address; }

void note_access(uint64_t address, unsigned bytes, access_kind kind, unsigned place) {
  last_place = place;
  last_address = address;
  if (address & (bytes - 1)) {
    stop_kernel(fault_kind::misaligned_address, address, "%u bytes are accessed at 0x%llx, which is not a multiple of %u", bytes,
                static_cast<unsigned long long>(address), bytes);
  }
  if (!(device.watching & kWatchAccesses) || on_own_stack(address)) return;
  if (is_shared(address)) {
    if (watcher->shared_race) watch_shared(address - reinterpret_cast<uint64_t>(device.shared), bytes, kind, place);
  } else if (watcher->global_access) {
    const char *file = grid.image->files[place >> kPlaceLineBits];
    access a = {address, bytes, kind, grid.image->name, *file ? file : nullptr, place & ((1u << kPlaceLineBits) - 1), block_index, device.index, grid.interval};
    watcher->global_access(watcher->self, &a);
  }
}

bool is_local(uint64_t address) { return on_own_stack(address); }

void describe_place(unsigned place, char *text, size_t size) {
  unsigned line = place & ((1u << kPlaceLineBits) - 1);
  if (line) snprintf(text, size, "%s:%u", grid.image->files[place >> kPlaceLineBits], line);
  else snprintf(text, size, "an unknown line");
}

void describe_kernel(char *text, size_t size) {
  int error = 0;
  char *readable = abi::__cxa_demangle(grid.image->name, nullptr, nullptr, &error);
  snprintf(text, size, "%s", readable ? readable : grid.image->name);
  free(readable);
  char *parameters = strchr(text, '(');                    /* but not that of (anonymous namespace) */
  while (parameters && strncmp(parameters, "(anonymous", 10) == 0) parameters = strchr(parameters + 1, '(');
  if (parameters) *parameters = 0;
}

void describe_thread(char *text, size_t size) {
  char kernel[160], place[120] = "";
  describe_kernel(kernel, sizeof kernel);
  if (last_place) describe_place(last_place, place, sizeof place);
  snprintf(text, size, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u)%s%s", kernel, device.block.x, device.block.y, device.block.z, device.thread.x,
           device.thread.y, device.thread.z, *place ? ", " : "", place);
}

}  // namespace emulator
