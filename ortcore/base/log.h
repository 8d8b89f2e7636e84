/* Log lines, to stderr or to the callback that the embedding program set. */
#ifndef ORTCORE_BASE_LOG_H
#define ORTCORE_BASE_LOG_H

#include <ortcore.h>
#include <stdbool.h>

bool log_enabled(ortc_severity severity);
void log_write(ortc_severity severity, const char *logid, const char *location, const char *format, ...) __attribute__((format(printf, 4, 5)));

#define LOG_STR2_(x) #x
#define LOG_STR_(x) LOG_STR2_(x)
#define LOG(severity, ...) do { if (log_enabled(ORTC_##severity)) log_write(ORTC_##severity, "", __FILE__ ":" LOG_STR_(__LINE__), __VA_ARGS__); } while (0)

#endif
