#include <ortcore/base/checked.h>
#include <ortcore/base/mem.h>
#include <ortcore/base/zone.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SMALL_ALIGNMENT ((size_t)16)
#define LARGE_ALIGNMENT ((size_t)64)                       /* a cache line, for packed weights and the like */
#define LARGE ((size_t)1024)
#define FIRST_BLOCK ((size_t)4 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20)

/* Blocks double in size up to LARGEST_BLOCK. Memory comes from calloc, which gets large zeroed blocks from the system untouched. */
typedef struct zone_block {
  struct zone_block *next;
  size_t used, capacity;                                   /* of data[] */
  _Alignas(16) unsigned char data[];
} zone_block;

struct zone {
  zone_block *blocks;                                      /* the first is the one that is being filled */
  size_t next_capacity, held;
};

zone *zone_create(void) {
  zone *z = mem_calloc(1, sizeof *z);
  if (z) z->next_capacity = FIRST_BLOCK - sizeof(zone_block);
  return z;
}

void zone_release(zone *z) {
  if (!z) return;
  for (zone_block *block = z->blocks, *next; block; block = next) {
    next = block->next;
    mem_free(block);
  }
  mem_free(z);
}

/* A block for at least `bytes`. One that is made for a single large request goes behind the current one, whose rest stays in use. */
static zone_block *add_block(zone *z, size_t bytes) {
  bool large = bytes > z->next_capacity / 2;
  size_t capacity = large ? bytes : z->next_capacity, total;
  if (checked_add(capacity, sizeof(zone_block), &total)) return NULL;
  zone_block *block = mem_calloc(1, total);
  if (!block) return NULL;
  block->capacity = capacity;
  z->held += total;
  if (large && z->blocks) {
    block->next = z->blocks->next;
    z->blocks->next = block;
    return block;
  }
  block->next = z->blocks;
  z->blocks = block;
  if (!large && z->next_capacity < LARGEST_BLOCK / 2) z->next_capacity = 2 * (z->next_capacity + sizeof(zone_block)) - sizeof(zone_block);
  return block;
}

/* Where the next `alignment`-aligned byte of the block is; beyond its capacity if there is none. */
static size_t next_offset(const zone_block *block, size_t alignment) {
  uintptr_t start = (uintptr_t)block->data;
  return align_up(start + block->used, alignment) - start;
}

void *zone_alloc(zone *z, size_t bytes) {
  size_t alignment = bytes < LARGE ? SMALL_ALIGNMENT : LARGE_ALIGNMENT, most;
  if (bytes == 0) bytes = 1;
  if (checked_add(bytes, alignment, &most)) return NULL;   /* with what aligning may cost */
  zone_block *block = z->blocks;
  size_t offset = block ? next_offset(block, alignment) : 0;
  if (!block || offset > block->capacity || block->capacity - offset < bytes) {
    block = add_block(z, most);
    if (!block) return NULL;
    offset = next_offset(block, alignment);
  }
  block->used = offset + bytes;
  return block->data + offset;
}

void *zone_alloc_array(zone *z, size_t count, size_t size) {
  size_t bytes;
  return checked_mul(count, size, &bytes) ? NULL : zone_alloc(z, bytes);
}

void *zone_copy(zone *z, const void *data, size_t bytes) {
  void *copy = zone_alloc(z, bytes);
  if (copy && bytes) memcpy(copy, data, bytes);
  return copy;
}

char *zone_strndup(zone *z, const char *text, size_t bytes) {
  char *copy = bytes == SIZE_MAX ? NULL : zone_alloc(z, bytes + 1);
  if (copy && bytes) memcpy(copy, text, bytes);            /* the NUL is there: zone memory is zeroed */
  return copy;
}

char *zone_strdup(zone *z, const char *text) { return zone_strndup(z, text, strlen(text)); }

char *zone_printf(zone *z, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = length < 0 ? NULL : zone_alloc(z, (size_t)length + 1);
  if (!text) return NULL;
  va_start(arguments, format);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return text;
}

size_t zone_bytes(const zone *z) { return z->held; }
