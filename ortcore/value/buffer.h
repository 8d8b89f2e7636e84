/* A counted block of memory: owned (from an allocator), imported or borrowed (with a release callback). */
#ifndef ORTCORE_VALUE_BUFFER_H
#define ORTCORE_VALUE_BUFFER_H

#include <ortcore/device/allocator.h>

typedef struct buffer buffer;
struct buffer {
  _Atomic int64_t references;
  void *data;
  size_t bytes;
  ortc_memory_info info;
  ortc_allocator *allocator;                               /* owned memory only; retained */
  ortc_release_fn release;                                 /* borrowed memory only */
  void *user;
  bool read_only;                                          /* never to be the memory of an output */
  int64_t strings;                                         /* number of rcstr * to release with the memory */
};

status buffer_create(ortc_allocator *allocator, size_t bytes, buffer **out) MUST_CHECK;   /* NULL: the default allocator */
status buffer_create_strings(ortc_allocator *allocator, int64_t count, buffer **out) MUST_CHECK;   /* zeroed: all "" */
/* On failure `release` is not called: the memory is still the caller's. */
status buffer_borrow(const ortc_memory_info *info, void *data, size_t bytes, ortc_release_fn release, void *user, buffer **out) MUST_CHECK;
/* Drops a buffer that nobody else holds (any more) without calling `release`, for makers that fail later on. */
void buffer_abandon(buffer *b);
buffer *buffer_retain(buffer *b);
void buffer_release(buffer *b);

/* Buffers that are kept for as long as something needs them. */
typedef struct buffer_list { buffer **items; int32_t count, capacity; } buffer_list;
status buffer_list_add(buffer_list *l, buffer *b) MUST_CHECK;   /* takes the reference, also when it fails; NULL is fine */
void buffer_list_clear(buffer_list *l);

#endif
