/* Arrays in a zone that grow: they double when they are full, and what they leave behind goes with the zone. */
#ifndef ORTCORE_IR_GROW_H
#define ORTCORE_IR_GROW_H

#include <ortcore/base/zone.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Makes room for one more item; false without memory, or beyond what an int32_t counts. */
static inline bool zone_grow(zone *z, void *items_address, int32_t count, int32_t *capacity, size_t size) {
  void *items, *larger;
  if (count < *capacity) return true;
  int32_t wanted = *capacity ? (*capacity > INT32_MAX / 2 ? INT32_MAX : *capacity * 2) : 8;
  if (wanted <= count || !(larger = zone_alloc_array(z, (size_t)wanted, size))) return false;
  memcpy(&items, items_address, sizeof items);
  if (count) memcpy(larger, items, (size_t)count * size);
  memcpy(items_address, &larger, sizeof larger);
  *capacity = wanted;
  return true;
}

#endif
