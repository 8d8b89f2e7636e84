/* Which providers there are. The CPU is built in. CUDA is a plugin, opened on first use, and only where an NVIDIA driver is installed: a
 * machine without one never maps it. */
#include <dlfcn.h>
#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/provider/provider.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_id.h"

static const provider_host host = {
  .size = sizeof(provider_host), .build_id = ORTCORE_BUILD_ID, .make_status = status_vmake, .add_context = status_vcontext, .at_node = status_at_node,
  .out_of_memory = status_out_of_memory, .release_status = status_release, .log_enabled = log_enabled, .log = log_write, .alloc = mem_alloc,
  .calloc = mem_calloc, .realloc = mem_realloc, .free = mem_free};

const provider *provider_open(const char *path, char *why_not, size_t capacity) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(why_not, capacity, "the plugin cannot be opened: %s", dlerror());
    return NULL;
  }
  provider_entry_fn entry;
  *(void **)&entry = dlsym(library, PROVIDER_ENTRY);       /* POSIX's way to make a function pointer of an object pointer */
  const provider *p = entry ? entry(&host) : NULL;
  if (p && p->size == sizeof *p && strcmp(p->build_id, ORTCORE_BUILD_ID) == 0) return p;
  snprintf(why_not, capacity, "%s was not built from the same sources as this libortcore.so (build id " ORTCORE_BUILD_ID "): install both from one package", path);
  dlclose(library);
  return NULL;
}

/* Real or emulated is decided once a process, when CUDA is first asked for. */
enum choice { UNDECIDED, EMULATION_WANTED, REAL, EMULATED };
static struct { pthread_once_t once; const provider *provider; _Atomic int choice; char why_not[1024]; } cuda = {.once = PTHREAD_ONCE_INIT};

#if ORTCORE_CUDA
/* The path of a library that lies in the directory of this one. */
static bool path_beside_this_library(const char *file, char *path, size_t capacity) {
  Dl_info info;
  if (!dladdr((const void *)&host, &info) || !info.dli_fname) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  int directory = slash ? (int)(slash + 1 - info.dli_fname) : 0;
  return snprintf(path, capacity, "%.*s%s", directory, info.dli_fname, file) < (int)capacity;
}

static bool decide(void) {
  const char *asked = getenv("ORTCORE_CUDA");
  bool by_environment = asked && !strcmp(asked, "emulated");
  int before = UNDECIDED;
  bool emulated = !atomic_compare_exchange_strong(&cuda.choice, &before, by_environment ? EMULATED : REAL) || by_environment;
  if (emulated) cuda.choice = EMULATED;
  return emulated;
}

static void register_devices(const provider *p, int count) {
  for (int i = 0; i < count; ++i) {
    const device *d = p->device_at(i);
    if (!d || !device_register(d)) LOG(WARNING, "GPU %d cannot be used: there is no memory, or no room, for it", i);
  }
}

static void cuda_find(void) {
  char path[4096];
  const char *no_device = NULL;
  bool emulated = decide();
  if (!emulated && !dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {   /* loading it initialises nothing */
    snprintf(cuda.why_not, sizeof cuda.why_not, "no NVIDIA driver (libcuda.so.1) is installed here");
    return;
  }
  if (!path_beside_this_library(emulated ? "libortcore_cuda_emulated.so" : "libortcore_cuda.so", path, sizeof path)) {
    snprintf(cuda.why_not, sizeof cuda.why_not, "the directory of libortcore.so cannot be told");
    return;
  }
  const provider *p = provider_open(path, cuda.why_not, sizeof cuda.why_not);
  if (!p) {
    LOG(WARNING, "CUDA is not available: %s", cuda.why_not);
    return;
  }
  int count = p->device_count(&no_device);
  if (count > 0) {
    register_devices(p, count);
    cuda.provider = p;
  } else {
    snprintf(cuda.why_not, sizeof cuda.why_not, "%s", no_device);
  }
}
#else
static void cuda_find(void) { snprintf(cuda.why_not, sizeof cuda.why_not, "this build of ortcore has no CUDA provider"); }
#endif

const provider *provider_cuda(const char **out_why_not) {
  pthread_once(&cuda.once, cuda_find);
  if (out_why_not) *out_why_not = cuda.provider ? NULL : cuda.why_not;
  return cuda.provider;
}

status provider_emulate_cuda(void) {
  int before = UNDECIDED;
  if (atomic_compare_exchange_strong(&cuda.choice, &before, EMULATION_WANTED) || before != REAL) return OK;
  return ERROR(FAIL, "emulation must be chosen before CUDA is used for the first time in a process; call it first, or set ORTCORE_CUDA=emulated in the environment");
}

const char *provider_available(size_t index) {
  const char *const with_cuda[] = {PROVIDER_CUDA, PROVIDER_CPU};
  size_t first = provider_cuda(NULL) ? 0 : 1;
  return index < 2 - first ? with_cuda[first + index] : NULL;
}

bool provider_is_known(const char *name) { return strcmp(name, PROVIDER_CPU) == 0 || strcmp(name, PROVIDER_CUDA) == 0; }

static bool row_serves(const kernel_row *row, const node *n, const fact *const *in) {
  const char *domain = row->domain ? row->domain : "";
  if (strcmp(row->op, n->op->name) != 0 || strcmp(domain, n->op->domain ? n->op->domain : "") != 0 || row->since > n->op->since) return false;
  if (n->input_count && in[0] && !typeset_has(row->types, in[0]->type)) return false;
  return !row->supports || row->supports(n, in);
}

const kernel_row *provider_find_kernel(const provider *p, const node *n, const fact *const *in) {
  const kernel_row *best = NULL;
  for (const kernel_row *const *family = p->families; *family; ++family)
    for (const kernel_row *row = *family; row->op; ++row)
      if ((!best || row->since > best->since) && row_serves(row, n, in)) best = row;
  return best;
}
