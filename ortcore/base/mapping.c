#include <ortcore/base/mapping.h>
#include <ortcore/base/mem.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct mapping mapping;
struct mapping { char *data; size_t bytes; mapping *next; };

/* They are few: a process has as many as sessions have large files. */
static mapping *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *mapping_create(int fd, size_t bytes) {
  mapping *m = mem_alloc(sizeof *m);
  if (!m) {
    errno = ENOMEM;
    return NULL;
  }
  *m = (mapping){mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0), bytes, NULL};
  if (m->data == MAP_FAILED) {
    mem_free(m);
    return NULL;
  }
  pthread_mutex_lock(&lock);
  m->next = all;
  all = m;
  pthread_mutex_unlock(&lock);
  return m->data;
}

void mapping_release(void *data) {
  pthread_mutex_lock(&lock);
  mapping **link = &all;
  while (*link && (*link)->data != data) link = &(*link)->next;
  mapping *m = *link;
  if (m) {
    *link = m->next;
    munmap(m->data, m->bytes);
  }
  pthread_mutex_unlock(&lock);
  mem_free(m);
}

void mapping_let_go(const void *data, size_t bytes) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)data + page - 1) / page * page, end = ((uintptr_t)data + bytes) / page * page;
  if (begin >= end) return;
  pthread_mutex_lock(&lock);
  for (const mapping *m = all; m; m = m->next)
    if ((uintptr_t)m->data <= begin && end - (uintptr_t)m->data <= m->bytes) madvise((void *)begin, end - begin, MADV_DONTNEED);
  pthread_mutex_unlock(&lock);
}
