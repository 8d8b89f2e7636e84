/* Bytes from one memory to another. */
#ifndef ORTCORE_DEVICE_COPY_H
#define ORTCORE_DEVICE_COPY_H

#include <ortcore/device/memory_info.h>

/* Complete when it returns. The ranges may overlap within one device. NOT_IMPLEMENTED where no way is known between the two. */
status device_copy(const ortc_memory_info *to_info, void *to, const ortc_memory_info *from_info, const void *from, size_t bytes) MUST_CHECK;

#endif
