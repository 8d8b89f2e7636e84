/* The settings that ortcore knows, and the check of their values where they are given: there the caller can still tell which line it came from.
 * Keys that are not here are kept as they are, as onnxruntime keeps them; what is text (paths, names) needs no check. */
#include <ortcore/session/options.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct known_setting {
  const char *key;
  int64_t least, most;
  int64_t other;                                            /* accepted too; `most` where there is none */
  const char *accepted;                                     /* in words */
} known_setting;

#define FLAG 0, 1, 1, "0 or 1"
#define ANY_INT INT_MIN, INT_MAX, INT_MAX, "a whole number of 32 bits"
#define SEVERITY -1, ORTC_FATAL, ORTC_FATAL, "0 (verbose), 1 (info), 2 (warning), 3 (error), 4 (fatal), or -1 for the setting around it"
#define THREADS -1, 1024, 1024, "a number of threads from 1 to 1024, or 0 (or -1) for as many as there are cores"

static const known_setting of_sessions[] = {
  {"intra_op_num_threads", THREADS},
  {"inter_op_num_threads", THREADS},
  {"graph_optimization_level", 0, 3, 99, "0 (none), 1 (basic), 2 (extended), 3 (layout) or 99 (all)"},
  {"execution_mode", FLAG},
  {"enable_cpu_mem_arena", FLAG},
  {"enable_mem_pattern", FLAG},
  {"enable_mem_reuse", FLAG},
  {"enable_profiling", FLAG},
  {"use_deterministic_compute", FLAG},
  {"log_severity_level", SEVERITY},
  {"log_verbosity_level", ANY_INT},
  {"map_model_files", FLAG},
  {"session.use_env_allocators", FLAG},
  {"session.record_ep_graph_assignment_info", FLAG},
  {"optimization.constant_folding_max_output_size_in_bytes", 0, INT64_MAX, INT64_MAX, "a number of bytes, or 0 for no limit"},
};

static const known_setting of_runs[] = {
  {"stage_outputs", FLAG},
  {"disable_synchronize_execution_providers", FLAG},
  {"only_execute_path_to_fetches", FLAG},
  {"gpu_graph_id", ANY_INT},
  {"log_severity_level", SEVERITY},
  {"log_verbosity_level", ANY_INT},
};

static bool fits(const known_setting *s, const char *value) {
  char *end;
  if ((*value < '0' || *value > '9') && *value != '-') return false;
  errno = 0;
  long long n = strtoll(value, &end, 10);
  return end != value && !*end && !errno && ((n >= s->least && n <= s->most) || n == s->other);
}

static status check(const known_setting *known, size_t count, const char *key, const char *value) {
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(known[i].key, key) && !fits(&known[i], value))
      return ERROR(INVALID_ARGUMENT, "the setting '%s' is '%.128s'; it must be %s", key, value, known[i].accepted);
  return OK;
}

status session_setting_check(const char *key, const char *value) { return check(of_sessions, sizeof of_sessions / sizeof *of_sessions, key, value); }
status run_setting_check(const char *key, const char *value) { return check(of_runs, sizeof of_runs / sizeof *of_runs, key, value); }
