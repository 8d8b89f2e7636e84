#include <ortcore/base/checked.h>
#include <ortcore/base/mem.h>

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t fail_countdown;                    /* 0: off */

void mem_inject_failure(uint64_t n) { atomic_store(&fail_countdown, n); }
bool mem_failure_pending(void) { return atomic_load(&fail_countdown) != 0; }

bool mem_fails_now(void) {
  uint64_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
  while (left != 0) {
    if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1)) return left == 1;
  }
  return false;
}

static _Thread_local size_t refused_bytes;

size_t mem_refused_bytes(void) { return refused_bytes; }

static void *given(void *data, size_t bytes) {
  if (!data) refused_bytes = bytes;
  return data;
}

void *mem_alloc(size_t bytes) { return given(mem_fails_now() ? NULL : malloc(bytes ? bytes : 1), bytes); }

void *mem_calloc(size_t count, size_t size) {
  size_t bytes;
  if (checked_mul(count, size, &bytes)) bytes = SIZE_MAX;
  return given(mem_fails_now() ? NULL : calloc(1, bytes ? bytes : 1), bytes);
}

void *mem_aligned(size_t alignment, size_t bytes) {
  void *data = NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (mem_fails_now() || posix_memalign(&data, alignment, bytes ? bytes : 1) != 0) data = NULL;
  return given(data, bytes);
}

void *mem_realloc(void *data, size_t bytes) { return given(mem_fails_now() ? NULL : realloc(data, bytes ? bytes : 1), bytes); }

char *mem_strndup(const char *text, size_t bytes) {
  char *copy = mem_alloc(bytes + 1);
  if (!copy) return NULL;
  copy[bytes] = '\0';
  return memcpy(copy, text, bytes);
}

char *mem_strdup(const char *text) { return mem_strndup(text, strlen(text)); }

void mem_free(void *data) { free(data); }

size_t mem_usable_bytes(void *data) { return malloc_usable_size(data); }
