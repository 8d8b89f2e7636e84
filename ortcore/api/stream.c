/* Streams: work in order on a device. */
#include <ortcore/api/check.h>
#include <ortcore/provider/provider.h>
#include <ortcore/session/binding.h>

ortc_status *ortc_stream_create(const ortc_memory_info *device, ortc_stream **out_stream) {
  const struct device *d;
  NEEDS(out_stream);
  *out_stream = NULL;
  NEEDS(device);
  TRY(provider_device(device, &d));
  return stream_create(d, out_stream);
}

ortc_status *ortc_stream_wrap(const ortc_memory_info *device, void *handle, ortc_stream **out_stream) {
  const struct device *d;
  NEEDS(out_stream);
  *out_stream = NULL;
  NEEDS(device);
  TRY(provider_device(device, &d));
  if (!d->vtable->stream_wrap) return ERROR(INVALID_ARGUMENT, "%s has no streams that others could make; ortc_stream_create makes one", d->name);
  return d->vtable->stream_wrap(d, handle, out_stream);
}

void ortc_stream_release(ortc_stream *stream) { stream_release(stream); }

void *ortc_stream_get_handle(const ortc_stream *stream) {
  return stream && stream->owner->vtable->stream_handle ? stream->owner->vtable->stream_handle(stream) : NULL;
}

ortc_status *ortc_stream_synchronize(ortc_stream *stream) {
  NEEDS(stream);
  return stream_synchronise(stream);
}

ortc_status *ortc_stream_wait(ortc_stream *stream, ortc_stream *earlier) {
  event *mark;
  NEEDS(stream);
  NEEDS(earlier);
  if (stream == earlier) return OK;
  TRY(event_create(earlier->owner, &mark));
  status s = event_record(mark, earlier);
  if (!s) s = stream_wait(stream, mark);
  event_release(mark);
  return s;
}

ortc_status *ortc_stream_wait_event(ortc_stream *stream, void *event) {
  struct event *wrapped;
  NEEDS(stream);
  NEEDS(event);
  const device *d = stream->owner;
  if (!d->vtable->event_wrap) return ERROR(INVALID_ARGUMENT, "%s has no events that others could make: its work is done when its call returns", d->name);
  TRY(d->vtable->event_wrap(d, event, &wrapped));
  status s = stream_wait(stream, wrapped);
  event_release(wrapped);
  return s;
}

ortc_stream *ortc_binding_get_stream(ortc_binding *binding) { return binding ? binding->work : NULL; }
