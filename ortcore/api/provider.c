/* What this build can run, and on what. */
#include <dlfcn.h>
#include <ortcore/api/check.h>
#include <ortcore/ops/op.h>
#include <ortcore/provider/provider.h>
#include <string.h>

const char *ortc_available_provider(size_t index) { return provider_available(index); }

static bool is_cuda(const char *name) { return name && strcmp(name, PROVIDER_CUDA) == 0; }

const char *ortc_provider_why_not(const char *name) {
  const char *why_not = "there is no provider of that name";
  if (!name || strcmp(name, PROVIDER_CPU) == 0) return name ? "" : why_not;
  return is_cuda(name) && provider_cuda(&why_not) ? "" : why_not;
}

int ortc_provider_get_device_count(const char *name) {
  const char *ignored;
  const provider *p = is_cuda(name) ? provider_cuda(NULL) : NULL;
  return p ? p->device_count(&ignored) : name && strcmp(name, PROVIDER_CPU) == 0;
}

const char *ortc_provider_get_device_name(const char *name, int device_id) {
  if (device_id < 0 || device_id >= ortc_provider_get_device_count(name)) return NULL;
  const device *d = is_cuda(name) ? provider_cuda(NULL)->device_at(device_id) : device_cpu();
  return d ? d->name : NULL;
}

const char *ortc_provider_get_library(const char *name) {
  Dl_info info = {0};
  const void *inside = is_cuda(name) ? (const void *)provider_cuda(NULL) : name && strcmp(name, PROVIDER_CPU) == 0 ? (const void *)device_cpu() : NULL;
  return inside && dladdr(inside, &info) && info.dli_fname ? info.dli_fname : "";
}

ortc_status *ortc_use_emulated_cuda(void) { return provider_emulate_cuda(); }

void ortc_set_cuda_library_folders(const char *folders) {
  const provider *p = provider_cuda(NULL);
  if (p) p->set_library_folders(folders);
}

bool ortc_get_cuda_kernel(size_t index, ortc_operator *out_kernel) {
  const provider *p = provider_cuda(NULL);
  *out_kernel = (ortc_operator){0};
  for (const kernel_row *const *family = p ? p->families : NULL; family && *family; ++family) {
    for (const kernel_row *row = *family; row->op; ++row) {
      if (index--) continue;
      *out_kernel = (ortc_operator){row->op, row->domain ? row->domain : "", row->since, "", {row->types}};
      return true;
    }
  }
  return false;
}

bool ortc_get_operator(size_t index, ortc_operator *out_operator) {
  const op_def *op = op_at(index);
  *out_operator = op ? (ortc_operator){op->name, op->domain ? op->domain : "", op->since, op->signature, {op->T, op->T1, op->T2, op->T3, op->T4, op->T5, op->V}}
                     : (ortc_operator){0};
  return op != NULL;
}
