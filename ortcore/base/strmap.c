#include <ortcore/base/mem.h>
#include <ortcore/base/strmap.h>

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

/* Linear probing in a table of a power of two slots that is at most three quarters full; removal shifts later entries back, so there are
 * no tombstones. The hash is seeded at random: the names come from model files, which could be made to collide under a known one. */
struct strmap_entry {
  const char *key;                                         /* NULL: free */
  int64_t value;
  uint64_t hash;
};

static uint64_t seed[2];
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void seed_init(void) {
  if (getrandom(seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
    seed[0] = (uint64_t)(uintptr_t)&seed_once;
    seed[1] = (uint64_t)(uintptr_t)__builtin_frame_address(0);
  }
  seed[0] |= 1;
}

/* The high and the low half of a 128-bit product, folded together. */
static uint64_t mix(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_text(const char *text) {
  size_t bytes = strlen(text);
  uint64_t hash = seed[0] ^ bytes, word;
  for (; bytes >= 8; bytes -= 8, text += 8) {
    memcpy(&word, text, 8);
    hash = mix(hash ^ word, seed[1] ^ 0x9e3779b97f4a7c15u);
  }
  word = 0;
  memcpy(&word, text, bytes);
  return mix(hash ^ word, seed[1] ^ 0xe7037ed1a0b428dbu);
}

void strmap_init(strmap *map) {
  pthread_once(&seed_once, seed_init);
  *map = (strmap){0};
}

void strmap_deinit(strmap *map) {
  mem_free(map->entries);
  *map = (strmap){0};
}

/* The entry that holds `key`, or the free one where it would go. The table has free entries. */
static struct strmap_entry *find(const strmap *map, const char *key, uint64_t hash) {
  size_t mask = map->capacity - 1, i = hash & mask;
  while (map->entries[i].key && (map->entries[i].hash != hash || strcmp(map->entries[i].key, key) != 0)) i = (i + 1) & mask;
  return &map->entries[i];
}

static bool grow(strmap *map) {
  strmap larger = {.count = map->count, .capacity = map->capacity ? 2 * map->capacity : 16};
  larger.entries = mem_calloc(larger.capacity, sizeof *larger.entries);
  if (!larger.entries) return false;
  for (size_t i = 0; i < map->capacity; ++i) {
    if (map->entries[i].key) *find(&larger, map->entries[i].key, map->entries[i].hash) = map->entries[i];
  }
  mem_free(map->entries);
  *map = larger;
  return true;
}

bool strmap_put(strmap *map, const char *key, int64_t value) {
  if (map->count >= map->capacity / 4 * 3 && !grow(map)) return false;
  uint64_t hash = hash_text(key);
  struct strmap_entry *entry = find(map, key, hash);
  if (entry->key) entry->value = value;
  else {
    *entry = (struct strmap_entry){key, value, hash};
    ++map->count;
  }
  return true;
}

bool strmap_get(const strmap *map, const char *key, int64_t *out_value) {
  if (map->count == 0) return false;
  const struct strmap_entry *entry = find(map, key, hash_text(key));
  if (!entry->key) return false;
  if (out_value) *out_value = entry->value;
  return true;
}

bool strmap_remove(strmap *map, const char *key) {
  if (map->count == 0) return false;
  struct strmap_entry *entry = find(map, key, hash_text(key));
  if (!entry->key) return false;
  size_t mask = map->capacity - 1, hole = (size_t)(entry - map->entries);
  for (size_t i = (hole + 1) & mask; map->entries[i].key; i = (i + 1) & mask) {
    /* An entry may move into the hole unless its home lies cyclically behind the hole. */
    size_t home = map->entries[i].hash & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    map->entries[hole] = map->entries[i];
    hole = i;
  }
  map->entries[hole] = (struct strmap_entry){0};
  --map->count;
  return true;
}
