#include "einsum_equation.h"

#include <string.h>

static int letter(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1; }

/* A term's letters, with "..." as LETTERS; up to a comma, an arrow or the end. */
static status read_term(const char *equation, const char **at, int *count, int *labels, bool *ellipsis) {
  const char *s = *at;
  *count = 0, *ellipsis = false;
  for (; *s && *s != ',' && strncmp(s, "->", 2); ++s) {
    if (*s == ' ' || *s == '\t') continue;
    int label = letter(*s);
    if (strncmp(s, "...", 3) == 0) {
      if (*ellipsis) return ERROR(INVALID_ARGUMENT, "attribute 'equation' \"%s\" has two \"...\" in one term", equation);
      *ellipsis = true, label = LETTERS, s += 2;
    }
    if (label < 0) return ERROR(INVALID_ARGUMENT, "attribute 'equation' \"%s\" holds '%c'; terms are letters and \"...\"", equation, *s);
    if (*count == TERM_DIMS) return ERROR(INVALID_ARGUMENT, "attribute 'equation' has a term of more than %d labels", TERM_DIMS);
    labels[(*count)++] = label;
  }
  *at = s;
  return OK;
}

/* Replaces "..." by `wide` labels that end where all ellipses end. */
static status expand(const char *equation, int count, const int *labels, int wide, einsum_term *out) {
  out->rank = 0;
  for (int i = 0; i < count; ++i) {
    int copies = labels[i] == LETTERS ? wide : 1;
    if (out->rank + copies > TERM_DIMS) return ERROR(INVALID_ARGUMENT, "attribute 'equation' \"%s\" has a term of too many dims", equation);
    for (int j = 0; j < copies; ++j) out->labels[out->rank++] = labels[i] == LETTERS ? LABELS - wide + j : labels[i];
  }
  return OK;
}

static status note_dims(const einsum_term *t, int input, const dim *dims, einsum *e) {
  for (int i = 0; i < t->rank; ++i) {
    int label = t->labels[i];
    dim *d = &e->dims[label];
    if (!e->used[label] || *d == 1) *d = dims[i];
    else if (*d != dims[i] && dims[i] != 1) {
      if (dim_known(*d) && dim_known(dims[i]))
        return ERROR(INVALID_ARGUMENT, "dim %d of input %d is %lld; the same label of 'equation' is %lld elsewhere", i, input, (long long)dims[i],
                     (long long)*d);
      if (!dim_known(*d) && dim_known(dims[i])) *d = dims[i];
    }
    e->used[label] = true;
  }
  return OK;
}

/* Without "->": the dims of "...", then the letters that occur once, in alphabetical order (capitals first). */
static void implicit_output(einsum *e, int wide) {
  int uses[LETTERS] = {0};
  for (int i = 0; i < e->inputs; ++i)
    for (int j = 0; j < e->in[i].rank; ++j)
      if (e->in[i].labels[j] < LETTERS) ++uses[e->in[i].labels[j]];
  e->out.rank = 0;
  for (int i = 0; i < wide; ++i) e->out.labels[e->out.rank++] = LABELS - wide + i;
  for (int i = 0; i < LETTERS; ++i)
    if (uses[i] == 1) e->out.labels[e->out.rank++] = i;
}

static status read_output(const char *equation, const char *at, einsum *e, int wide) {
  int count, labels[TERM_DIMS];
  bool ellipsis, seen[LABELS] = {false};
  TRY(read_term(equation, &at, &count, labels, &ellipsis));
  if (*at) return ERROR(INVALID_ARGUMENT, "attribute 'equation' \"%s\" has more than one output term", equation);
  TRY(expand(equation, count, labels, wide, &e->out));
  for (int i = 0; i < e->out.rank; ++i) {
    int label = e->out.labels[i];
    if (!e->used[label]) return ERROR(INVALID_ARGUMENT, "attribute 'equation' \"%s\" has a label in its output that no input has", equation);
    if (seen[label]) return ERROR(INVALID_ARGUMENT, "attribute 'equation' \"%s\" has a label twice in its output", equation);
    seen[label] = true;
  }
  return OK;
}

status einsum_read(const char *equation, int inputs, const int *ranks, const dim *const *dims, einsum *e) {
  int counts[EINSUM_INPUTS], labels[EINSUM_INPUTS][TERM_DIMS], wide = 0;
  bool ellipsis[EINSUM_INPUTS];
  const char *at = equation;
  memset(e, 0, sizeof *e);
  if (inputs > EINSUM_INPUTS) return ERROR(NOT_IMPLEMENTED, "%d inputs; Einsum takes up to %d", inputs, EINSUM_INPUTS);
  for (int i = 0; i < inputs; ++i) {
    TRY(read_term(equation, &at, &counts[i], labels[i], &ellipsis[i]));
    bool last = *at != ',';
    if (last != (i + 1 == inputs))
      return ERROR(INVALID_ARGUMENT, "attribute 'equation' \"%s\" does not have a term for each of %d inputs", equation, inputs);
    if (!last) ++at;
    int hidden = ranks[i] - (counts[i] - ellipsis[i]);
    if (hidden < 0 || (hidden > 0 && !ellipsis[i]))
      return ERROR(INVALID_ARGUMENT, "input %d has rank %d; its term in 'equation' \"%s\" has %d labels", i, ranks[i], equation,
                   counts[i] - ellipsis[i]);
    if (ellipsis[i] && hidden > wide) wide = hidden;
  }
  e->inputs = inputs;
  for (int i = 0; i < inputs; ++i) {
    TRY(expand(equation, counts[i], labels[i], ranks[i] - (counts[i] - ellipsis[i]), &e->in[i]));
    TRY(note_dims(&e->in[i], i, dims[i], e));
  }
  if (*at) return read_output(equation, at + 2, e, wide);
  implicit_output(e, wide);
  return OK;
}
