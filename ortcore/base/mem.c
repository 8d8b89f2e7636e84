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

void *mem_alloc(size_t bytes) { return mem_fails_now() ? NULL : malloc(bytes ? bytes : 1); }

void *mem_calloc(size_t count, size_t size) {
  if (mem_fails_now()) return NULL;
  return count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
}

void *mem_aligned(size_t alignment, size_t bytes) {
  void *data = NULL;
  if (mem_fails_now()) return NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&data, alignment, bytes ? bytes : 1) == 0 ? data : NULL;
}

void *mem_realloc(void *data, size_t bytes) { return mem_fails_now() ? NULL : realloc(data, bytes ? bytes : 1); }

char *mem_strndup(const char *text, size_t bytes) {
  char *copy = mem_alloc(bytes + 1);
  if (!copy) return NULL;
  copy[bytes] = '\0';
  return memcpy(copy, text, bytes);
}

char *mem_strdup(const char *text) { return mem_strndup(text, strlen(text)); }

void mem_free(void *data) { free(data); }

size_t mem_usable_bytes(void *data) { return malloc_usable_size(data); }
