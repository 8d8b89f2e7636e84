#include <emulator/runtime/copies.h>

#include <emulator/runtime/devices.h>
#include <emulator/runtime/memory.h>
#include <emulator/runtime/pinned.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/symbols.h>

#include <cstring>

namespace emulator {

namespace {

uint64_t address_of(const void *p) { return reinterpret_cast<uint64_t>(p); }

const char *name_of(place p) { return p == place::device ? "device" : p == place::pinned ? "pinned host" : "pageable host"; }

struct direction {
  int64_t counter_table::*copies;
  int64_t counter_table::*bytes;
};

direction direction_of(place to, place from) {
  bool to_device = to == place::device, from_device = from == place::device;
  if (to_device && from_device) return {&counter_table::copies_device_to_device, &counter_table::bytes_device_to_device};
  if (to_device) return {&counter_table::copies_host_to_device, &counter_table::bytes_host_to_device};
  if (from_device) return {&counter_table::copies_device_to_host, &counter_table::bytes_device_to_host};
  return {&counter_table::copies_host_to_host, &counter_table::bytes_host_to_host};
}

/* Device memory that a copy or a fill is given must be one live allocation from end to end. */
cudaError_t check_device_end(const char *call, const char *verb, const box_end &end, const box &shape) {
  uint64_t address = address_of(end.data), bytes = end.reach(shape);
  if (find_symbol_at(end.data)) return cudaSuccess;
  const allocation *a = find_device_allocation(address);
  if (!a) {
    report("copy", "%s %s %s at %p, where no device memory is allocated", call, verb, bytes_text(bytes).c_str(), static_cast<void *>(end.data));
    return cudaErrorInvalidValue;
  }
  if (a->freed) {
    report("use_after_free", "%s %s %s, which %s has freed", call, verb, describe_at(*a, address).c_str(), a->freed_by);
    return cudaErrorInvalidValue;
  }
  if (address + bytes > a->address + a->bytes) {
    report("copy", "%s %s %s from %s, and so %llu bytes past its end", call, verb, bytes_text(bytes).c_str(), describe_at(*a, address).c_str(),
           static_cast<unsigned long long>(address + bytes - a->address - a->bytes));
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

/* Which ends a direction wants on the device. */
cudaError_t check_direction(const char *call, cudaMemcpyKind kind, place to, place from, bool to_managed, bool from_managed) {
  static const char *const names[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice"};
  if (kind == cudaMemcpyDefault) return cudaSuccess;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDeviceToDevice) return cudaErrorInvalidMemcpyDirection;
  bool wants_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool wants_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  bool to_fits = to_managed || wants_to == (to == place::device), from_fits = from_managed || wants_from == (from == place::device);
  if (to_fits && from_fits) return cudaSuccess;
  report("copy", "%s with %s: the destination is %s memory and the source is %s memory", call, names[kind], name_of(to), name_of(from));
  return cudaErrorInvalidValue;
}

bool is_managed(const void *p) {
  const allocation *a = find_pinned(p);
  return a && a->kind == memory_kind::managed;
}

/* Rows that follow each other without a gap are one. */
void merge_rows(box_end *to, box_end *from, box *shape) {
  if (shape->height > 1 && to->pitch == shape->width && from->pitch == shape->width) {
    shape->width *= shape->height;
    shape->height = 1;
    to->pitch = from->pitch = shape->width;
  }
  if (shape->height == 1 && shape->depth > 1 && to->slice == shape->width && from->slice == shape->width) {
    shape->width *= shape->depth;
    shape->depth = 1;
  }
}

template <class F> void for_each_row(const box &shape, F &&f) {
  for (size_t z = 0; z < shape.depth; ++z) {
    for (size_t y = 0; y < shape.height; ++y) f(y, z);
  }
}

}  // namespace

place place_of(const void *p) { return is_device_address(p) ? place::device : find_pinned(p) ? place::pinned : place::pageable; }

std::string copy_work::describe() const {
  return formatted("%s of %s from %s to %s memory", call, bytes_text(shape.bytes()).c_str(), name_of(from_place), name_of(to_place));
}

void copy_work::spans(std::vector<span> *out) const {
  if (from_place == place::device) out->push_back({address_of(from.data), from.reach(shape), false});
  if (to_place == place::device) out->push_back({address_of(to.data), to.reach(shape), true});
}

cudaError_t copy_work::run(stream &, const operation &) const {
  bool watched = settings.race_check;
  const char *next = staged ? staged->data() : nullptr;
  for_each_row(shape, [&](size_t y, size_t z) {
    const char *source = staged ? next : from.row(y, z);
    char *destination = to.row(y, z);
    if (watched && from_place == place::device) access_range(address_of(source), shape.width, false);
    if (watched && to_place == place::device) access_range(address_of(destination), shape.width, true);
    memmove(destination, source, shape.width);
    if (staged) next += shape.width;
  });
  return cudaSuccess;
}

void copy_work::enqueued(stream &on, operation *op) const {
  direction d = direction_of(to_place, from_place);
  ++(counters.*d.copies);
  counters.*d.bytes += static_cast<int64_t>(shape.bytes());
  if (to_place == place::pinned) op->protections.push_back(protect_pinned(to.data, to.reach(shape), true, emulator::name_of(*op, on)));
  if (from_place == place::pinned) op->protections.push_back(protect_pinned(from.data, from.reach(shape), false, emulator::name_of(*op, on)));
}

void copy_work::stage() {
  staged = std::make_shared<std::vector<char>>();
  staged->reserve(shape.bytes());
  for_each_row(shape, [&](size_t y, size_t z) { staged->insert(staged->end(), from.row(y, z), from.row(y, z) + shape.width); });
}

std::string memset_work::describe() const { return formatted("%s of %s", call, bytes_text(shape.bytes()).c_str()); }

void memset_work::spans(std::vector<span> *out) const { out->push_back({address_of(to.data), to.reach(shape), true}); }

void memset_work::enqueued(stream &, operation *) const { ++counters.memsets; }

cudaError_t memset_work::run(stream &, const operation &) const {
  for_each_row(shape, [&](size_t y, size_t z) {
    char *row = to.row(y, z);
    if (settings.race_check) access_range(address_of(row), shape.width, true);
    if (element == 1) {
      memset(row, static_cast<int>(value), shape.width);
    } else {
      for (size_t i = 0; i < shape.width; i += element) memcpy(row + i, &value, element);
    }
  });
  return cudaSuccess;
}

cudaError_t make_copy(const char *call, const box_end &to, const box_end &from, const box &shape, cudaMemcpyKind kind, std::shared_ptr<copy_work> *out) {
  if (!to.data || !from.data) return cudaErrorInvalidValue;
  if (shape.height > 1 && (to.pitch < shape.width || from.pitch < shape.width)) return cudaErrorInvalidPitchValue;
  auto c = std::make_shared<copy_work>();
  c->call = call;
  c->to = to;
  c->from = from;
  c->shape = shape;
  c->to_place = place_of(to.data);
  c->from_place = place_of(from.data);
  if (cudaError_t error = check_direction(call, kind, c->to_place, c->from_place, is_managed(to.data), is_managed(from.data))) return error;
  if (c->from_place == place::device) {
    if (cudaError_t error = check_device_end(call, "reads", from, shape)) return error;
  }
  if (c->to_place == place::device) {
    if (cudaError_t error = check_device_end(call, "writes", to, shape)) return error;
  }
  merge_rows(&c->to, &c->from, &c->shape);
  *out = std::move(c);
  return cudaSuccess;
}

cudaError_t make_memset(const char *call, const box_end &to, const box &shape, unsigned value, unsigned element, std::shared_ptr<memset_work> *out) {
  if (!to.data || (element != 1 && element != 2 && element != 4)) return cudaErrorInvalidValue;
  if (shape.height > 1 && to.pitch < shape.width) return cudaErrorInvalidPitchValue;
  place where = place_of(to.data);
  if (where == place::pageable) {
    report("copy", "%s writes %p, which is pageable host memory", call, static_cast<void *>(to.data));
    return cudaErrorInvalidValue;
  }
  if (where == place::device) {
    if (cudaError_t error = check_device_end(call, "writes", to, shape)) return error;
  }
  auto m = std::make_shared<memset_work>();
  m->call = call;
  m->to = to;
  m->shape = shape;
  m->value = value;
  m->element = element;
  *out = std::move(m);
  return cudaSuccess;
}

cudaError_t parts_of(const cudaMemcpy3DParms &p, box_end *to, box_end *from, box *shape) {
  if (p.srcArray || p.dstArray) return cudaErrorNotSupported;
  *shape = {p.extent.width, p.extent.height, p.extent.depth};
  auto end = [](const cudaPitchedPtr &ptr, const cudaPos &pos) {
    size_t slice = ptr.pitch * ptr.ysize;
    char *first = static_cast<char *>(ptr.ptr);
    return box_end{first ? first + pos.x + pos.y * ptr.pitch + pos.z * slice : nullptr, ptr.pitch, slice};
  };
  *from = end(p.srcPtr, p.srcPos);
  *to = end(p.dstPtr, p.dstPos);
  return cudaSuccess;
}

}  // namespace emulator
