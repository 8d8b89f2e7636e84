#include <emulator/runtime/streams.h>

#include <emulator/runtime/api.h>
#include <emulator/runtime/capture.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/handles.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/settings.h>

#include <map>

namespace emulator {

namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

auto &streams_by_handle = *new handle_table<cudaStream_t, stream>(handle_kind::stream);

std::shared_ptr<stream> make_stream(device &d, unsigned flags, int priority) {
  auto s = std::make_shared<stream>();
  s->owner = &d;
  s->flags = flags;
  s->priority = std::min(kLeastPriority, std::max(kGreatestPriority, priority));
  s->lane = new_lane();
  add_stream(s);
  return s;
}

/* One for each thread and device that asks for it; a thread's streams outlive it if they have work left. */
struct per_thread_streams {
  std::map<int, std::shared_ptr<stream>> by_device;
  ~per_thread_streams() {
    std::lock_guard<std::mutex> held(lock);
    for (auto &[ordinal, s] : by_device) s->destroyed = true;
  }
};

std::shared_ptr<stream> per_thread_stream(device &d) {
  thread_local per_thread_streams own;
  std::shared_ptr<stream> &s = own.by_device[d.ordinal];
  if (!s) {
    s = make_stream(d, cudaStreamDefault, 0);
    s->handle = cudaStreamPerThread;
  }
  return s;
}

cudaError_t create(cudaStream_t *out, unsigned flags, int priority) {
  if (!out || flags & ~cudaStreamNonBlocking) return cudaErrorInvalidValue;
  std::shared_ptr<stream> s = make_stream(current_device(), flags, priority);
  s->handle = *out = streams_by_handle.add(s);
  s->number = streams_by_handle.number(*out);
  return cudaSuccess;
}

/* The older form, which is also told of the stream and its state. */
struct callback_work final : host_function_work {
  struct call {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *argument;
  } what;

  explicit callback_work(const call &c) : host_function_work(invoke, &what), what(c) {}
  static void invoke(void *self) {
    call *c = static_cast<call *>(self);
    c->function(c->stream, cudaSuccess, c->argument);
  }
};

}  // namespace

cudaError_t host_function_work::run(stream &, const operation &) const {
  close_device_memory();
  this_thread.in_host_function = true;
  lock.unlock();
  function(argument);
  lock.lock();
  this_thread.in_host_function = false;
  return cudaSuccess;
}

std::string stream::describe() const {
  if (is_default) return formatted("the default stream of device %d", owner->ordinal);
  if (handle == cudaStreamPerThread) return formatted("a per-thread stream of device %d", owner->ordinal);
  return formatted("stream %llu", static_cast<unsigned long long>(number));
}

std::shared_ptr<stream> make_default_stream(device &d) {
  std::shared_ptr<stream> s = make_stream(d, cudaStreamDefault, 0);
  s->is_default = true;
  return s;
}

std::shared_ptr<stream> find_stream(const char *call, cudaStream_t handle) {
  if (!handle || handle == cudaStreamLegacy) return current_device().default_stream;
  if (handle == cudaStreamPerThread) return per_thread_stream(current_device());
  std::shared_ptr<stream> s = streams_by_handle.find(handle);
  if (s) return s;
  if (streams_by_handle.was_live(handle)) {
    report("handle", "%s is given stream %llu, which was destroyed", call, static_cast<unsigned long long>(streams_by_handle.number(handle)));
  } else {
    report("handle", "%s is given %p, which is no stream", call, static_cast<void *>(handle));
  }
  return nullptr;
}

cudaError_t submit_to(const char *call, const std::shared_ptr<stream> &s, std::shared_ptr<const work> what, mark *out_end) {
  if (s->capturing) return add_to_capture(call, *s, std::move(what));
  if (cudaError_t error = refuse_implicit(call, *s)) return error;
  mark end = enqueue(s, std::move(what));
  if (out_end) *out_end = end;
  return cudaSuccess;
}

cudaError_t submit(const char *call, cudaStream_t handle, std::shared_ptr<const work> what) {
  std::shared_ptr<stream> s = find_stream(call, handle);
  return s ? submit_to(call, s, std::move(what)) : cudaErrorInvalidResourceHandle;
}

cudaError_t synchronise(const char *call, const std::shared_ptr<stream> &s) {
  if (cudaError_t error = refuse_for_stream(call, *s)) return error;
  ++counters.synchronisations;
  run_until(end_of(s));
  host_clock.join(s->clock);
  forget_settled_accesses();
  return s->owner->failed;
}

}  // namespace emulator

using namespace emulator;

cudaError_t cudaStreamCreate(cudaStream_t *out) {
  return api("cudaStreamCreate", ordinary, [&] { return create(out, cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  return api("cudaStreamCreateWithFlags", ordinary, [&] { return create(out, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority) {
  return api("cudaStreamCreateWithPriority", ordinary, [&] { return create(out, flags, priority); });
}

/* Returns at once; what is enqueued will run. */
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return api("cudaStreamDestroy", releasing, [&] {
    if (!handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread) return cudaErrorInvalidResourceHandle;
    std::shared_ptr<stream> s = find_stream("cudaStreamDestroy", handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (s->capturing) {
      capture &c = *s->capturing;
      return invalidate(c, "cudaStreamDestroy", cudaErrorStreamCaptureUnsupported, "the stream is part of the capture that it would end");
    }
    s->destroyed = true;
    streams_by_handle.remove(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return api("cudaStreamSynchronize", ordinary, [&] {
    std::shared_ptr<stream> s = find_stream("cudaStreamSynchronize", handle);
    return s ? synchronise("cudaStreamSynchronize", s) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return api("cudaStreamQuery", ordinary, [&] {
    std::shared_ptr<stream> s = find_stream("cudaStreamQuery", handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (cudaError_t error = refuse_for_stream("cudaStreamQuery", *s)) return error;
    mark end = end_of(s);
    if (!end.reached()) {
      make_some_progress(end);
      return s->owner->failed ? s->owner->failed : cudaErrorNotReady;
    }
    host_clock.join(s->clock);
    return s->owner->failed;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void *argument) {
  return api("cudaLaunchHostFunc", ordinary, [&] {
    if (!function) return cudaErrorInvalidValue;
    return submit("cudaLaunchHostFunc", handle, std::make_shared<host_function_work>(function, argument));
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void *argument, unsigned flags) {
  return api("cudaStreamAddCallback", ordinary, [&] {
    if (!callback || flags) return cudaErrorInvalidValue;
    std::shared_ptr<stream> s = find_stream("cudaStreamAddCallback", handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (cudaError_t error = refuse_for_stream("cudaStreamAddCallback", *s)) return error;
    return submit_to("cudaStreamAddCallback", s, std::make_shared<callback_work>(callback_work::call{callback, handle, argument}));
  });
}

namespace {

/* One property of a stream. */
template <class T, class F> cudaError_t get(const char *name, cudaStream_t handle, T *out, F &&property) {
  return api(name, ordinary, [&] {
    if (!out) return cudaErrorInvalidValue;
    std::shared_ptr<stream> s = find_stream(name, handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    *out = property(*s);
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned *out) {
  return get("cudaStreamGetFlags", handle, out, [](const stream &s) { return s.flags; });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int *out) {
  return get("cudaStreamGetPriority", handle, out, [](const stream &s) { return s.priority; });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long *out) {
  return get("cudaStreamGetId", handle, out, [](const stream &s) { return static_cast<unsigned long long>(s.lane); });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int *out) {
  return get("cudaStreamGetDevice", handle, out, [](const stream &s) { return s.owner->ordinal; });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *out_least, int *out_greatest) {
  return api("cudaDeviceGetStreamPriorityRange", ordinary, [&] {
    if (out_least) *out_least = kLeastPriority;
    if (out_greatest) *out_greatest = kGreatestPriority;
    return cudaSuccess;
  });
}
