/* The exported functions of bindings. */
#include <ortcore/api/check.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/session/binding.h>

ortc_status *ortc_binding_create(ortc_session *session, ortc_binding **out_binding) {
  NEEDS(out_binding);
  *out_binding = NULL;
  NEEDS(session);
  return binding_create(session, out_binding);
}

void ortc_binding_release(ortc_binding *binding) { binding_release(binding); }

ortc_status *ortc_binding_bind_input(ortc_binding *binding, const char *name, ortc_value *value) {
  NEEDS(binding);
  NEEDS(name);
  NEEDS(value);
  return binding_bind_input(binding, name, value);
}

ortc_status *ortc_binding_bind_output(ortc_binding *binding, const char *name, ortc_value *value) {
  NEEDS(binding);
  NEEDS(name);
  NEEDS(value);
  if (value->kind == ORTC_VALUE_NONE) return binding_bind_output(binding, name, &(bound_output){.kind = TARGET_ENGINE, .info = memory_info_cpu});
  bound_output how = {.kind = TARGET_BUFFER, .value = ort_value_retain(value)};
  status s = binding_bind_output(binding, name, &how);
  if (s) ort_value_release(value);
  return s;
}

ortc_status *ortc_binding_bind_output_device(ortc_binding *binding, const char *name, const ortc_memory_info *info) {
  NEEDS(binding);
  NEEDS(name);
  return binding_bind_output(binding, name, &(bound_output){.kind = TARGET_ENGINE, .info = info ? *info : memory_info_cpu});
}

ortc_status *ortc_binding_bind_output_allocator(ortc_binding *binding, const char *name, const ortc_memory_info *info, ortc_output_alloc_fn alloc,
                                                ortc_release_fn release, void *user) {
  NEEDS(binding);
  NEEDS(name);
  NEEDS(alloc);
  TRY(session_check_place(binding->session, info, "output", name));
  return binding_bind_output(binding, name, &(bound_output){.kind = TARGET_CALLBACK, .info = info ? *info : memory_info_cpu, .alloc = alloc, .release = release, .user = user});
}

ortc_status *ortc_binding_bind_output_capacity(ortc_binding *binding, const char *name, const ortc_memory_info *info, void *data, size_t capacity,
                                               ortc_release_fn release, void *user) {
  NEEDS(binding);
  NEEDS(name);
  if (!data && capacity) return ERROR(INVALID_ARGUMENT, "output '%s' is bound to %zu bytes at the address 0; give the address of that memory", name, capacity);
  TRY(session_check_pointer(binding->session, info, data, capacity, 1, "output", name));
  buffer *memory;
  TRY(buffer_borrow(info, data, capacity, release, user, &memory));
  status s = binding_bind_output(binding, name, &(bound_output){.kind = TARGET_CAPACITY, .data = data, .capacity = capacity, .memory = memory});
  if (s) buffer_abandon(memory);
  return s;
}

void ortc_binding_clear_inputs(ortc_binding *binding) {
  if (binding) binding_clear_inputs(binding);
}

void ortc_binding_clear_outputs(ortc_binding *binding) {
  if (binding) binding_clear_outputs(binding);
}

ortc_status *ortc_binding_synchronize_inputs(ortc_binding *binding) {
  NEEDS(binding);
  return stream_synchronise(binding->work);
}

ortc_status *ortc_binding_synchronize_outputs(ortc_binding *binding) {
  NEEDS(binding);
  return stream_synchronise(binding->work);
}

size_t ortc_binding_get_output_count(const ortc_binding *binding) { return binding ? (size_t)binding->order_count : 0; }

const char *ortc_binding_get_output_name(const ortc_binding *binding, size_t index) {
  if (!binding || index >= (size_t)binding->order_count) return NULL;
  return binding->session->io[ORTC_IO_OUTPUT].items[binding->order[index]].info.name;
}

ortc_status *ortc_binding_get_output(ortc_binding *binding, size_t index, ortc_value **out_value) {
  NEEDS(out_value);
  *out_value = NULL;
  NEEDS(binding);
  if (index >= (size_t)binding->order_count)
    return ERROR(INVALID_ARGUMENT, "output index %zu is out of range: %d outputs are bound", index, binding->order_count);
  ortc_value *value = binding->outputs[binding->order[index]].value;
  *out_value = value ? ort_value_retain(value) : ort_value_none();
  return *out_value ? OK : status_out_of_memory();
}

ortc_status *ortc_session_run_binding(ortc_session *session, ortc_binding *binding, const ortc_run_options *options) {
  NEEDS(session);
  NEEDS(binding);
  if (binding->session != session) return ERROR(INVALID_ARGUMENT, "the binding was made for another session; make one with this session");
  return binding_run(binding, options);
}

void ortc_binding_count_copied(ortc_binding *binding, uint64_t bytes) {
  if (binding) binding->copied += bytes;
}
