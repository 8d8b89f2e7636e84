#include <ortcore/ops/signature.h>
#include <ctype.h>
#include <string.h>

static const char *const variables[TYPE_VARIABLES] = {"T", "T1", "T2", "T3", "T4", "T5", "V"};

static const struct { const char *name; dtype type; } fixed_types[] = {
  {"f32", ORTC_FLOAT}, {"f64", ORTC_DOUBLE}, {"f16", ORTC_FLOAT16}, {"bf16", ORTC_BFLOAT16}, {"i8", ORTC_INT8}, {"i16", ORTC_INT16}, {"i32", ORTC_INT32},
  {"i64", ORTC_INT64}, {"u8", ORTC_UINT8}, {"u16", ORTC_UINT16}, {"u32", ORTC_UINT32}, {"u64", ORTC_UINT64}, {"bool", ORTC_BOOL}, {"str", ORTC_STRING}};

const char *variable_name(int variable) { return variables[variable]; }

typeset op_variable_types(const op_def *op, int variable) {
  const typeset sets[TYPE_VARIABLES] = {op->T, op->T1, op->T2, op->T3, op->T4, op->T5, op->V};
  return sets[variable];
}

/* Copies the word at *text (letters, digits, underscores) and moves past it. */
static bool word(const char **text, char *out, size_t capacity) {
  size_t n = 0;
  for (; isalnum((unsigned char)**text) || **text == '_'; ++*text) {
    if (n + 1 >= capacity) return false;
    out[n++] = **text;
  }
  out[n] = 0;
  return n > 0;
}

static bool element_type(const char *name, parameter *p) {
  p->variable = -1;
  for (int i = 0; i < TYPE_VARIABLES; ++i)
    if (!strcmp(name, variables[i])) {
      p->variable = (int8_t)i;
      return true;
    }
  for (size_t i = 0; i < sizeof fixed_types / sizeof *fixed_types; ++i)
    if (!strcmp(name, fixed_types[i].name)) {
      p->fixed = fixed_types[i].type;
      return true;
    }
  return false;
}

/* "T", "i64", "any", "seq(T)", "opt(T)". */
static bool type(const char **text, parameter *p) {
  char name[16];
  if (!word(text, name, sizeof name)) return false;
  p->kind = KIND_TENSOR;
  p->variable = -1;
  if (!strcmp(name, "any")) {
    p->kind = KIND_UNKNOWN;
    return true;
  }
  bool sequence = !strcmp(name, "seq"), optional = !strcmp(name, "opt");
  if ((!sequence && !optional) || **text != '(') return element_type(name, p);
  ++*text;
  if (!word(text, name, sizeof name) || !element_type(name, p) || **text != ')') return false;
  ++*text;
  if (sequence) p->kind = KIND_SEQUENCE;
  p->optional_type = optional;
  return true;
}

static bool parameters(const char **text, parameter *list, int32_t *count) {
  for (;;) {
    while (**text == ' ') ++*text;
    if (!**text || !strncmp(*text, "->", 2)) return true;
    if (*count == MAX_PARAMETERS) return false;
    parameter *p = &list[(*count)++];
    if (!word(text, p->name, sizeof p->name) || **text != ':') return false;
    ++*text;
    if (!type(text, p)) return false;
    for (; **text == '?' || **text == '*' || **text == '%'; ++*text) {
      if (**text == '?') p->may_be_absent = true;
      else p->repeat = **text;
    }
  }
}

bool signature_parse(const char *text, signature *out) {
  memset(out, 0, sizeof *out);
  if (!parameters(&text, out->in, &out->in_count) || strncmp(text, "->", 2)) return false;
  text += 2;
  return parameters(&text, out->out, &out->out_count) && !*text;
}
