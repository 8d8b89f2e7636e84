#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static _Atomic int least_severity = ORTC_WARNING;
static _Thread_local int thread_severity = -1;
static pthread_mutex_t callback_lock = PTHREAD_MUTEX_INITIALIZER;
static struct { ortc_log_fn call; void *user; } callback;

void log_set_callback(ortc_log_fn call, void *user) {
  pthread_mutex_lock(&callback_lock);
  callback.call = call;
  callback.user = user;
  pthread_mutex_unlock(&callback_lock);
}

void log_set_severity(ortc_severity severity) { atomic_store_explicit(&least_severity, (int)severity, memory_order_relaxed); }
ortc_severity log_get_severity(void) { return (ortc_severity)atomic_load_explicit(&least_severity, memory_order_relaxed); }
bool log_enabled(ortc_severity severity) { return (int)severity >= (thread_severity >= 0 ? thread_severity : (int)log_get_severity()); }

int log_set_thread_severity(int severity) {
  int before = thread_severity;
  thread_severity = severity;
  return before;
}

/* 2026-01-31 12:00:00.123456 [W:ortcore:logid, location] message */
static void write_stderr(ortc_severity severity, const char *logid, const char *location, const char *message) {
  struct timespec now;
  struct tm utc;
  char date[32];
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &utc);
  strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc);
  fprintf(stderr, "%s.%06ld [%c:ortcore:%s, %s] %s\n", date, now.tv_nsec / 1000, "VIWEF"[severity], logid, location, message);
}

void log_write(ortc_severity severity, const char *logid, const char *location, const char *format, ...) {
  char line[512], *message = line;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length >= (int)sizeof line) {
    /* Longer than most: a buffer that fits, or the cut text if there is no memory. */
    char *whole = mem_alloc((size_t)length + 1);
    if (whole) {
      va_start(arguments, format);
      vsnprintf(whole, (size_t)length + 1, format, arguments);
      va_end(arguments);
      message = whole;
    }
  }
  pthread_mutex_lock(&callback_lock);
  ortc_log_fn call = callback.call;
  void *user = callback.user;
  pthread_mutex_unlock(&callback_lock);
  if (call) call(user, severity, "ortcore", logid, location, message);
  else write_stderr(severity, logid, location, message);
  if (message != line) mem_free(message);
}
