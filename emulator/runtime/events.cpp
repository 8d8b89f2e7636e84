/* Events: points of streams that others wait for, and moments that are measured. */
#include <emulator/runtime/api.h>
#include <emulator/runtime/capture.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/handles.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/streams.h>

#include <chrono>

namespace emulator {

namespace {

using moment = std::chrono::steady_clock::time_point;

struct event {
  unsigned flags;
  device *owner;
  mark recorded;                                            /* `on` NULL: never, which counts as done */
  vector_clock after;                                       /* what comes before that point */
  std::shared_ptr<moment> when;                             /* set when the point is reached */
  std::shared_ptr<capture> captured_by;                     /* last recorded in a capture */
  std::vector<std::shared_ptr<graph_node>> nodes;
};

auto &events = *new handle_table<cudaEvent_t, event>(handle_kind::event);

std::shared_ptr<event> find_event(const char *call, cudaEvent_t handle) {
  std::shared_ptr<event> e = events.find(handle);
  if (e) return e;
  if (events.was_live(handle)) {
    report("handle", "%s is given event %llu, which was destroyed", call, static_cast<unsigned long long>(events.number(handle)));
  } else {
    report("handle", "%s is given %p, which is no event", call, static_cast<void *>(handle));
  }
  return nullptr;
}

struct record_work final : work {
  std::shared_ptr<moment> when = std::make_shared<moment>();
  cudaGraphNodeType type() const override { return cudaGraphNodeTypeEventRecord; }
  std::string describe() const override { return "cudaEventRecord"; }
  cudaError_t run(stream &, const operation &) const override {
    *when = std::chrono::steady_clock::now();
    return cudaSuccess;
  }
};

struct wait_work final : work {
  cudaGraphNodeType type() const override { return cudaGraphNodeTypeWaitEvent; }
  std::string describe() const override { return "cudaStreamWaitEvent"; }
  cudaError_t run(stream &, const operation &) const override { return cudaSuccess; }
};

cudaError_t create(cudaEvent_t *out, unsigned flags) {
  constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (!out || flags & ~known) return cudaErrorInvalidValue;
  if (flags & cudaEventInterprocess) return cudaErrorNotSupported;
  auto e = std::make_shared<event>();
  e->flags = flags;
  e->owner = &current_device();
  *out = events.add(e);
  return cudaSuccess;
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream_handle, unsigned flags) {
  if (flags & ~static_cast<unsigned>(cudaEventRecordExternal)) return cudaErrorInvalidValue;
  std::shared_ptr<event> e = find_event("cudaEventRecord", handle);
  std::shared_ptr<stream> s = find_stream("cudaEventRecord", stream_handle);
  if (!e || !s) return cudaErrorInvalidResourceHandle;
  if (e->owner != s->owner) {
    report("handle", "cudaEventRecord of an event of device %d on %s, which is device %d's", e->owner->ordinal, s->describe().c_str(), s->owner->ordinal);
    return cudaErrorInvalidResourceHandle;
  }
  if (s->capturing) {
    if (s->capturing->invalidated) return cudaErrorStreamCaptureInvalidated;
    e->captured_by = s->capturing;
    e->nodes = s->frontier;
    return cudaSuccess;
  }
  auto what = std::make_shared<record_work>();
  if (cudaError_t error = submit_to("cudaEventRecord", s, what, &e->recorded)) return error;
  e->captured_by = nullptr;
  e->when = what->when;
  e->after = s->clock;
  return cudaSuccess;
}

cudaError_t wait(cudaStream_t stream_handle, cudaEvent_t handle) {
  std::shared_ptr<event> e = find_event("cudaStreamWaitEvent", handle);
  std::shared_ptr<stream> s = find_stream("cudaStreamWaitEvent", stream_handle);
  if (!e || !s) return cudaErrorInvalidResourceHandle;
  if (e->captured_by) return join_capture("cudaStreamWaitEvent", s, e->captured_by, e->nodes);
  if (!e->recorded.on) return cudaSuccess;
  if (s->capturing) {
    if (s->capturing->invalidated) return cudaErrorStreamCaptureInvalidated;
    return invalidate(*s->capturing, "cudaStreamWaitEvent", cudaErrorStreamCaptureIsolation,
                      "the event was recorded outside the capture; let the stream wait for it before the capture begins");
  }
  if (cudaError_t error = refuse_implicit("cudaStreamWaitEvent", *s)) return error;
  s->clock.join(e->after);
  if (!e->recorded.reached()) enqueue(s, std::make_shared<wait_work>(), {e->recorded});
  return cudaSuccess;
}

/* Asking about an event, or waiting for it, tells nothing if it is a point in a graph. */
cudaError_t refuse_captured(const char *call, const event &e) {
  if (!e.captured_by) return cudaSuccess;
  if (e.captured_by->invalidated) return cudaErrorStreamCaptureInvalidated;
  return invalidate(*e.captured_by, call, cudaErrorCapturedEvent, "the event was last recorded in the capture, where nothing runs");
}

cudaError_t host_wait(event &e) {
  if (cudaError_t error = refuse_captured("cudaEventSynchronize", e)) return error;
  ++counters.synchronisations;
  run_until(e.recorded);
  host_clock.join(e.after);
  return cudaSuccess;
}

cudaError_t query(event &e) {
  if (cudaError_t error = refuse_captured("cudaEventQuery", e)) return error;
  if (!e.recorded.reached()) {
    make_some_progress(e.recorded);
    return cudaErrorNotReady;
  }
  host_clock.join(e.after);
  return cudaSuccess;
}

cudaError_t elapsed(float *out, const event &from, const event &to) {
  if ((from.flags | to.flags) & cudaEventDisableTiming || !from.when || !to.when || from.captured_by || to.captured_by) {
    return cudaErrorInvalidResourceHandle;
  }
  if (!from.recorded.reached() || !to.recorded.reached()) return cudaErrorNotReady;
  *out = std::chrono::duration<float, std::milli>(*to.when - *from.when).count();
  return cudaSuccess;
}

}  // namespace

}  // namespace emulator

using namespace emulator;

cudaError_t cudaEventCreate(cudaEvent_t *out) {
  return api("cudaEventCreate", ordinary, [&] { return create(out, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  return api("cudaEventCreateWithFlags", ordinary, [&] { return create(out, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return api("cudaEventDestroy", releasing, [&] {
    if (!find_event("cudaEventDestroy", handle)) return cudaErrorInvalidResourceHandle;
    events.remove(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  return api("cudaEventRecord", ordinary, [&] { return record(handle, stream, cudaEventRecordDefault); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned flags) {
  return api("cudaEventRecordWithFlags", ordinary, [&] { return record(handle, stream, flags); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned flags) {
  return api("cudaStreamWaitEvent", ordinary, [&] {
    return flags & ~static_cast<unsigned>(cudaEventWaitExternal) ? cudaErrorInvalidValue : wait(stream, handle);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return api("cudaEventSynchronize", ordinary, [&] {
    std::shared_ptr<event> e = find_event("cudaEventSynchronize", handle);
    return e ? host_wait(*e) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return api("cudaEventQuery", unsafe_in_capture, [&] {
    std::shared_ptr<event> e = find_event("cudaEventQuery", handle);
    return e ? query(*e) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventElapsedTime(float *out, cudaEvent_t from, cudaEvent_t to) {
  return api("cudaEventElapsedTime", ordinary, [&] {
    std::shared_ptr<event> start = find_event("cudaEventElapsedTime", from), end = find_event("cudaEventElapsedTime", to);
    if (!out) return cudaErrorInvalidValue;
    return start && end ? elapsed(out, *start, *end) : cudaErrorInvalidResourceHandle;
  });
}
