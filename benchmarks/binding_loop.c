/* The cost of a bound run without Python: binding_loop MODEL ROUNDS CALLS prints the nanoseconds a call of each round, a line each.
 *
 * MODEL has one input "x" and one output "y", both float32 of [1, 4]. */
#define _POSIX_C_SOURCE 199309L
#include <ortcore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void check(ortc_status *status) {
  if (!status) return;
  fprintf(stderr, "%s\n", ortc_status_get_message(status));
  exit(1);
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static ortc_value *value_of(float *data) {
  ortc_value *value;
  check(ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, (int64_t[]){1, 4}, data, 4 * sizeof *data, NULL, NULL, &value));
  return value;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s MODEL ROUNDS CALLS\n", argv[0]);
    return 2;
  }
  int rounds = atoi(argv[2]), calls = atoi(argv[3]);
  float x[4] = {1, 2, 3, 4}, y[4];
  ortc_value *input = value_of(x), *output = value_of(y);
  ortc_session_options *options = ortc_session_options_create();
  ortc_session *session;
  ortc_binding *binding;
  check(ortc_session_options_set(options, "intra_op_num_threads", "1"));
  check(ortc_session_create_from_file(argv[1], options, &session));
  check(ortc_binding_create(session, &binding));
  check(ortc_binding_bind_input(binding, "x", input));
  check(ortc_binding_bind_output(binding, "y", output));
  for (int round = 0; round < rounds; ++round) {
    double begin = now_ns();
    for (int i = 0; i < calls; ++i) check(ortc_session_run_binding(session, binding, NULL));
    printf("%.1f\n", (now_ns() - begin) / calls);
  }
  ortc_binding_release(binding);
  ortc_session_release(session);
  ortc_session_options_release(options);
  ortc_value_release(input);
  ortc_value_release(output);
  return 0;
}
