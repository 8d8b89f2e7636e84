/* Times of runs and steps, written as Chrome trace events (JSON) when profiling ends. Thread-safe. */
#ifndef ORTCORE_EXEC_PROFILER_H
#define ORTCORE_EXEC_PROFILER_H

#include <ortcore/base/status.h>

typedef struct profiler profiler;

status profiler_create(const char *file_prefix, profiler **out) MUST_CHECK;   /* the file is <prefix>_<date>_<time>.json */
int64_t profiler_now_ns(void);
int64_t profiler_start_ns(const profiler *p);
/* category "Session" or "Node"; op_type and provider may be NULL. Times are profiler_now_ns values. */
void profiler_record(profiler *p, const char *category, const char *name, const char *op_type, const char *provider, int64_t begin_ns, int64_t end_ns);
/* Writes the file once; later calls give the same path. */
status profiler_finish(profiler *p, const char **out_path) MUST_CHECK;
void profiler_release(profiler *p);

#endif
