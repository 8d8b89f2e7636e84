/* Devices behind one vtable: memory, streams, events, copies; nothing of nodes. The CPU is one; a provider's plugin registers its own.
 *
 * A stream is work in order. What is enqueued on it may still be running when the call returns; stream_synchronise waits for all of it, and
 * an event lets one stream wait for a point in another without the host waiting. On the CPU work is done when its call returns. */
#ifndef ORTCORE_DEVICE_DEVICE_H
#define ORTCORE_DEVICE_DEVICE_H

#include <ortcore/device/allocator.h>
#include <ortcore/device/memory_info.h>

typedef struct device device;
typedef struct ortc_stream { const device *owner; } stream; /* implementations append to all three; a stream is the C ABI's ortc_stream */
typedef struct event { const device *owner; } event;
typedef struct device_graph { const device *owner; } device_graph;   /* recorded work, to be launched again and again */

/* One end of a copy. */
typedef struct memory_place { const ortc_memory_info *info; void *data; } memory_place;

/* Functions of the caller from which a device's memory is to come; empty_cache may be NULL. */
typedef struct external_memory {
  void *(*alloc)(size_t bytes);                            /* NULL without memory; the device is current when it is called */
  void (*free)(void *data);
  void (*empty_cache)(void);
} external_memory;

/* Ranges that a profiler attached to the process shows: what the calling thread does between begin and end. They nest. detail may be NULL. */
typedef struct range_marks {
  void (*begin)(const char *name, const char *detail);
  void (*end)(void);
} range_marks;

typedef struct device_vtable {
  bool (*serves)(const device *d, const ortc_memory_info *info);   /* is that memory this device's? */
  ortc_allocator *(*allocator)(const device *d);                   /* lent: the device's plain one, on which arenas stand */
  ortc_allocator *(*host_allocator)(const device *d);              /* lent: host memory that its copies reach without staging; NULL: any will do */
  /* A plain allocator over those functions, with one reference. NULL where the device has none. */
  status (*external_allocator)(const device *d, const external_memory *functions, ortc_allocator **out);
  /* Makes the device current for the calling thread; leave restores what was. They nest; the token is the implementation's. */
  status (*enter)(const device *d, intptr_t *out_token);
  void (*leave)(const device *d, intptr_t token);
  /* Is that range memory of this device that is still there, aligned to `alignment`? The error says what it is instead. */
  status (*check_memory)(const device *d, const void *data, size_t bytes, size_t alignment);
  /* Can the host use memory there? Anything that is not this kind of device's alone is taken for host memory. NULL: always. */
  status (*check_host)(const device *d, const void *data);
  status (*stream_create)(const device *d, stream **out);
  status (*stream_wrap)(const device *d, void *handle, stream **out);   /* the caller's own, which outlives it and is never destroyed */
  void *(*stream_handle)(const stream *s);                         /* what other libraries call it: a cudaStream_t; NULL where there is none */
  void (*stream_release)(stream *s);
  status (*stream_synchronise)(stream *s);
  status (*event_create)(const device *d, event **out);
  status (*event_wrap)(const device *d, void *handle, event **out);    /* the caller's own, as a stream's; NULL where there are none */
  void (*event_release)(event *e);
  status (*event_record)(event *e, stream *s);
  status (*event_synchronise)(event *e);                           /* the host waits */
  status (*stream_wait)(stream *s, event *e);                      /* s is this device's, e may be another's */
  /* Between two memories of which at least one is this device's. s NULL: complete when it returns. */
  status (*copy)(const device *d, stream *s, memory_place to, memory_place from, size_t bytes);
  /* `rows` times `bytes`, both memories this device's, enqueued on s: row i is `to_step * i` and `from_step * i` bytes after the first. */
  status (*copy_rows)(const device *d, stream *s, void *to, size_t to_step, const void *from, size_t from_step, size_t bytes, size_t rows);
  status (*fill)(const device *d, stream *s, void *to, int byte, size_t bytes);    /* of this device's memory, enqueued on s */
  /* Recording: what is enqueued between begin and end becomes a graph instead of running. All NULL where the device cannot. */
  status (*capture_begin)(stream *s);
  status (*capture_end)(stream *s, device_graph **out);            /* also after a failure in between: then *out is NULL and the stream usable again */
  bool (*is_capturing)(const stream *s);                           /* ... by whomever */
  /* g does the work of `from` from now on; `from` is consumed in every case. *out_updated: in place, as graphs that differ in addresses alone can be. */
  status (*graph_update)(device_graph *g, device_graph *from, bool *out_updated);
  status (*graph_launch)(device_graph *g, stream *s);
  void (*graph_release)(device_graph *g);
  const range_marks *(*marks)(const device *d);                    /* NULL where there are none; it gives NULL while no profiler is attached */
} device_vtable;

struct device { const device_vtable *vtable; const char *name; };

const device *device_cpu(void);
/* For good: devices are never taken back. False if there is no room. Called while a provider is opened, before its first use. */
bool device_register(const device *d);
const device *device_at(int index);                         /* in the order of their registration, the CPU first; NULL out of range */
const device *device_of(const ortc_memory_info *info);      /* NULL if no device that is here has such memory */

static inline status stream_create(const device *d, stream **out) { return d->vtable->stream_create(d, out); }
static inline status stream_synchronise(stream *s) { return s->owner->vtable->stream_synchronise(s); }
static inline status stream_wait(stream *s, event *e) { return s->owner->vtable->stream_wait(s, e); }
static inline status event_create(const device *d, event **out) { return d->vtable->event_create(d, out); }
static inline status event_synchronise(event *e) { return e->owner->vtable->event_synchronise(e); }
static inline status event_record(event *e, stream *s) { return e->owner->vtable->event_record(e, s); }
void stream_release(stream *s);                             /* NULL is fine */
void event_release(event *e);

/* Complete when it returns. The ranges may overlap within one device. NOT_IMPLEMENTED where no device can do it. */
status device_copy(const ortc_memory_info *to_info, void *to, const ortc_memory_info *from_info, const void *from, size_t bytes) MUST_CHECK;
/* Only enqueued on s, a stream of a device at either end. On a stream of the CPU, and with s NULL, complete when it returns. */
status device_copy_on(stream *s, memory_place to, memory_place from, size_t bytes) MUST_CHECK;

#endif
