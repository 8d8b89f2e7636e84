/* Map from strings to integers, open addressing. Keys are borrowed: they must outlive the map. Not for concurrent writes. */
#ifndef ORTCORE_BASE_STRMAP_H
#define ORTCORE_BASE_STRMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct strmap { struct strmap_entry *entries; size_t count, capacity; } strmap;

void strmap_init(strmap *map);
void strmap_deinit(strmap *map);
bool strmap_put(strmap *map, const char *key, int64_t value);         /* replaces; false without memory */
bool strmap_get(const strmap *map, const char *key, int64_t *out_value);
bool strmap_remove(strmap *map, const char *key);

#endif
