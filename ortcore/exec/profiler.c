#include <ortcore/base/mem.h>
#include <ortcore/exec/profiler.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Names are those of the model's nodes, which outlive the profiler. */
typedef struct event { const char *category, *name, *op_type, *provider; int64_t begin_ns, end_ns; int thread; } event;

struct profiler {
  pthread_mutex_t lock;
  char path[1024];
  int64_t start_ns;
  bool finished;
  size_t count, capacity, dropped;
  event *events;
};

#define MAX_EVENTS ((size_t)1 << 20)

int64_t profiler_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

status profiler_create(const char *file_prefix, profiler **out) {
  *out = NULL;
  profiler *p = mem_calloc(1, sizeof *p);
  if (!p) return status_out_of_memory();
  pthread_mutex_init(&p->lock, NULL);
  p->start_ns = profiler_now_ns();
  struct timespec now;
  struct tm local;
  char stamp[64];
  clock_gettime(CLOCK_REALTIME, &now);
  strftime(stamp, sizeof stamp, "%Y-%m-%d_%H-%M-%S", localtime_r(&now.tv_sec, &local));
  int length = snprintf(p->path, sizeof p->path, "%s_%s_%03ld.json", file_prefix, stamp, now.tv_nsec / 1000000);
  if (length >= (int)sizeof p->path) {
    profiler_release(p);
    return ERROR(INVALID_ARGUMENT, "profile_file_prefix has %zu bytes; a trace's path may have %zu", strlen(file_prefix), sizeof p->path - 1);
  }
  *out = p;
  return OK;
}

int64_t profiler_start_ns(const profiler *p) { return p->start_ns; }

void profiler_record(profiler *p, const char *category, const char *name, const char *op_type, const char *provider, int64_t begin_ns, int64_t end_ns) {
  pthread_mutex_lock(&p->lock);
  if (p->count == p->capacity && p->capacity < MAX_EVENTS) {
    size_t capacity = p->capacity ? p->capacity * 2 : 256;
    event *events = mem_realloc(p->events, capacity * sizeof *events);
    if (events) {
      p->events = events;
      p->capacity = capacity;
    }
  }
  if (p->count < p->capacity && !p->finished)
    p->events[p->count++] = (event){category, name, op_type, provider, begin_ns, end_ns, (int)(uintptr_t)pthread_self()};
  else ++p->dropped;
  pthread_mutex_unlock(&p->lock);
}

static void write_text(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text; ++text) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') fprintf(file, "\\%c", c);
    else if (c < 0x20) fprintf(file, "\\u%04x", c);
    else fputc(c, file);
  }
  fputc('"', file);
}

static void write_event(FILE *file, const profiler *p, const event *e, bool first) {
  fprintf(file, "%s\n{\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"name\":", first ? "" : ",", e->category, (int)getpid(), e->thread,
          (double)(e->begin_ns - p->start_ns) / 1e3, (double)(e->end_ns - e->begin_ns) / 1e3);
  write_text(file, e->name);
  fputs(",\"args\":{", file);
  if (e->op_type) {
    fputs("\"op_name\":", file);
    write_text(file, e->op_type);
    fputs(",\"provider\":", file);
    write_text(file, e->provider ? e->provider : "");
  }
  fputs("}}", file);
}

status profiler_finish(profiler *p, const char **out_path) {
  pthread_mutex_lock(&p->lock);
  status s = OK;
  *out_path = p->finished ? "" : p->path;
  if (!p->finished) {
    p->finished = true;
    FILE *file = fopen(p->path, "w");
    if (file) {
      fputc('[', file);
      for (size_t i = 0; i < p->count; ++i) write_event(file, p, &p->events[i], i == 0);
      fputs("\n]\n", file);
    }
    if (!file || fclose(file)) s = ERROR(FAIL, "the profile could not be written to '%s': choose a writable profile_file_prefix", p->path);
  }
  pthread_mutex_unlock(&p->lock);
  return s;
}

void profiler_release(profiler *p) {
  if (!p) return;
  pthread_mutex_destroy(&p->lock);
  mem_free(p->events);
  mem_free(p);
}
