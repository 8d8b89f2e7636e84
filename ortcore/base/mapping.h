/* Files mapped into memory, read-only. */
#ifndef ORTCORE_BASE_MAPPING_H
#define ORTCORE_BASE_MAPPING_H

#include <stddef.h>

/* The first `bytes` of an open file, at least one; NULL with errno. The file may be closed. Thread-safe, like everything here. */
void *mapping_create(int fd, size_t bytes);
void mapping_release(void *data);
/* Whoever made something else of these bytes, such as packed weights, says so: if they lie in a mapping, their pages no longer count as the process's
 * memory, and who reads them again after all reads the file again. Other memory is left alone. */
void mapping_let_go(const void *data, size_t bytes);

#endif
