/* The GPUs of this process: made on first use, made current, and put back to what was. */
#include <ortcore/base/mem.h>
#include <ortcore/provider/cuda/gpu.h>
#include <stdio.h>

enum { MOST_GPUS = 32, NEEDED_CAPABILITY = 80 };

/* ---- The driver's own functions ---- */

static struct { pthread_once_t once; driver_functions functions; } driver = {.once = PTHREAD_ONCE_INIT};

static void find_function(const char *name, void *out_function) {
  void *function = NULL;
  enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
  if (error == cudaSuccess && found == cudaDriverEntryPointSuccess) *(void **)out_function = function;
  else (void)cudaGetLastError();
}

static void find_driver(void) {
  find_function("cuCtxGetCurrent", &driver.functions.get_current);
  find_function("cuCtxSetCurrent", &driver.functions.set_current);
  find_function("cuMemGetAddressRange", &driver.functions.address_range);
}

const driver_functions *cuda_driver(void) {
  pthread_once(&driver.once, find_driver);
  return &driver.functions;
}

/* ---- Current or not ----
 *
 * A caller may have any context current, one of the driver API too. With the driver's functions the context itself is kept and put back;
 * without them the device's number has to do. The token of gpu_enter is NOTHING when the GPU was current already. */

enum { NOTHING = 0, NO_CONTEXT = 1 };

static status enter_by_context(gpu *g, const driver_functions *d, intptr_t *out_token) {
  void *before = NULL;
  if (d->get_current(&before) != 0) before = NULL;         /* a driver that is not initialised has no context either */
  void *own = __atomic_load_n(&g->context, __ATOMIC_ACQUIRE);
  if (own && before == own) return OK;
  status s = gpu_status(g, cudaSetDevice(g->index), "the device cannot be made current");
  if (s) return s;
  void *now = NULL;
  if (d->get_current(&now) == 0) __atomic_store_n(&g->context, now, __ATOMIC_RELEASE);
  if (now != before) *out_token = before ? (intptr_t)before : NO_CONTEXT;
  return OK;
}

static status enter_by_number(const gpu *g, intptr_t *out_token) {
  int before = 0;
  status s = gpu_status(g, cudaGetDevice(&before), "the current device cannot be told");
  if (s || before == g->index) return s;
  s = gpu_status(g, cudaSetDevice(g->index), "the device cannot be made current");
  if (!s) *out_token = before + 1;
  return s;
}

status gpu_enter(const gpu *g, intptr_t *out_token) {
  *out_token = NOTHING;
  if (g->capability < NEEDED_CAPABILITY) {
    return ERROR(EP_FAIL, "%s has compute capability %d.%d; the kernels of ortcore need %d.%d or newer. Choose another device_id, or run on the CPU.",
                 g->title, g->capability / 10, g->capability % 10, NEEDED_CAPABILITY / 10, NEEDED_CAPABILITY % 10);
  }
  const driver_functions *d = cuda_driver();
  if (d->get_current && d->set_current) return enter_by_context((gpu *)(uintptr_t)g, d, out_token);
  return enter_by_number(g, out_token);
}

void gpu_leave(intptr_t token) {
  if (token == NOTHING) return;
  const driver_functions *d = cuda_driver();
  if (d->get_current && d->set_current) d->set_current(token == NO_CONTEXT ? NULL : (void *)token);
  else (void)cudaSetDevice((int)token - 1);
}

static status device_enter(const device *d, intptr_t *out_token) { return gpu_enter(gpu_of(d), out_token); }

static void device_leave(const device *d, intptr_t token) {
  (void)d;
  gpu_leave(token);
}

/* ---- The GPUs ---- */

static bool device_serves(const device *d, const ortc_memory_info *info) {
  return info->device_type == ORTC_DEVICE_GPU && info->device_mem_type == ORTC_DEVICE_MEM_DEFAULT && info->vendor_id == MEMORY_VENDOR_NVIDIA &&
         info->device_id == gpu_of(d)->index;
}

static ortc_allocator *device_allocator(const device *d) { return gpu_of(d)->memory; }
static ortc_allocator *device_host_allocator(const device *d) { return gpu_of(d)->pinned; }

const device_vtable cuda_device_vtable = {
  .serves = device_serves, .allocator = device_allocator, .host_allocator = device_host_allocator, .external_allocator = gpu_external_allocator,
  .enter = device_enter, .leave = device_leave, .check_memory = gpu_check_memory, .check_host = gpu_check_host,
  .stream_create = gpu_stream_create, .stream_wrap = gpu_stream_wrap,
  .stream_handle = gpu_stream_handle, .stream_release = gpu_stream_release, .stream_synchronise = gpu_stream_synchronise,
  .event_create = gpu_event_create, .event_wrap = gpu_event_wrap, .event_release = gpu_event_release, .event_record = gpu_event_record, .event_synchronise = gpu_event_synchronise,
  .stream_wait = gpu_stream_wait, .copy = gpu_copy, .copy_rows = gpu_copy_rows, .fill = gpu_fill, .capture_begin = gpu_capture_begin, .capture_end = gpu_capture_end,
  .is_capturing = gpu_is_capturing, .graph_update = gpu_graph_update, .graph_launch = gpu_graph_launch, .graph_release = gpu_graph_release, .marks = gpu_marks};

static gpu *gpu_create(int index) {
  struct cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
    (void)cudaGetLastError();
    return NULL;
  }
  gpu *g = MEM_NEW(gpu);
  if (!g) return NULL;
  g->index = index;
  g->capability = properties.major * 10 + properties.minor;
  snprintf(g->title, sizeof g->title, "GPU %d (%.120s)", index, properties.name);
  g->base = (device){&cuda_device_vtable, g->title};
  pthread_mutex_init(&g->lock, NULL);
  g->memory = gpu_memory_create(g);
  g->pinned = gpu_pinned_create(g);
  if (g->memory && g->pinned) return g;
  mem_free(g->memory);
  mem_free(g->pinned);
  mem_free(g);
  return NULL;
}

const device *cuda_device_at(int index) {
  static gpu *gpus[MOST_GPUS];
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int count = 0;
  if (index < 0 || index >= MOST_GPUS || cudaGetDeviceCount(&count) != cudaSuccess || index >= count) return NULL;
  pthread_mutex_lock(&lock);
  if (!gpus[index]) gpus[index] = gpu_create(index);
  gpu *g = gpus[index];
  pthread_mutex_unlock(&lock);
  return g ? &g->base : NULL;
}
