/* Work, and the streams that hold it until something needs it done.
 *
 * Nothing runs when it is enqueued (unless the policy is eager). A function that waits runs what it waits for: under the policy "starve" no
 * operation more than that, under "random" operations of all streams in an order that the seed determines. Either is an order in which a
 * device could run them. */
#ifndef EMULATOR_RUNTIME_SCHEDULER_H
#define EMULATOR_RUNTIME_SCHEDULER_H

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <emulator/runtime/clock.h>
#include <emulator/runtime/cuda_api.h>

namespace emulator {

struct device;
struct stream;
struct capture;
struct graph_node;
struct operation;

/* A point in a stream: the operation with that number and all before it. */
struct mark {
  std::shared_ptr<stream> on;
  uint64_t sequence = 0;
  bool reached() const;
};

/* Memory that an operation reads or writes. */
struct span {
  uint64_t address;
  size_t bytes;
  bool write;
  bool certain = true;              /* false: eight bytes that look like an address, but may be padding of a struct */
};

/* What one operation does; the same object serves each launch of the graph that it is a node of. */
struct work {
  virtual ~work() = default;
  virtual cudaGraphNodeType type() const = 0;
  /* For findings: "kernel softmax", "cudaMemcpyAsync of 16 bytes from host to device". */
  virtual std::string describe() const = 0;
  /* Device memory that it is given; for kernels the addresses among the arguments, with 0 bytes. */
  virtual void spans(std::vector<span> *out) const { (void)out; }
  /* Not cudaSuccess: the device fails with it for good. Called with the lock held and device memory open. */
  virtual cudaError_t run(stream &on, const operation &op) const = 0;
  /* It was enqueued: what has to be counted, and pinned memory that has to be protected until it runs. */
  virtual void enqueued(stream &on, operation *op) const { (void)on, (void)op; }
};

struct operation {
  uint64_t id;                                              /* unique in the process, in the order of enqueueing */
  std::shared_ptr<const work> what;
  std::vector<mark> waits;
  vector_clock after;                                       /* with race_check */
  std::vector<uint64_t> protections;                        /* of pinned memory, while it is pending */
};

struct stream {
  uint64_t number;                                          /* what findings call it; 0: a device's default stream */
  device *owner;
  unsigned flags;
  int priority;
  cudaStream_t handle;
  uint32_t lane;                                            /* in vector clocks */
  bool is_default = false;
  bool busy = false;                                        /* an operation of it runs; a host function without the lock */
  bool destroyed = false;                                   /* lives on until its work is done */
  std::deque<operation> queue;
  uint64_t enqueued = 0, finished = 0;
  vector_clock clock;
  std::shared_ptr<capture> capturing;
  std::vector<std::shared_ptr<graph_node>> frontier;        /* while capturing: what the next node depends on */

  bool blocking() const { return !(flags & cudaStreamNonBlocking); }
  std::string describe() const;                             /* "stream 2", "the default stream of device 0" */
};

/* Objects of the whole process are never destroyed, here and elsewhere in the runtime: a program may free its memory when it exits.
 *
 * This one guards everything; held by every function of the runtime while it does something. */
extern std::mutex lock;

/* The end of what is enqueued on a stream. */
mark end_of(const std::shared_ptr<stream> &s);
/* Work goes to the end of a stream, after `waits` and after what default streams imply. */
mark enqueue(const std::shared_ptr<stream> &s, std::shared_ptr<const work> what, std::vector<mark> waits = {});
/* The host waits. */
void run_until(const mark &m);
void run_all_of(device &d);
/* One operation that `m` needs, perhaps: what a query sees of a device that works on its own. */
void make_some_progress(const mark &m);
/* Forgets what is enqueued. */
void drop_all_work();
uint32_t new_lane();
/* What the host knows to be done. */
extern vector_clock &host_clock;
/* Whether that is everything that was ever enqueued. */
bool host_knows_all();

/* Every stream that lives or has work left, default streams included. */
const std::vector<std::shared_ptr<stream>> &all_streams();
void add_stream(const std::shared_ptr<stream> &s);
/* For findings. */
std::string name_of(const operation &op, const stream &s);

}  // namespace emulator

#endif
