#include <ortcore/session/cuda_options.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ------------------------------------------------------------------------------------------------------- */

typedef enum option_kind { FLAG, NUMBER, ADDRESS, CHOICE } option_kind;

typedef struct option {
  const char *name, *fallback;
  option_kind kind;
  uint64_t most;                                            /* NUMBER: the least is 0 */
  const char *const *choices;                               /* CHOICE: ends with NULL */
} option;

static const char *const strategies[] = {"kNextPowerOfTwo", "kSameAsRequested", NULL};
static const char *const searches[] = {"EXHAUSTIVE", "HEURISTIC", "DEFAULT", NULL};
#define NO_LIMIT "18446744073709551615"                     /* onnxruntime's default of gpu_mem_limit */

/* The second group is accepted, so that programs need no change, and has nothing to act on: copies are ordered by events always, kernels are
 * not tuned, and a bias is fused into its convolution wherever a library or a kernel can. */
static const option options[] = {
  {"device_id", "0", NUMBER, 127, NULL},
  {"has_user_compute_stream", "0", FLAG, 1, NULL},
  {"user_compute_stream", "0", ADDRESS, UINT64_MAX, NULL},
  {"gpu_mem_limit", NO_LIMIT, NUMBER, UINT64_MAX, NULL},
  {"arena_extend_strategy", "kNextPowerOfTwo", CHOICE, 0, strategies},
  {"gpu_external_alloc", "0", ADDRESS, UINT64_MAX, NULL},
  {"gpu_external_free", "0", ADDRESS, UINT64_MAX, NULL},
  {"gpu_external_empty_cache", "0", ADDRESS, UINT64_MAX, NULL},
  {"enable_cuda_graph", "0", FLAG, 1, NULL},
  {"cudnn_conv_algo_search", "EXHAUSTIVE", CHOICE, 0, searches},
  {"cudnn_conv_use_max_workspace", "1", FLAG, 1, NULL},
  {"enable_cudnn", "1", FLAG, 1, NULL},
  {"use_tf32", "1", FLAG, 1, NULL},
  {"prefer_nhwc", "0", FLAG, 1, NULL},

  {"do_copy_in_default_stream", "1", FLAG, 1, NULL},
  {"cudnn_conv1d_pad_to_nc1d", "0", FLAG, 1, NULL},
  {"enable_skip_layer_norm_strict_mode", "0", FLAG, 1, NULL},
  {"use_ep_level_unified_stream", "0", FLAG, 1, NULL},
  {"fuse_conv_bias", "0", FLAG, 1, NULL},
  {"sdpa_kernel", "0", NUMBER, INT32_MAX, NULL},
  {"tunable_op_enable", "0", FLAG, 1, NULL},
  {"tunable_op_tuning_enable", "0", FLAG, 1, NULL},
  {"tunable_op_max_tuning_duration_ms", "0", NUMBER, INT32_MAX, NULL},
  {"external_data_loader_reading_threads", "0", NUMBER, INT32_MAX, NULL},
};
enum { OPTION_COUNT = sizeof options / sizeof *options, LONGEST_NAME = 64 };

/* ---- Names ----------------------------------------------------------------------------------------------------------- */

/* How many letters must be put in, taken out or changed to make one name of the other. */
static size_t distance(const char *a, const char *b) {
  size_t row[LONGEST_NAME + 1], columns = strlen(b);
  for (size_t j = 0; j <= columns; ++j) row[j] = j;
  for (size_t i = 0; a[i]; ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < columns; ++j) {
      size_t above = row[j + 1], best = diagonal + (a[i] != b[j]);
      if (above + 1 < best) best = above + 1;
      if (row[j] + 1 < best) best = row[j] + 1;
      row[j + 1] = best;
      diagonal = above;
    }
  }
  return row[columns];
}

static status unknown(const char *name) {
  const option *nearest = options;
  char all[1024];
  size_t used = 0;
  for (size_t i = 0; i < OPTION_COUNT; ++i) {
    if (distance(name, options[i].name) < distance(name, nearest->name)) nearest = &options[i];
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", options[i].name);
  }
  if (distance(name, nearest->name) <= strlen(name) / 3) {
    return ERROR(INVALID_ARGUMENT, "CUDAExecutionProvider has no option '%.128s'; did you mean '%s'?", name, nearest->name);
  }
  return ERROR(INVALID_ARGUMENT, "CUDAExecutionProvider has no option '%.128s'; its options are %s", name, all);
}

static const option *find_option(const char *name) {
  for (size_t i = 0; i < OPTION_COUNT; ++i)
    if (strcmp(options[i].name, name) == 0) return &options[i];
  return NULL;
}

/* ---- Values ---------------------------------------------------------------------------------------------------------- */

static const struct { const char *text; uint64_t value; } flags[] = {{"0", 0}, {"1", 1}, {"false", 0}, {"true", 1}, {"False", 0}, {"True", 1}};

static bool parse_flag(const char *text, uint64_t *out) {
  for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
    if (strcmp(flags[i].text, text) != 0) continue;
    *out = flags[i].value;
    return true;
  }
  return false;
}

/* Decimal; addresses may be written 0x... too. -1 is how some programs write "no limit". */
static bool parse_number(const option *o, const char *text, uint64_t *out) {
  char *end;
  if (o->most == UINT64_MAX && strcmp(text, "-1") == 0) return *out = UINT64_MAX, true;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  *out = strtoull(text, &end, o->kind == ADDRESS ? 0 : 10);
  return !*end && !errno && *out <= o->most;
}

static bool parse_choice(const option *o, const char *text, uint64_t *out) {
  for (*out = 0; o->choices[*out]; ++*out)
    if (strcmp(o->choices[*out], text) == 0) return true;
  return false;
}

static bool parse(const option *o, const char *text, uint64_t *out) {
  switch (o->kind) {
    case FLAG: return parse_flag(text, out);
    case CHOICE: return parse_choice(o, text, out);
    default: return parse_number(o, text, out);
  }
}

static status bad_value(const option *o, const char *text) {
  char choices[256] = "";
  size_t used = 0;
  switch (o->kind) {
    case FLAG: return ERROR(INVALID_ARGUMENT, "CUDAExecutionProvider: option '%s' is '%.128s'; it must be 0 or 1", o->name, text);
    case ADDRESS: return ERROR(INVALID_ARGUMENT, "CUDAExecutionProvider: option '%s' is '%.128s'; it must be an address, written as a whole number", o->name, text);
    case NUMBER:
      return ERROR(INVALID_ARGUMENT, "CUDAExecutionProvider: option '%s' is '%.128s'; it must be a whole number from 0 to %llu", o->name, text, (unsigned long long)o->most);
    case CHOICE: break;
  }
  for (int i = 0; o->choices[i]; ++i) used += (size_t)snprintf(choices + used, sizeof choices - used, "%s%s", i ? ", " : "", o->choices[i]);
  return ERROR(INVALID_ARGUMENT, "CUDAExecutionProvider: option '%s' is '%.128s'; it must be one of %s", o->name, text, choices);
}

status cuda_option_check(const char *name, const char *value) {
  uint64_t ignored;
  const option *o = find_option(name);
  if (!o) return unknown(name);
  return parse(o, value, &ignored) ? OK : bad_value(o, value);
}

/* ---- Together --------------------------------------------------------------------------------------------------------- */

static const char *value_of(const option *o, const settings *given) {
  const char *text = settings_get(given, o->name);
  return text ? text : o->fallback;
}

bool cuda_option_at(size_t index, const settings *given, const char **out_name, const char **out_value) {
  if (index >= OPTION_COUNT) return false;
  const option *o = &options[index];
  uint64_t value;
  *out_name = o->name;
  *out_value = value_of(o, given);
  if (o->kind == FLAG && parse_flag(*out_value, &value)) *out_value = value ? "1" : "0";
  return true;
}

/* Values have been checked, so that they can be read. */
static uint64_t number(const settings *given, const char *name) {
  const option *o = find_option(name);
  uint64_t value = 0;
  return parse(o, value_of(o, given), &value) ? value : 0;
}

static void *address(const settings *given, const char *name) { return (void *)(uintptr_t)number(given, name); }

status cuda_options_read(const settings *given, cuda_options *out) {
  for (size_t i = 0; i < given->count; ++i) TRY(cuda_option_check(given->items[i].key, given->items[i].value));
  uint64_t limit = number(given, "gpu_mem_limit");
  void *stream = address(given, "user_compute_stream");
  *out = (cuda_options){
    .device_id = (int32_t)number(given, "device_id"), .user_stream = stream, .has_user_stream = stream || number(given, "has_user_compute_stream"),
    .memory_limit = limit == UINT64_MAX ? 0 : limit, .extend_strategy = (ortc_arena_extend)number(given, "arena_extend_strategy"),
    .graphs = number(given, "enable_cuda_graph"), .conv_search = (conv_search)number(given, "cudnn_conv_algo_search"),
    .conv_max_workspace = number(given, "cudnn_conv_use_max_workspace"), .tf32 = number(given, "use_tf32"), .prefer_nhwc = number(given, "prefer_nhwc"),
    .cudnn = number(given, "enable_cudnn")};
  *(void **)&out->external.alloc = address(given, "gpu_external_alloc");
  *(void **)&out->external.free = address(given, "gpu_external_free");
  *(void **)&out->external.empty_cache = address(given, "gpu_external_empty_cache");
  if (!out->external.alloc != !out->external.free) {
    return ERROR(INVALID_ARGUMENT, "CUDAExecutionProvider: gpu_external_alloc and gpu_external_free must be given together");
  }
  return OK;
}
