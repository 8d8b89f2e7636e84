/* The one door to the system's heap. Every allocation of the process that ortcore makes passes here, so that tests can make the n-th one
 * fail, whichever it is (ortc_allocator_inject_failure). */
#ifndef ORTCORE_BASE_MEM_H
#define ORTCORE_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t bytes);                             /* NULL without memory; never NULL for 0 bytes otherwise */
void *mem_calloc(size_t count, size_t size);               /* zeroed; checked multiplication */
void *mem_aligned(size_t alignment, size_t bytes);         /* alignment: a power of two */
void *mem_realloc(void *data, size_t bytes);               /* on failure `data` stays as it was */
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t bytes);         /* `bytes` bytes of it, and a NUL */
void mem_free(void *data);                                 /* of any of the above; NULL is fine */
size_t mem_refused_bytes(void);                            /* of this thread's latest allocation that failed; 0: none did */
size_t mem_usable_bytes(void *data);                       /* what the heap really set aside for it */

void mem_inject_failure(uint64_t n);                       /* 0: off */
bool mem_failure_pending(void);                            /* armed, and not yet reached */
/* Counts one allocation; true if it is the one that must fail. For allocations that the functions above do not make. */
bool mem_fails_now(void);

#define MEM_NEW(type) ((type *)mem_calloc(1, sizeof(type)))

#endif
