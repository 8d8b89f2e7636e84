#include <ortcore/base/checked.h>
#include <ortcore/base/mem.h>
#include <ortcore/value/string.h>

#include <stdatomic.h>
#include <string.h>

rcstr *rcstr_create(const char *text, size_t bytes) {
  size_t total;
  if (checked_add(bytes, sizeof(rcstr) + 1, &total)) return NULL;
  rcstr *s = mem_alloc(total);
  if (!s) return NULL;
  atomic_init(&s->references, 1);
  s->bytes = bytes;
  if (bytes) memcpy(s->text, text, bytes);
  s->text[bytes] = '\0';
  return s;
}

rcstr *rcstr_retain(rcstr *s) {
  if (s) atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
  return s;
}

void rcstr_release(rcstr *s) {
  if (s && atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) == 1) mem_free(s);
}

void rcstr_retain_n(rcstr *const *items, int64_t n) {
  for (int64_t i = 0; i < n; ++i) rcstr_retain(items[i]);
}

void rcstr_release_n(rcstr **items, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    rcstr_release(items[i]);
    items[i] = NULL;
  }
}
