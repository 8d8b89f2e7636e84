#include <ortcore/device/copy.h>

#include <string.h>

status device_copy(const ortc_memory_info *to_info, void *to, const ortc_memory_info *from_info, const void *from, size_t bytes) {
  if (bytes == 0) return OK;
  if (memory_info_is_host(to_info) && memory_info_is_host(from_info)) {
    memmove(to, from, bytes);
    return OK;
  }
  return ERROR(NOT_IMPLEMENTED, "copy: no provider that is loaded can copy from %s:%d to %s:%d", memory_info_device_name(from_info), from_info->device_id,
               memory_info_device_name(to_info), to_info->device_id);
}
