/* Which memory a session can use: the host's always, a device's only through that device. Kernels read and write without a further look, so
 * whatever a caller brings passes here first. */
#include <ortcore/device/memory_info.h>
#include <ortcore/session/session.h>

status session_check_place(const ortc_session *s, const ortc_memory_info *info, const char *role, const char *name) {
  if (!info || memory_info_is_host(info) || (s->lanes.device && device_of(info))) return OK;
  return ERROR(INVALID_ARGUMENT, "%s '%s' lies in memory on %s:%d, which this session, running on %s, cannot reach; give it host memory%s", role, name,
               memory_info_device_name(info), info->device_id, s->lanes.device ? s->lanes.device->name : "the CPU only",
               s->lanes.device ? " or that GPU's" : ", or make the session with CUDAExecutionProvider");
}

status session_check_pointer(const ortc_session *s, const ortc_memory_info *info, const void *data, size_t bytes, size_t alignment, const char *role,
                             const char *name) {
  TRY(session_check_place(s, info, role, name));
  const device *d = info && !memory_info_is_host(info) ? device_of(info) : NULL;
  return d ? status_context(d->vtable->check_memory(d, data, bytes, alignment), "%s '%s'", role, name) : OK;
}

static bool is_on_device(const ortc_value *tensor, const void *unused) {
  (void)unused;
  return tensor->memory && !memory_info_is_host(&tensor->memory->info);
}

status session_check_reach(const ortc_session *s, const ortc_value *v, const char *role, const char *name) {
  if (v->kind != ORTC_VALUE_TENSOR) {
    char type[128];
    if (!ort_value_any(v, is_on_device, NULL)) return OK;
    ort_value_format_type(v, type, sizeof type);
    return ERROR(INVALID_ARGUMENT, "%s '%s' is %s with tensors in a device's memory; what sequences, maps and sparse tensors hold must lie in host memory: "
                 "copy the items to the host first", role, name, type);
  }
  if (!is_on_device(v, NULL)) return OK;
  const ortc_memory_info *info = &v->memory->info;
  if (v->memory->allocator || !v->view.count) return session_check_place(s, info, role, name);
  return session_check_pointer(s, info, v->view.data, tensor_bytes(&v->view), (size_t)tensor_width(&v->view), role, name);
}
