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
  bool on_device = info && !memory_info_is_host(info);
  const device *d = on_device ? device_of(info) : device_at(1);   /* 0 is the CPU; a GPU that is in use knows every GPU's memory */
  if (!d || !bytes) return OK;
  status result = OK;
  if (on_device) result = d->vtable->check_memory(d, data, bytes, alignment);
  else if (d->vtable->check_host) result = d->vtable->check_host(d, data);
  return status_context(result, "%s '%s'", role, name);
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

status session_check_bound(const ortc_session *s, const ortc_value *v, const char *role, const char *name) {
  TRY(session_check_reach(s, v, role, name));
  if (v->kind != ORTC_VALUE_TENSOR || !v->memory || v->memory->allocator || is_on_device(v, NULL)) return OK;
  return session_check_pointer(s, &v->memory->info, v->view.data, tensor_bytes(&v->view), 1, role, name);
}
