/* Which device has some memory, where its provider may not have been opened yet. */
#include <ortcore/provider/provider.h>

status provider_device(const ortc_memory_info *info, const device **out) {
  const char *why_not = NULL, *name = memory_info_device_name(info);
  *out = device_of(info);
  if (*out) return OK;
  if (!memory_info_is_cuda(info)) return ERROR(NOT_IMPLEMENTED, "no provider of this build has memory on '%s'; there are 'cpu' and 'cuda'", name);
  const provider *p = provider_cuda(&why_not);
  if (!p) return ERROR(EP_FAIL, "device '%s:%d' cannot be used, because CUDA is not available: %s", name, info->device_id, why_not);
  *out = device_of(info);
  if (*out) return OK;
  int count = p->device_count(&why_not);
  return ERROR(INVALID_ARGUMENT, "there is no device '%s:%d': %d GPU%s can be used here, counted from 0", name, info->device_id, count, count == 1 ? "" : "s");
}
