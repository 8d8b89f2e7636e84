/* cudaMemcpy, cudaMemset and their relatives: who waits for what is as the runtime's documentation of its synchronisation behaviour says. */
#include <emulator/runtime/copies.h>

#include <emulator/runtime/api.h>
#include <emulator/runtime/capture.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/streams.h>
#include <emulator/runtime/symbols.h>

namespace emulator {

namespace {

box_end flat(const void *p) { return {static_cast<char *>(const_cast<void *>(p)), 0, 0}; }
box_end rows(const void *p, size_t pitch) { return {static_cast<char *>(const_cast<void *>(p)), pitch, 0}; }

/* Pageable memory is read before the call returns, and written before it returns; what is pinned or on the device is copied in stream order.
 * In a graph it is all read and written when the graph runs. */
cudaError_t copy_async(const char *call, const box_end &to, const box_end &from, const box &shape, cudaMemcpyKind kind, cudaStream_t handle) {
  std::shared_ptr<stream> s = find_stream(call, handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (shape.empty()) return cudaSuccess;
  std::shared_ptr<copy_work> c;
  if (cudaError_t error = make_copy(call, to, from, shape, kind, &c)) return error;
  bool pageable = c->to_place == place::pageable || c->from_place == place::pageable;
  if (s->capturing) {
    if (pageable) {
      report("pageable_capture", "%s is captured on %s: its host memory is read or written again at each launch of the graph, and has to live that long; "
             "pinned memory says so more clearly", c->describe().c_str(), s->describe().c_str());
    }
    return add_to_capture(call, *s, c);
  }
  if (c->from_place == place::pageable) c->stage();
  mark end;
  if (cudaError_t error = submit_to(call, s, c, &end)) return error;
  if (c->to_place != place::pageable) return cudaSuccess;
  ++counters.synchronisations;
  run_until(end);
  host_clock.join(s->clock);
  return s->owner->failed;
}

/* On the default stream. The host waits where host memory is involved: except that from pageable memory it waits only until the data is staged,
 * so a stream that does not order itself with the default stream must not rely on it. */
cudaError_t copy(const char *call, const box_end &to, const box_end &from, const box &shape, cudaMemcpyKind kind) {
  std::shared_ptr<stream> s = current_device().default_stream;
  if (shape.empty()) return cudaSuccess;
  if (cudaError_t error = refuse_implicit(call, *s)) return error;
  std::shared_ptr<copy_work> c;
  if (cudaError_t error = make_copy(call, to, from, shape, kind, &c)) return error;
  bool to_device = c->to_place == place::device, from_device = c->from_place == place::device;
  bool staging = c->from_place == place::pageable && to_device;
  if (staging) {
    if (cudaError_t error = synchronise(call, s)) return error;
    c->stage();
  }
  enqueue(s, c);
  return staging || (to_device && from_device) ? cudaSuccess : synchronise(call, s);
}

/* `waits`: the function is not an asynchronous one, which makes a difference for host memory alone. */
cudaError_t fill(const char *call, const box_end &to, const box &shape, int value, cudaStream_t handle, bool waits) {
  std::shared_ptr<stream> s = find_stream(call, handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (shape.empty()) return cudaSuccess;
  std::shared_ptr<memset_work> m;
  if (cudaError_t error = make_memset(call, to, shape, static_cast<unsigned char>(value), 1, &m)) return error;
  if (cudaError_t error = submit_to(call, s, m)) return error;
  return waits && place_of(to.data) == place::pinned ? synchronise(call, s) : cudaSuccess;
}

/* Symbols are module variables; their storage counts as device memory. */
cudaError_t symbol_end(const char *call, const void *symbol, size_t bytes, size_t offset, box_end *out) {
  const variable_image *v = find_symbol(symbol);
  if (!v) return cudaErrorInvalidSymbol;
  if (offset > v->bytes || bytes > v->bytes - offset) {
    report("copy", "%s of %zu bytes at offset %zu of %s, which has %zu", call, bytes, offset, v->name, v->bytes);
    return cudaErrorInvalidValue;
  }
  *out = flat(static_cast<char *>(v->address) + offset);
  return cudaSuccess;
}

}  // namespace

}  // namespace emulator

using namespace emulator;

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return api("cudaMemcpy", unsafe_in_capture, [&] { return copy("cudaMemcpy", flat(to), flat(from), {bytes, 1, 1}, kind); });
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return api("cudaMemcpyAsync", ordinary, [&] { return copy_async("cudaMemcpyAsync", flat(to), flat(from), {bytes, 1, 1}, kind, stream); });
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
  return api("cudaMemcpy2D", unsafe_in_capture, [&] { return copy("cudaMemcpy2D", rows(to, to_pitch), rows(from, from_pitch), {width, height, 1}, kind); });
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return api("cudaMemcpy2DAsync", ordinary, [&] {
    return copy_async("cudaMemcpy2DAsync", rows(to, to_pitch), rows(from, from_pitch), {width, height, 1}, kind, stream);
  });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *p) {
  return api("cudaMemcpy3D", unsafe_in_capture, [&] {
    box_end to, from;
    box shape;
    if (!p) return cudaErrorInvalidValue;
    if (cudaError_t error = parts_of(*p, &to, &from, &shape)) return error;
    return copy("cudaMemcpy3D", to, from, shape, p->kind);
  });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream) {
  return api("cudaMemcpy3DAsync", ordinary, [&] {
    box_end to, from;
    box shape;
    if (!p) return cudaErrorInvalidValue;
    if (cudaError_t error = parts_of(*p, &to, &from, &shape)) return error;
    return copy_async("cudaMemcpy3DAsync", to, from, shape, p->kind, stream);
  });
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
  return api("cudaMemcpyPeer", unsafe_in_capture, [&] {
    if (!device_at(to_device) || !device_at(from_device)) return cudaErrorInvalidDevice;
    return copy("cudaMemcpyPeer", flat(to), flat(from), {bytes, 1, 1}, cudaMemcpyDeviceToDevice);
  });
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream) {
  return api("cudaMemcpyPeerAsync", ordinary, [&] {
    if (!device_at(to_device) || !device_at(from_device)) return cudaErrorInvalidDevice;
    return copy_async("cudaMemcpyPeerAsync", flat(to), flat(from), {bytes, 1, 1}, cudaMemcpyDeviceToDevice, stream);
  });
}

cudaError_t cudaMemset(void *to, int value, size_t bytes) {
  return api("cudaMemset", unsafe_in_capture, [&] { return fill("cudaMemset", flat(to), {bytes, 1, 1}, value, nullptr, true); });
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  return api("cudaMemsetAsync", ordinary, [&] { return fill("cudaMemsetAsync", flat(to), {bytes, 1, 1}, value, stream, false); });
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return api("cudaMemset2D", unsafe_in_capture, [&] { return fill("cudaMemset2D", rows(to, pitch), {width, height, 1}, value, nullptr, true); });
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return api("cudaMemset2DAsync", ordinary, [&] { return fill("cudaMemset2DAsync", rows(to, pitch), {width, height, 1}, value, stream, false); });
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return api("cudaMemcpyToSymbol", unsafe_in_capture, [&] {
    box_end to;
    if (cudaError_t error = symbol_end("cudaMemcpyToSymbol", symbol, bytes, offset, &to)) return error;
    return copy("cudaMemcpyToSymbol", to, flat(from), {bytes, 1, 1}, kind);
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return api("cudaMemcpyToSymbolAsync", ordinary, [&] {
    box_end to;
    if (cudaError_t error = symbol_end("cudaMemcpyToSymbolAsync", symbol, bytes, offset, &to)) return error;
    return copy_async("cudaMemcpyToSymbolAsync", to, flat(from), {bytes, 1, 1}, kind, stream);
  });
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return api("cudaMemcpyFromSymbol", unsafe_in_capture, [&] {
    box_end from;
    if (cudaError_t error = symbol_end("cudaMemcpyFromSymbol", symbol, bytes, offset, &from)) return error;
    return copy("cudaMemcpyFromSymbol", flat(to), from, {bytes, 1, 1}, kind);
  });
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return api("cudaMemcpyFromSymbolAsync", ordinary, [&] {
    box_end from;
    if (cudaError_t error = symbol_end("cudaMemcpyFromSymbolAsync", symbol, bytes, offset, &from)) return error;
    return copy_async("cudaMemcpyFromSymbolAsync", flat(to), from, {bytes, 1, 1}, kind, stream);
  });
}

cudaError_t cudaGetSymbolAddress(void **out, const void *symbol) {
  return api("cudaGetSymbolAddress", ordinary, [&] {
    const variable_image *v = find_symbol(symbol);
    if (!out) return cudaErrorInvalidValue;
    *out = v ? v->address : nullptr;
    return v ? cudaSuccess : cudaErrorInvalidSymbol;
  });
}

cudaError_t cudaGetSymbolSize(size_t *out, const void *symbol) {
  return api("cudaGetSymbolSize", ordinary, [&] {
    const variable_image *v = find_symbol(symbol);
    if (!out) return cudaErrorInvalidValue;
    *out = v ? v->bytes : 0;
    return v ? cudaSuccess : cudaErrorInvalidSymbol;
  });
}
