/* Where memory is. ortc_memory_info of the C ABI is the one representation. */
#ifndef ORTCORE_DEVICE_MEMORY_INFO_H
#define ORTCORE_DEVICE_MEMORY_INFO_H

#include <ortcore/base/status.h>

#define MEMORY_VENDOR_NVIDIA 0x10de

extern const ortc_memory_info memory_info_cpu;             /* "Cpu", device allocator */
static inline bool memory_info_is_host(const ortc_memory_info *info) {
  return info->device_type == ORTC_DEVICE_CPU || info->device_mem_type == ORTC_DEVICE_MEM_HOST_ACCESSIBLE;
}
/* Memory of an NVIDIA GPU, or of the host that such a GPU reaches by itself? */
static inline bool memory_info_is_cuda(const ortc_memory_info *info) { return info->device_type == ORTC_DEVICE_GPU && info->vendor_id == MEMORY_VENDOR_NVIDIA; }
status memory_info_init(ortc_memory_info *info, const char *name, ortc_allocator_type allocator_type, int32_t device_id, ortc_mem_type mem_type) MUST_CHECK;
bool memory_info_equal(const ortc_memory_info *a, const ortc_memory_info *b);
/* Do pointers of one mean the same memory to the other? (The name and kind of allocator do not matter to that.) */
bool memory_info_same_device(const ortc_memory_info *a, const ortc_memory_info *b);
const char *memory_info_device_name(const ortc_memory_info *info);   /* "cpu", "cuda", "gpu", "npu", "dml" */

#endif
