#include <ortcore/base/mem.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/value/buffer.h>
#include <ortcore/value/string.h>

#include <stdatomic.h>
#include <string.h>

static buffer *buffer_new(const ortc_memory_info *info) {
  buffer *b = MEM_NEW(buffer);
  if (!b) return NULL;
  atomic_init(&b->references, 1);
  b->info = *info;
  return b;
}

status buffer_create(ortc_allocator *allocator, size_t bytes, buffer **out) {
  *out = NULL;
  if (!allocator) allocator = allocator_default();
  buffer *b = buffer_new(&allocator->info);
  if (!b) return status_out_of_memory();
  status s = allocator_alloc(allocator, bytes, &b->data);
  if (s) {
    mem_free(b);
    return s;
  }
  b->allocator = allocator_retain(allocator);
  b->bytes = bytes;
  *out = b;
  return OK;
}

status buffer_create_strings(ortc_allocator *allocator, int64_t count, buffer **out) {
  *out = NULL;
  if (allocator && !memory_info_is_host(&allocator->info)) {
    return ERROR(INVALID_ARGUMENT, "string tensors live in the CPU's memory, not in that of the allocator '%.31s'", allocator->info.name);
  }
  if (count < 0 || (uint64_t)count > PTRDIFF_MAX / sizeof(rcstr *))
    return ERROR(OUT_OF_MEMORY, "%lld strings are more than memory can hold", (long long)count);
  TRY(buffer_create(allocator, (size_t)count * sizeof(rcstr *), out));
  if ((*out)->bytes) memset((*out)->data, 0, (*out)->bytes);
  (*out)->strings = count;
  return OK;
}

status buffer_borrow(const ortc_memory_info *info, void *data, size_t bytes, ortc_release_fn release, void *user, buffer **out) {
  *out = NULL;
  buffer *b = buffer_new(info ? info : &memory_info_cpu);
  if (!b) return status_out_of_memory();
  b->data = data;
  b->bytes = bytes;
  b->release = release;
  b->user = user;
  *out = b;
  return OK;
}

void buffer_abandon(buffer *b) {
  if (!b) return;
  b->release = NULL;
  buffer_release(b);
}

buffer *buffer_retain(buffer *b) {
  if (b) atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
  return b;
}

void buffer_release(buffer *b) {
  if (!b || atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) != 1) return;
  if (b->strings) rcstr_release_n(b->data, b->strings);
  if (b->allocator) {
    allocator_free(b->allocator, b->data);
    allocator_release(b->allocator);
  }
  if (b->release) b->release(b->user);
  mem_free(b);
}

status buffer_list_add(buffer_list *l, buffer *b) {
  if (!b) return OK;
  if (l->count == l->capacity) {
    int32_t capacity = l->capacity ? 2 * l->capacity : 8;
    buffer **items = mem_realloc(l->items, (size_t)capacity * sizeof *items);
    if (!items) {
      buffer_release(b);
      return status_out_of_memory();
    }
    l->items = items;
    l->capacity = capacity;
  }
  l->items[l->count++] = b;
  return OK;
}

void buffer_list_clear(buffer_list *l) {
  for (int32_t i = 0; i < l->count; ++i) buffer_release(l->items[i]);
  mem_free(l->items);
  *l = (buffer_list){0};
}
