/* The CPU as a device: work is done when its call returns, so that streams and events have nothing to remember. */
#include <ortcore/device/device.h>
#include <string.h>

static const device cpu;

static bool cpu_serves(const device *d, const ortc_memory_info *info) {
  (void)d;
  return memory_info_is_host(info);
}

static ortc_allocator *cpu_allocator(const device *d) {
  (void)d;
  return allocator_default();
}

/* One stream and one event serve everybody. */
static status cpu_stream_create(const device *d, stream **out) {
  (void)d;
  static stream only = {&cpu};
  *out = &only;
  return OK;
}

static status cpu_event_create(const device *d, event **out) {
  (void)d;
  static event only = {&cpu};
  *out = &only;
  return OK;
}

static void cpu_stream_release(stream *s) { (void)s; }
static void cpu_event_release(event *e) { (void)e; }

static status cpu_stream_synchronise(stream *s) {
  (void)s;
  return OK;
}

static status cpu_event_record(event *e, stream *s) {
  (void)e, (void)s;
  return OK;
}

static status cpu_event_synchronise(event *e) {
  (void)e;
  return OK;
}

/* Work on the CPU begins when it is asked for, so waiting for another device's event is the host's waiting. */
static status cpu_stream_wait(stream *s, event *e) {
  (void)s;
  return event_synchronise(e);
}

static status cpu_copy(const device *d, stream *s, memory_place to, memory_place from, size_t bytes) {
  (void)d, (void)s;
  memmove(to.data, from.data, bytes);
  return OK;
}

static status cpu_copy_rows(const device *d, stream *s, void *to, size_t to_step, const void *from, size_t from_step, size_t bytes, size_t rows) {
  (void)d, (void)s;
  for (size_t i = 0; i < rows; ++i) memcpy((char *)to + i * to_step, (const char *)from + i * from_step, bytes);
  return OK;
}

static status cpu_fill(const device *d, stream *s, void *to, int byte, size_t bytes) {
  (void)d, (void)s;
  memset(to, byte, bytes);
  return OK;
}

static const device_vtable cpu_vtable = {
  .serves = cpu_serves, .allocator = cpu_allocator, .stream_create = cpu_stream_create, .stream_release = cpu_stream_release,
  .stream_synchronise = cpu_stream_synchronise, .event_create = cpu_event_create, .event_release = cpu_event_release, .event_record = cpu_event_record,
  .event_synchronise = cpu_event_synchronise, .stream_wait = cpu_stream_wait, .copy = cpu_copy, .copy_rows = cpu_copy_rows, .fill = cpu_fill};

static const device cpu = {&cpu_vtable, "cpu"};

const device *device_cpu(void) { return &cpu; }
