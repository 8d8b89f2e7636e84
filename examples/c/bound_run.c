/* Runs a model on memory that this program owns, and prints what came out.
 *
 *     cc bound_run.c $(pkg-config --cflags --libs ortcore) -o bound_run
 *     ./bound_run model.onnx [size of dynamic dims, default 1]
 *
 * Every input and, where its shape is known before the run, every output is a plain block from malloc(). ortcore reads and writes there and
 * copies nothing. Outputs whose shape only the run can tell are left to the engine. */
#include <ortcore.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A status that is not NULL is an error: say it, free it, and let the caller clean up. */
static bool failed(const char *doing, ortc_status *status) {
  if (!status) return false;
  fprintf(stderr, "%s: %s: %s", doing, ortc_status_code_name(ortc_status_get_code(status)), ortc_status_get_message(status));
  if (*ortc_status_get_node(status)) fprintf(stderr, " (node '%s')", ortc_status_get_node(status));
  fputc('\n', stderr);
  ortc_status_release(status);
  return true;
}

/* The shape with its open dims set. False if the rank is not known either. */
static bool concrete_shape(const ortc_io_info *io, int64_t open_dim, int64_t *dims, size_t *out_bytes) {
  size_t elements = 1;
  if (!io->is_tensor || !io->has_rank || io->rank > 8 || ortc_element_type_bits(io->element_type) == 0) return false;
  for (size_t i = 0; i < io->rank; ++i) {
    dims[i] = io->dims[i] >= 0 ? io->dims[i] : open_dim;
    elements *= (size_t)dims[i];
  }
  *out_bytes = (elements * (size_t)ortc_element_type_bits(io->element_type) + 7) / 8;
  return true;
}

/* Is every dim fixed by the model or equal to a named dim, which the inputs have set? */
static bool shape_is_known(const ortc_io_info *io) {
  for (size_t i = 0; io->has_rank && i < io->rank; ++i) {
    if (io->dims[i] < 0 && !io->symbols[i]) return false;
  }
  return io->has_rank;
}

/* A tensor over fresh memory of this program's; `free` is called when the last holder lets go of it. */
static ortc_status *own_tensor(const ortc_io_info *io, const int64_t *dims, size_t bytes, ortc_value **out_value) {
  void *memory = calloc(bytes ? bytes : 1, 1);
  ortc_status *status = ortc_value_create_borrowed(NULL, io->element_type, io->rank, dims, memory, bytes, free, memory, out_value);
  if (status) free(memory);
  return status;
}

static void fill(ortc_value *value) {
  float *data = ortc_value_get_data(value);
  if (ortc_value_get_element_type(value) != ORTC_FLOAT) return;   /* others stay zero */
  for (int64_t i = 0; i < ortc_value_get_count(value); ++i) data[i] = (float)i / 4;
}

static void print(const char *name, ortc_value *value) {
  char type[64];
  int64_t count = ortc_value_get_count(value), shown = count < 8 ? count : 8;
  const void *data = ortc_value_get_data(value);
  ortc_value_format_type(value, type, sizeof type);
  printf("%s: %s [", name, type);
  for (size_t i = 0; i < ortc_value_get_rank(value); ++i) printf("%s%" PRId64, i ? "," : "", ortc_value_get_dims(value)[i]);
  printf("]");
  for (int64_t i = 0; data && i < shown; ++i) {
    if (ortc_value_get_element_type(value) == ORTC_FLOAT) printf(" %g", ((const float *)data)[i]);
    if (ortc_value_get_element_type(value) == ORTC_INT64) printf(" %" PRId64, ((const int64_t *)data)[i]);
  }
  printf(shown < count ? " ...\n" : "\n");
}

static bool bind(ortc_session *session, ortc_binding *binding, ortc_io which, int64_t open_dim) {
  for (size_t i = 0; i < ortc_session_get_io_count(session, which); ++i) {
    const ortc_io_info *io = ortc_session_get_io(session, which, i);
    int64_t dims[8];
    size_t bytes;
    ortc_value *value = NULL;
    bool have_shape = concrete_shape(io, open_dim, dims, &bytes);
    if (which == ORTC_IO_OUTPUT && (!have_shape || !shape_is_known(io))) {
      if (failed(io->name, ortc_binding_bind_output_device(binding, io->name, &io->memory))) return false;
      continue;
    }
    if (!have_shape) {
      fprintf(stderr, "%s: this program makes up tensors of numbers only, not %s\n", io->name, io->type);
      return false;
    }
    if (failed(io->name, own_tensor(io, dims, bytes, &value))) return false;
    if (which == ORTC_IO_INPUT) fill(value);
    /* The binding holds the value from here on; this program's reference is no longer needed. */
    ortc_status *status = which == ORTC_IO_INPUT ? ortc_binding_bind_input(binding, io->name, value) : ortc_binding_bind_output(binding, io->name, value);
    ortc_value_release(value);
    if (failed(io->name, status)) return false;
  }
  return true;
}

static bool run(ortc_session *session, ortc_binding *binding, int64_t open_dim) {
  if (!bind(session, binding, ORTC_IO_INPUT, open_dim) || !bind(session, binding, ORTC_IO_OUTPUT, open_dim)) return false;
  if (failed("run", ortc_session_run_binding(session, binding, NULL))) return false;
  for (size_t i = 0; i < ortc_binding_get_output_count(binding); ++i) {
    ortc_value *value = NULL;
    if (failed("output", ortc_binding_get_output(binding, i, &value))) return false;
    print(ortc_binding_get_output_name(binding, i), value);
    ortc_value_release(value);
  }
  return true;
}

int main(int argc, char **argv) {
  ortc_session *session = NULL;
  ortc_binding *binding = NULL;
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: %s model.onnx [size of dynamic dims]\n", argv[0]);
    return 2;
  }
  long long open_dim = argc == 3 ? strtoll(argv[2], NULL, 10) : 1;
  if (open_dim < 0) {
    fprintf(stderr, "dims cannot be negative: %lld\n", open_dim);
    return 2;
  }
  bool ok = !failed(argv[1], ortc_session_create_from_file(argv[1], NULL, &session)) && !failed("binding", ortc_binding_create(session, &binding)) &&
            run(session, binding, open_dim);
  ortc_binding_release(binding);
  ortc_session_release(session);
  return ok ? 0 : 1;
}
