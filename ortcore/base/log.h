/* Log lines, to stderr or to the callback that the embedding program set. */
#ifndef ORTCORE_BASE_LOG_H
#define ORTCORE_BASE_LOG_H

#include <ortcore.h>
#include <stdbool.h>

/* One setting for the process. The callback is called with no lock held; NULL restores stderr. */
void log_set_callback(ortc_log_fn callback, void *user);
void log_set_severity(ortc_severity severity);             /* the least that is written; ORTC_WARNING at first */
ortc_severity log_get_severity(void);
bool log_enabled(ortc_severity severity);
/* What this thread logs from now on, whatever the process's setting; -1: no setting of its own. Returns what it was. */
int log_set_thread_severity(int severity);
void log_write(ortc_severity severity, const char *logid, const char *location, const char *format, ...) __attribute__((format(printf, 4, 5)));

#define LOG_STR2_(x) #x
#define LOG_STR_(x) LOG_STR2_(x)
#define LOG(severity, ...) do { if (log_enabled(ORTC_##severity)) log_write(ORTC_##severity, "", __FILE__ ":" LOG_STR_(__LINE__), __VA_ARGS__); } while (0)

#endif
