/* GPUs behind the device vtable, on the emulated GPU: what they do, what they refuse and how the refusal reads, and what happens when CUDA
 * fails anywhere.
 *   device_cuda [path of libortcore_cuda_emulated.so] */
#include "check.h"

#include <dlfcn.h>
#include <ortcore/base/mem.h>
#include <ortcore/provider/provider.h>
#include <stdint.h>

enum { BYTES = 4096, ILLEGAL_ADDRESS = 700 };

static const device *gpu, *other;
static const device_vtable *v;
static int (*configure)(const char *key, int64_t value);
static int64_t (*counter)(const char *name);
static char host_a[BYTES], host_b[BYTES];

static const ortc_memory_info *info_of(const device *d) { return &d->vtable->allocator(d)->info; }
static memory_place on(const device *d, void *data) { return (memory_place){info_of(d), data}; }
static memory_place here(void *data) { return (memory_place){&memory_info_cpu, data}; }

static void *take(const device *d, size_t bytes) {
  void *data = NULL;
  CHECK_OK(allocator_alloc(d->vtable->allocator(d), bytes, &data));
  return data;
}

static void give(const device *d, void *data) { allocator_free(d->vtable->allocator(d), data); }

static void fill(void) {
  for (int i = 0; i < BYTES; ++i) {
    host_a[i] = (char)(i * 7);
    host_b[i] = 0;
  }
}

static void test_memory(void) {
  ortc_allocator_stats stats;
  ortc_allocator *plain = v->allocator(gpu), *pinned = v->host_allocator(gpu);
  CHECK_TEXT(plain->info.name, "Cuda");
  CHECK_TEXT(pinned->info.name, "CudaPinned");
  CHECK(strstr(gpu->name, "GPU 0") && strstr(gpu->name, "mulated"));
  CHECK(v->serves(gpu, &plain->info) && !v->serves(gpu, &pinned->info) && !v->serves(gpu, &memory_info_cpu));
  char *device_memory = take(gpu, 1000), *page_locked = NULL;
  CHECK_OK(allocator_alloc(pinned, 1000, (void **)&page_locked));
  page_locked[999] = 1;
  plain->vtable->get_stats(plain, &stats);
  CHECK_INT(stats.bytes_in_use, 1000);
  CHECK_OK(v->check_memory(gpu, device_memory, 1000, 8));
  give(gpu, device_memory);
  give(gpu, device_memory);                                 /* told in the log, and no harm */
  allocator_free(pinned, page_locked);
  plain->vtable->get_stats(plain, &stats);
  CHECK(stats.bytes_in_use == 0 && stats.allocations == 1 && stats.frees == 1 && stats.largest_allocation == 1000);
}

static void test_no_memory(void) {
  void *data = NULL;
  CHECK_ERROR(allocator_alloc(v->allocator(gpu), (size_t)1 << 40, &data), OUT_OF_MEMORY, "was asked for 1099511627776 bytes");
  CHECK_ERROR(allocator_alloc(v->allocator(gpu), (size_t)1 << 40, &data), OUT_OF_MEMORY, "gpu_mem_limit");
  configure("fail_allocation", 1);
  CHECK_ERROR(allocator_alloc(v->allocator(gpu), 64, &data), OUT_OF_MEMORY, "GPU 0");
  CHECK(!data);
  data = take(gpu, 64);
  give(gpu, data);
}

static void test_copies(void) {
  fill();
  char *a = take(gpu, BYTES), *b = take(gpu, BYTES);
  CHECK_OK(v->copy(gpu, NULL, on(gpu, a), here(host_a), BYTES));
  CHECK_OK(v->copy(gpu, NULL, on(gpu, b), on(gpu, a), BYTES));
  CHECK_OK(v->copy(gpu, NULL, here(host_b), on(gpu, b), BYTES));
  CHECK(memcmp(host_a, host_b, BYTES) == 0);
  CHECK_OK(v->copy(gpu, NULL, on(gpu, a + 16), on(gpu, a), BYTES - 16));      /* overlapping */
  CHECK_OK(v->copy(gpu, NULL, here(host_b), on(gpu, a), BYTES));
  CHECK(memcmp(host_a, host_b + 16, BYTES - 16) == 0 && memcmp(host_a, host_b, 16) == 0);
  char *far = take(other, BYTES);
  CHECK_OK(v->copy(gpu, NULL, on(other, far), on(gpu, b), BYTES));
  CHECK_OK(other->vtable->copy(other, NULL, here(host_b), on(other, far), BYTES));
  CHECK(memcmp(host_a, host_b, BYTES) == 0);
  give(other, far);
  give(gpu, a);
  give(gpu, b);
}

static void test_streams(void) {
  stream *first, *second, *wrapped, *far;
  event *mark, *far_mark;
  fill();
  char *a = take(gpu, BYTES), *b = take(other, BYTES);
  CHECK_OK(stream_create(gpu, &first));
  CHECK_OK(stream_create(gpu, &second));
  CHECK_OK(stream_create(other, &far));
  CHECK_OK(event_create(gpu, &mark));
  CHECK_OK(event_create(other, &far_mark));
  CHECK_OK(v->copy(gpu, first, on(gpu, a), here(host_a), BYTES));
  CHECK_OK(event_record(mark, first));
  CHECK_OK(stream_wait(far, mark));                         /* one GPU waits for another */
  CHECK_OK(other->vtable->copy(other, far, on(other, b), on(gpu, a), BYTES));
  CHECK_OK(event_record(far_mark, far));
  CHECK_OK(event_synchronise(far_mark));
  CHECK_OK(other->vtable->copy(other, NULL, here(host_b), on(other, b), BYTES));
  CHECK(memcmp(host_a, host_b, BYTES) == 0);

  CHECK_ERROR(event_record(far_mark, first), INVALID_ARGUMENT, "an event of GPU 1");
  CHECK_OK(v->stream_wrap(gpu, v->stream_handle(second), &wrapped));
  CHECK(v->stream_handle(wrapped) == v->stream_handle(second));
  stream_release(wrapped);
  CHECK_OK(stream_synchronise(second));                     /* it was not destroyed */
  CHECK_ERROR(v->stream_wrap(gpu, v->stream_handle(far), &wrapped), INVALID_ARGUMENT, "belongs to GPU 1");
  CHECK_OK(v->stream_wrap(gpu, NULL, &wrapped));            /* the legacy default stream */
  CHECK_OK(stream_synchronise(wrapped));
  stream_release(wrapped);

  stream *host;
  event *host_mark;
  CHECK_OK(stream_create(device_cpu(), &host));
  CHECK_OK(event_create(device_cpu(), &host_mark));
  CHECK_OK(event_record(host_mark, host));
  CHECK_OK(stream_wait(first, host_mark));
  CHECK_OK(stream_wait(host, mark));
  event_release(mark);
  event_release(far_mark);
  stream_release(first);
  stream_release(second);
  stream_release(far);
  give(gpu, a);
  give(other, b);
}

static void test_pointers(void) {
  char *a = take(gpu, BYTES), *far = take(other, BYTES), *page_locked = NULL;
  CHECK_OK(allocator_alloc(v->host_allocator(gpu), 64, (void **)&page_locked));
  CHECK_OK(v->check_memory(gpu, NULL, 0, 4));
  CHECK_OK(v->check_memory(gpu, a + 4, BYTES - 4, 4));
  CHECK_ERROR(v->check_memory(gpu, NULL, 4, 4), INVALID_ARGUMENT, "the pointer is NULL");
  CHECK_ERROR(v->check_memory(gpu, a + 2, 4, 4), INVALID_ARGUMENT, "not a multiple of 4");
  CHECK_ERROR(v->check_memory(gpu, a + 4, BYTES, 4), INVALID_ARGUMENT, "up to the end of its allocation");
  CHECK_ERROR(v->check_memory(gpu, host_a, 4, 1), INVALID_ARGUMENT, "is memory of the host");
  CHECK_ERROR(v->check_memory(gpu, page_locked, 4, 1), INVALID_ARGUMENT, "page-locked memory of the host");
  CHECK_ERROR(v->check_memory(gpu, far, 4, 1), INVALID_ARGUMENT, "is memory of GPU 1");
  CHECK_ERROR(v->check_host(gpu, far), INVALID_ARGUMENT, "is memory of GPU 1, which the host cannot use");
  CHECK_ERROR(v->check_host(gpu, a), INVALID_ARGUMENT, "is memory of GPU 0, which the host cannot use");
  CHECK_OK(v->check_host(gpu, host_a));
  CHECK_OK(v->check_host(gpu, page_locked));
  give(gpu, a);
  CHECK_ERROR(v->check_memory(gpu, a, 4, 1), INVALID_ARGUMENT, "freed already");
  CHECK_ERROR(v->check_memory(gpu, (void *)(uintptr_t)16, 4, 1), INVALID_ARGUMENT, "no memory that CUDA knows");
  allocator_free(v->host_allocator(gpu), page_locked);
  give(other, far);
}

/* The caller's device stays current, whatever is done on others. */
static void test_current_device(void) {
  int (*get_device)(int *) = NULL, (*set_device)(int) = NULL, current = -1;
  void *library = dlopen(NULL, RTLD_NOW);
  Dl_info info;
  if (dladdr((void *)(uintptr_t)configure, &info)) library = dlopen(info.dli_fname, RTLD_NOW);
  *(void **)&get_device = dlsym(library, "cudaGetDevice");
  *(void **)&set_device = dlsym(library, "cudaSetDevice");
  if (!CHECK(get_device && set_device)) return;
  CHECK_INT(set_device(1), 0);
  give(gpu, take(gpu, 64));
  CHECK(get_device(&current) == 0 && current == 1);
  intptr_t outer, inner;
  CHECK_OK(v->enter(gpu, &outer));
  CHECK(get_device(&current) == 0 && current == 0);
  CHECK_OK(other->vtable->enter(other, &inner));
  CHECK(get_device(&current) == 0 && current == 1);
  other->vtable->leave(other, inner);
  CHECK(get_device(&current) == 0 && current == 0);
  v->leave(gpu, outer);
  CHECK(get_device(&current) == 0 && current == 1);
  CHECK_INT(set_device(0), 0);
}

static device_graph *captured_copy(stream *s, char *to, char *from) {
  device_graph *g = NULL;
  CHECK_OK(v->capture_begin(s));
  CHECK(v->is_capturing(s));
  CHECK_OK(v->copy(gpu, s, on(gpu, to), on(gpu, from), BYTES));
  CHECK_OK(v->capture_end(s, &g));
  CHECK(!v->is_capturing(s));
  return g;
}

static void test_graphs(void) {
  stream *s;
  bool updated = false;
  fill();
  char *a = take(gpu, BYTES), *b = take(gpu, BYTES), *c = take(gpu, BYTES);
  CHECK_OK(stream_create(gpu, &s));
  CHECK_OK(v->copy(gpu, NULL, on(gpu, a), here(host_a), BYTES));
  device_graph *g = captured_copy(s, b, a);
  for (int i = 0; i < 2; ++i) CHECK_OK(v->graph_launch(g, s));
  CHECK_OK(stream_synchronise(s));
  CHECK_OK(v->copy(gpu, NULL, here(host_b), on(gpu, b), BYTES));
  CHECK(memcmp(host_a, host_b, BYTES) == 0);
  memset(host_b, 0, BYTES);
  CHECK_OK(v->graph_update(g, captured_copy(s, c, a), &updated));   /* other addresses, in place */
  CHECK(updated);
  CHECK_OK(v->graph_launch(g, s));
  CHECK_OK(stream_synchronise(s));
  CHECK_OK(v->copy(gpu, NULL, here(host_b), on(gpu, c), BYTES));
  CHECK(memcmp(host_a, host_b, BYTES) == 0);

  device_graph *none = NULL;
  CHECK_OK(v->capture_begin(s));
  status spoiled = stream_synchronise(s);                   /* forbidden while capturing: the capture is void */
  CHECK_ERROR(spoiled, EP_FAIL, "captured");
  CHECK_ERROR(v->capture_end(s, &none), EP_FAIL, "GPU 0");
  CHECK(!none && !v->is_capturing(s));
  CHECK_OK(v->copy(gpu, s, on(gpu, b), on(gpu, a), BYTES));   /* and the stream works again */
  CHECK_OK(stream_synchronise(s));
  CHECK_OK(v->capture_begin(s));
  give(gpu, take(gpu, 64));                                 /* memory may be allocated meanwhile */
  CHECK_OK(v->capture_end(s, &none));
  v->graph_release(none);
  v->graph_release(g);
  stream_release(s);
  give(gpu, a);
  give(gpu, b);
  give(gpu, c);
}

/* ---- Memory from functions of the caller ---- */

static int taken, emptied;
static void *callers_alloc(size_t bytes) {
  void *data = NULL;
  ++taken;
  return bytes > 1000 ? NULL : (CHECK_OK(allocator_alloc(v->allocator(gpu), bytes, &data)), data);
}
static void callers_free(void *data) {
  --taken;
  give(gpu, data);
}
static void callers_empty(void) { ++emptied; }

static void test_external_memory(void) {
  ortc_allocator *a;
  void *data = NULL;
  CHECK_ERROR(v->external_allocator(gpu, &(external_memory){.alloc = callers_alloc}, &a), INVALID_ARGUMENT, "gpu_external_free");
  CHECK_OK(v->external_allocator(gpu, &(external_memory){callers_alloc, callers_free, callers_empty}, &a));
  CHECK_OK(allocator_alloc(a, 500, &data));
  CHECK(taken == 1);
  allocator_free(a, data);
  CHECK(taken == 0);
  CHECK_ERROR(allocator_alloc(a, 5000, &data), OUT_OF_MEMORY, "gpu_external_alloc");
  ortc_allocator_shrink(a);
  CHECK_INT(emptied, 1);
  allocator_release(a);
  taken = 0;
}

/* ---- Failures ---- */

/* Everything that takes memory, of the host or of a device, in the order in which a run does. */
static status use_everything(void) {
  stream *s = NULL;
  event *e = NULL;
  device_graph *g = NULL;
  void *a = NULL, *b = NULL;
  status failed = stream_create(gpu, &s);
  if (!failed) failed = event_create(gpu, &e);
  if (!failed) failed = allocator_alloc(v->allocator(gpu), BYTES, &a);
  if (!failed) failed = allocator_alloc(v->allocator(gpu), BYTES, &b);
  if (!failed) failed = v->copy(gpu, s, on(gpu, a), here(host_a), BYTES);
  if (!failed && !(failed = v->capture_begin(s))) {
    status copied = v->copy(gpu, s, on(gpu, b), on(gpu, a), BYTES);
    failed = v->capture_end(s, &g);
    if (copied) ortc_status_release(failed), failed = copied;
  }
  if (!failed) failed = v->graph_launch(g, s);
  if (!failed) failed = event_record(e, s);
  if (!failed) failed = event_synchronise(e);
  if (!failed) failed = v->copy(gpu, NULL, here(host_b), on(gpu, b), BYTES);
  if (g) v->graph_release(g);
  allocator_free(v->allocator(gpu), a);
  allocator_free(v->allocator(gpu), b);
  event_release(e);
  stream_release(s);
  return failed;
}

static void test_every_allocation_may_fail(void) {
  fill();
  for (int host = 0; host < 2; ++host) {
    int n = 0;
    for (bool reached = true; reached && n < 50; ++n) {
      if (host) mem_inject_failure((uint64_t)n + 1);
      else configure("fail_allocation", n + 1);
      status failed = use_everything();
      reached = failed != NULL;
      CHECKF(!failed || failed->code == ORTC_OUT_OF_MEMORY, "allocation %d: %s", n + 1, ortc_status_get_message(failed));
      ortc_status_release(failed);
      mem_inject_failure(0);
      configure("fail_allocation", 0);
    }
    CHECKF(n > 2 && n < 50, "%d allocations failed", n);
    CHECK_INT(counter("live_bytes"), 0);
  }
  memset(host_b, 0, BYTES);
  CHECK_OK(use_everything());
  CHECK(memcmp(host_a, host_b, BYTES) == 0);
}

static void test_a_lost_device(void) {
  stream *s;
  void *a = take(gpu, BYTES);
  CHECK_OK(stream_create(gpu, &s));
  configure("sticky_error", ILLEGAL_ADDRESS);
  CHECK_ERROR(stream_synchronise(s), EP_FAIL, "lost to this process");
  CHECK_ERROR(v->copy(gpu, s, on(gpu, a), here(host_a), BYTES), EP_FAIL, "700");
  void *data = NULL;
  CHECK_ERROR(allocator_alloc(v->allocator(gpu), 64, &data), EP_FAIL, "GPU 0");
  configure("device_lost", 0);
  configure("reset", 1);
  CHECK_OK(stream_synchronise(s));
  stream_release(s);
  give(gpu, a);
}

int main(int count, char **arguments) {
  char why_not[512];
  if (count < 2) return 77;                                 /* skipped: there is no emulated GPU in this build */
  setenv("ORTCORE_EMULATION_DEVICES", "2", 1);
  const provider *p = provider_open(arguments[1], why_not, sizeof why_not);
  if (!CHECKF(p, "%s: %s", arguments[1], why_not)) return check_result();
  void *library = dlopen(arguments[1], RTLD_NOW);
  *(void **)&configure = dlsym(library, "ortcore_emulator_configure");
  *(void **)&counter = dlsym(library, "ortcore_emulator_counter");
  CHECK_INT(p->device_count(&(const char *){NULL}), 2);
  gpu = p->device_at(0);
  other = p->device_at(1);
  if (!CHECK(gpu && other && !p->device_at(2) && !p->device_at(-1) && configure && counter)) return check_result();
  v = gpu->vtable;
  RUN(test_memory);
  RUN(test_no_memory);
  RUN(test_copies);
  RUN(test_streams);
  RUN(test_pointers);
  RUN(test_current_device);
  RUN(test_graphs);
  RUN(test_external_memory);
  RUN(test_every_allocation_may_fail);
  RUN(test_a_lost_device);
  return check_result();
}
