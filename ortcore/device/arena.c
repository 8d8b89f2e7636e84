/* A caching allocator: best fit over regions that it takes from a base allocator.
 *
 * A region is cut into chunks that lie side by side; a chunk is in use or free, and no two neighbours are both free. Free chunks hang in
 * bins by the power of two of their size. All bookkeeping is kept outside the memory it describes, which may be a device's. */
#include <ortcore/base/checked.h>
#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/device/allocator.h>
#include <ortcore/device/memory_info.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { BIN_COUNT = 64 };
#define CHUNK_BYTES ((size_t)256)                          /* sizes are multiples of this */

typedef struct chunk chunk;
typedef struct region region;

struct chunk {
  unsigned char *data;
  size_t bytes;
  region *home;
  bool in_use;
  chunk *before, *behind;                                  /* neighbours in the region */
  chunk *bin_previous, *bin_next;                          /* free: in its bin */
  chunk *table_next;                                       /* in use: in its slot of the address table; spare: in the list of spares */
};

struct region {
  region *next;
  chunk *first;
  size_t bytes;
};

typedef struct arena {
  ortc_allocator base;
  ortc_allocator *source;
  pthread_mutex_t lock;
  ortc_arena_config config;
  size_t next_region_bytes;
  region *regions;
  chunk *bins[BIN_COUNT];
  chunk **table;                                           /* chunks in use, by address */
  size_t table_slots, used_chunks;
  chunk *spares;
  ortc_allocator_stats stats;
} arena;

/* ---- Chunks, bins and the address table ---- */

static chunk *chunk_new(arena *a) {
  chunk *c = a->spares;
  if (!c) return MEM_NEW(chunk);
  a->spares = c->table_next;
  *c = (chunk){0};
  return c;
}

static void chunk_dispose(arena *a, chunk *c) {
  c->table_next = a->spares;
  a->spares = c;
}

static int bin_of(size_t bytes) { return 63 - __builtin_clzll(bytes); }

static void bin_insert(arena *a, chunk *c) {
  chunk **head = &a->bins[bin_of(c->bytes)];
  c->bin_previous = NULL;
  c->bin_next = *head;
  if (*head) (*head)->bin_previous = c;
  *head = c;
}

static void bin_remove(arena *a, chunk *c) {
  if (c->bin_previous) c->bin_previous->bin_next = c->bin_next;
  else a->bins[bin_of(c->bytes)] = c->bin_next;
  if (c->bin_next) c->bin_next->bin_previous = c->bin_previous;
}

/* The smallest free chunk that holds `bytes`. A bin's chunks are all smaller than the next bin's, so the first bin with any fit decides. */
static chunk *best_fit(const arena *a, size_t bytes) {
  for (int bin = bin_of(bytes); bin < BIN_COUNT; ++bin) {
    chunk *best = NULL;
    for (chunk *c = a->bins[bin]; c; c = c->bin_next) {
      if (c->bytes == bytes) return c;
      if (c->bytes > bytes && (!best || c->bytes < best->bytes)) best = c;
    }
    if (best) return best;
  }
  return NULL;
}

static size_t slot_of(const arena *a, const void *data) {
  return (size_t)(((uintptr_t)data / CHUNK_BYTES * 0x9e3779b97f4a7c15u) >> 32) & (a->table_slots - 1);
}

static bool table_reserve(arena *a) {
  if (a->used_chunks < a->table_slots) return true;
  size_t old_slots = a->table_slots;
  chunk **old = a->table, **larger = mem_calloc(old_slots ? 2 * old_slots : 64, sizeof *larger);
  if (!larger) return false;
  a->table = larger;
  a->table_slots = old_slots ? 2 * old_slots : 64;
  for (size_t i = 0; i < old_slots; ++i) {
    for (chunk *c = old[i], *next; c; c = next) {
      next = c->table_next;
      chunk **slot = &a->table[slot_of(a, c->data)];
      c->table_next = *slot;
      *slot = c;
    }
  }
  mem_free(old);
  return true;
}

static void table_insert(arena *a, chunk *c) {
  chunk **slot = &a->table[slot_of(a, c->data)];
  c->table_next = *slot;
  *slot = c;
  ++a->used_chunks;
}

static chunk *table_take(arena *a, const void *data) {
  if (a->table_slots == 0) return NULL;
  chunk **link = &a->table[slot_of(a, data)];
  while (*link && (*link)->data != data) link = &(*link)->table_next;
  chunk *c = *link;
  if (!c) return NULL;
  *link = c->table_next;
  --a->used_chunks;
  return c;
}

/* ---- Regions ---- */

static size_t round_down(size_t bytes) { return bytes & ~(CHUNK_BYTES - 1); }

/* What the limit leaves for new regions. */
static size_t bytes_available(const arena *a) {
  if (a->stats.max_bytes == 0) return PTRDIFF_MAX;
  return a->stats.max_bytes > a->stats.bytes_reserved ? round_down((size_t)(a->stats.max_bytes - a->stats.bytes_reserved)) : 0;
}

static uint64_t release_free_regions(arena *a) {
  uint64_t released = 0;
  for (region **link = &a->regions; *link;) {
    region *r = *link;
    if (r->first->in_use || r->first->behind) {
      link = &r->next;
      continue;
    }
    *link = r->next;
    bin_remove(a, r->first);
    allocator_free(a->source, r->first->data);
    released += r->bytes;
    chunk_dispose(a, r->first);
    mem_free(r);
  }
  a->stats.bytes_reserved -= released;
  return released;
}

static status over_limit(const arena *a, size_t bytes) {
  int regions = 0;
  for (region *r = a->regions; r; r = r->next) ++regions;
  return ERROR(OUT_OF_MEMORY, "Available memory of %zu is smaller than requested bytes of %zu: the arena '%.31s' may hold %" PRIu64 " bytes and holds %" PRIu64
               " in %d regions, of which %" PRIu64 " are in use. Raise its max_bytes, or release what is not needed.",
               bytes_available(a), bytes, a->base.info.name, a->stats.max_bytes, a->stats.bytes_reserved, regions, a->stats.bytes_in_use);
}

/* How large the next region should be to hold `bytes`; the growing size is remembered only when a region was really made. */
static size_t region_bytes(const arena *a, size_t bytes, size_t *out_next) {
  size_t most = (size_t)a->config.max_power_of_two_extend_bytes, wanted = a->next_region_bytes;
  *out_next = wanted;
  if (a->config.extend_strategy == ORTC_SAME_AS_REQUESTED) return bytes;
  while (wanted < bytes && wanted < most) wanted *= 2;
  if (wanted > most) wanted = most;
  if (a->regions) *out_next = wanted < most ? 2 * wanted : wanted;
  else *out_next = wanted > (size_t)a->config.initial_growth_chunk_bytes ? 2 * wanted : (size_t)a->config.initial_growth_chunk_bytes;
  return wanted > bytes ? wanted : bytes;
}

/* A region with one free chunk of at least `bytes`. */
static status add_region(arena *a, size_t bytes) {
  size_t next_bytes;
  if (bytes > bytes_available(a)) release_free_regions(a);
  if (bytes > bytes_available(a)) return over_limit(a, bytes);
  size_t size = region_bytes(a, bytes, &next_bytes);
  if (size > bytes_available(a)) size = bytes_available(a);

  region *r = MEM_NEW(region);
  chunk *c = chunk_new(a);
  void *data = NULL;
  status s = r && c ? allocator_alloc(a->source, size, &data) : status_out_of_memory();
  if (s && r && c && size > bytes) {
    /* Reserve no more than must be. */
    status_release(s);
    size = bytes;
    s = allocator_alloc(a->source, size, &data);
  }
  if (s) {
    mem_free(r);
    if (c) chunk_dispose(a, c);
    return s;
  }
  *c = (chunk){.data = data, .bytes = size, .home = r};
  *r = (region){.next = a->regions, .first = c, .bytes = size};
  bin_insert(a, c);
  a->regions = r;
  a->next_region_bytes = next_bytes;
  a->stats.bytes_reserved += size;
  ++a->stats.extensions;
  return OK;
}

/* ---- Allocating and freeing ---- */

/* Cuts what is beyond `bytes` off as a free chunk, if that is worth while: half of the chunk, or more than may lie dead in one. */
static status split(arena *a, chunk *c, size_t bytes) {
  size_t rest = c->bytes - bytes;
  if (rest < CHUNK_BYTES || (rest < bytes && rest < (size_t)a->config.max_dead_bytes_per_chunk)) return OK;
  chunk *tail = chunk_new(a);
  if (!tail) return status_out_of_memory();
  *tail = (chunk){.data = c->data + bytes, .bytes = rest, .home = c->home, .before = c, .behind = c->behind};
  if (c->behind) c->behind->before = tail;
  c->behind = tail;
  c->bytes = bytes;
  bin_insert(a, tail);
  return OK;
}

static status alloc_locked(arena *a, size_t bytes, void **out_data) {
  size_t rounded = align_up(bytes, CHUNK_BYTES);
  if (!table_reserve(a)) return status_out_of_memory();
  chunk *c = best_fit(a, rounded);
  if (!c) {
    TRY(add_region(a, rounded));
    c = best_fit(a, rounded);
  }
  bin_remove(a, c);
  status s = split(a, c, rounded);
  if (s) {
    bin_insert(a, c);
    return s;
  }
  c->in_use = true;
  table_insert(a, c);
  ortc_allocator_stats *stats = &a->stats;
  stats->bytes_in_use += c->bytes;
  if (stats->bytes_in_use > stats->peak_bytes_in_use) stats->peak_bytes_in_use = stats->bytes_in_use;
  if (bytes > stats->largest_allocation) stats->largest_allocation = bytes;
  ++stats->allocations;
  *out_data = c->data;
  return OK;
}

/* Joins `c` with the free neighbour behind it. */
static void absorb(arena *a, chunk *c) {
  chunk *gone = c->behind;
  c->bytes += gone->bytes;
  c->behind = gone->behind;
  if (gone->behind) gone->behind->before = c;
  chunk_dispose(a, gone);
}

static bool free_locked(arena *a, void *data) {
  chunk *c = table_take(a, data);
  if (!c) return false;
  a->stats.bytes_in_use -= c->bytes;
  ++a->stats.frees;
  c->in_use = false;
  if (c->behind && !c->behind->in_use) {
    bin_remove(a, c->behind);
    absorb(a, c);
  }
  if (c->before && !c->before->in_use) {
    c = c->before;
    bin_remove(a, c);
    absorb(a, c);
  }
  bin_insert(a, c);
  return true;
}

/* ---- The allocator's face ---- */

static status arena_alloc(ortc_allocator *self, size_t bytes, void **out_data) {
  arena *a = (arena *)self;
  if (mem_fails_now()) return ERROR(OUT_OF_MEMORY, "the arena '%.31s' was asked for %zu bytes, which an injected failure refused", a->base.info.name, bytes);
  pthread_mutex_lock(&a->lock);
  status s = alloc_locked(a, bytes, out_data);
  pthread_mutex_unlock(&a->lock);
  return s;
}

static void arena_free(ortc_allocator *self, void *data) {
  arena *a = (arena *)self;
  pthread_mutex_lock(&a->lock);
  bool known = free_locked(a, data);
  pthread_mutex_unlock(&a->lock);
  if (!known) LOG(ERROR, "the arena '%.31s' was asked to free %p, which it has not handed out (freed twice?); nothing was done", a->base.info.name, data);
}

static uint64_t arena_shrink(ortc_allocator *self) {
  arena *a = (arena *)self;
  pthread_mutex_lock(&a->lock);
  uint64_t released = release_free_regions(a);
  if (released > 0) {
    ++a->stats.shrinks;
    a->next_region_bytes = (size_t)a->config.initial_growth_chunk_bytes;
  }
  pthread_mutex_unlock(&a->lock);
  return released;
}

static void arena_get_stats(const ortc_allocator *self, ortc_allocator_stats *out) {
  arena *a = (arena *)self;
  pthread_mutex_lock(&a->lock);
  *out = a->stats;
  pthread_mutex_unlock(&a->lock);
}

static void arena_destroy(ortc_allocator *self) {
  arena *a = (arena *)self;
  if (a->used_chunks > 0) LOG(WARNING, "the arena '%.31s' is destroyed with %zu allocations in use", a->base.info.name, a->used_chunks);
  for (region *r = a->regions, *next_region; r; r = next_region) {
    next_region = r->next;
    allocator_free(a->source, r->first->data);
    for (chunk *c = r->first, *next; c; c = next) {
      next = c->behind;
      mem_free(c);
    }
    mem_free(r);
  }
  for (chunk *c = a->spares, *next; c; c = next) {
    next = c->table_next;
    mem_free(c);
  }
  mem_free(a->table);
  pthread_mutex_destroy(&a->lock);
  allocator_release(a->source);
  mem_free(a);
}

static const allocator_vtable arena_vtable = {arena_alloc, arena_free, arena_shrink, arena_get_stats, arena_destroy};

/* -1 is the default; everything else must be a positive number, and is rounded up to whole chunks. */
static status set_bytes(const char *field, int64_t given, int64_t fallback, int64_t *out) {
  if (given < -1 || given == 0) return ERROR(INVALID_ARGUMENT, "arena: %s is %" PRId64 "; it must be a positive number of bytes, or -1 for the default", field, given);
  *out = given == -1 ? fallback : given > INT64_MAX / 2 ? INT64_MAX / 2 + 1 : (int64_t)align_up((size_t)given, CHUNK_BYTES);
  return OK;
}

static status read_config(const ortc_arena_config *given, ortc_arena_config *out) {
  *out = (ortc_arena_config){sizeof *out, 0, -1, -1, -1, -1, -1};
  if (given && given->size == 0) return ERROR(INVALID_ARGUMENT, "arena: the config's size is 0; set it to sizeof(ortc_arena_config)");
  if (given) memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
  if (out->extend_strategy == -1) out->extend_strategy = ORTC_NEXT_POWER_OF_TWO;
  if (out->extend_strategy != ORTC_NEXT_POWER_OF_TWO && out->extend_strategy != ORTC_SAME_AS_REQUESTED) {
    return ERROR(INVALID_ARGUMENT, "arena: extend_strategy is %d; it must be 0 (next power of two), 1 (same as requested), or -1 for the default", out->extend_strategy);
  }
  TRY(set_bytes("initial_chunk_bytes", out->initial_chunk_bytes, (int64_t)1 << 20, &out->initial_chunk_bytes));
  TRY(set_bytes("max_dead_bytes_per_chunk", out->max_dead_bytes_per_chunk, (int64_t)128 << 20, &out->max_dead_bytes_per_chunk));
  TRY(set_bytes("initial_growth_chunk_bytes", out->initial_growth_chunk_bytes, (int64_t)2 << 20, &out->initial_growth_chunk_bytes));
  return set_bytes("max_power_of_two_extend_bytes", out->max_power_of_two_extend_bytes, (int64_t)1 << 30, &out->max_power_of_two_extend_bytes);
}

status arena_create(ortc_allocator *source, const ortc_arena_config *config, ortc_allocator **out) {
  *out = NULL;
  ortc_arena_config effective;
  TRY(read_config(config, &effective));
  arena *a = MEM_NEW(arena);
  if (!a) return status_out_of_memory();
  allocator_init(&a->base, &arena_vtable, &source->info);
  a->base.info.allocator_type = ORTC_ARENA_ALLOCATOR;
  a->source = allocator_retain(source);
  pthread_mutex_init(&a->lock, NULL);
  a->config = effective;
  a->next_region_bytes = (size_t)effective.initial_chunk_bytes;
  a->stats.max_bytes = effective.max_bytes;
  *out = &a->base;
  return OK;
}
