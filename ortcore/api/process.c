/* What concerns the whole process: version, log, threads, element types. */
#include <ortcore/base/dtype.h>
#include <ortcore/base/log.h>
#include <ortcore/base/seed.h>
#include <ortcore/base/status.h>
#include <ortcore/base/threads.h>

int ortc_abi_version(void) { return ORTC_ABI_VERSION; }
const char *ortc_version_string(void) { return ORTCORE_VERSION; }

const char *ortc_build_info(void) {
  return "ortcore " ORTCORE_VERSION ", compiler " __VERSION__
#ifdef ORTCORE_OPENMP
         ", OpenMP"
#else
         ", one thread"
#endif
#ifdef ORTCORE_ONEDNN
         ", oneDNN"
#else
         ", portable kernels"
#endif
#ifdef ORTCORE_CUDA
         ", CUDA"
#endif
      ;
}

void ortc_set_log_callback(ortc_log_fn callback, void *user) { log_set_callback(callback, user); }
int ortc_get_log_severity(void) { return log_get_severity(); }

ortc_status *ortc_set_log_severity(int severity) {
  if (severity < ORTC_VERBOSE || severity > ORTC_FATAL) {
    return ERROR(INVALID_ARGUMENT, "log severity %d is outside 0 (verbose) to 4 (fatal)", severity);
  }
  log_set_severity((ortc_severity)severity);
  return OK;
}

void ortc_set_seed(int64_t seed) { seed_set(seed); }
void ortc_set_thread_budget(int threads) { threads_set_budget(threads); }
int ortc_get_thread_budget(void) { return threads_get_budget(); }

const char *ortc_element_type_name(ortc_element_type type) { return dtype_bits(type) ? dtype_name(type) : NULL; }
int ortc_element_type_bits(ortc_element_type type) { return type == ORTC_STRING ? 0 : dtype_bits(type); }
