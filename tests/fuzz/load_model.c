/* Loads a model from arbitrary bytes: reading, inference, passes, planning, as a session does. For libFuzzer, and for driver.c. */
#include <ortcore.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void ignore(void *user, ortc_severity severity, const char *category, const char *logid, const char *location, const char *message) {
  (void)user, (void)severity, (void)category, (void)logid, (void)location, (void)message;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  ortc_session *session = NULL;
  ortc_set_log_callback(ignore, NULL);
  ortc_session_options *options = ortc_session_options_create();
  if (!options) return 0;
  /* Half of the inputs meet the graph as it is, so that passes do not hide what the planner would see. */
  ortc_status_release(ortc_session_options_set(options, "graph_optimization_level", bytes % 2 ? "99" : "0"));
  ortc_status_release(ortc_session_options_set(options, "intra_op_num_threads", "1"));
  ortc_status_release(ortc_session_options_set(options, "optimization.constant_folding_max_output_size_in_bytes", "1048576"));
  /* A copy that ends where the input ends: a read beyond it is found. */
  uint8_t *copy = malloc(bytes ? bytes : 1);
  if (copy) {
    if (bytes) memcpy(copy, data, bytes);
    ortc_status_release(ortc_session_create_from_memory(copy, bytes, NULL, NULL, options, &session));
  }
  free(copy);
  ortc_session_release(session);
  ortc_session_options_release(options);
  return 0;
}
