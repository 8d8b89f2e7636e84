/* Host bump memory: many small allocations, freed together. Not thread-safe. Memory is zeroed and aligned to
 * 16 bytes, from 1 KB on to 64. */
#ifndef ORTCORE_BASE_ZONE_H
#define ORTCORE_BASE_ZONE_H

#include <stddef.h>

typedef struct zone zone;

zone *zone_create(void);                                   /* NULL without memory */
void zone_release(zone *z);
void *zone_alloc(zone *z, size_t bytes);                   /* NULL without memory; never NULL for 0 bytes otherwise */
void *zone_alloc_array(zone *z, size_t count, size_t size);/* checked multiplication */
void *zone_copy(zone *z, const void *data, size_t bytes);
char *zone_strdup(zone *z, const char *text);
char *zone_strndup(zone *z, const char *text, size_t bytes);
char *zone_printf(zone *z, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t zone_bytes(const zone *z);                          /* held from the system */

#define ZONE_NEW(z, type) ((type *)zone_alloc((z), sizeof(type)))
#define ZONE_ARRAY(z, count, type) ((type *)zone_alloc_array((z), (size_t)(count), sizeof(type)))

#endif
