/* Operators on strings: StringNormalizer, StringConcat, StringSplit, RegexFullMatch. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <locale.h>
#include <ortcore/base/regex.h>
#include <ortcore/base/utf8.h>
#include <wctype.h>

static inline const rcstr *string_at(const tensor *t, int64_t i) { return ((rcstr *const *)t->data)[i]; }

static status string_put(tensor *t, int64_t i, const char *text, size_t bytes) {
  rcstr *s = rcstr_create(text, bytes);
  ((rcstr **)t->data)[i] = s;
  return s ? OK : status_out_of_memory();
}

static void string_share(tensor *t, int64_t i, const rcstr *s) { ((rcstr **)t->data)[i] = rcstr_retain((rcstr *)s); }

static size_t longest_of(const tensor *t) {
  size_t longest = 0;
  for (int64_t i = 0; i < t->count; ++i) longest = rcstr_bytes(string_at(t, i)) > longest ? rcstr_bytes(string_at(t, i)) : longest;
  return longest;
}

/* ---- StringNormalizer ---- */

typedef enum text_case { CASE_NONE, CASE_LOWER, CASE_UPPER } text_case;

typedef struct normalizer_params {
  text_case action;
  bool case_sensitive;
  locale_t locale;
  int64_t stopwords;
  const text *words;                                       /* in lower case unless case_sensitive */
} normalizer_params;

/* `text` in the other case, into out, which has room for 4 bytes a byte; returns its length. */
static size_t change_case(const char *text, size_t bytes, text_case to, locale_t locale, char *out) {
  size_t n = 0;
  for (size_t i = 0, step; i < bytes; i += step) {
    uint32_t c;
    step = utf8_decode(text + i, bytes - i, &c);
    if (c == UTF8_INVALID) {                               /* kept as it is */
      memcpy(out + n, text + i, step);
      n += step;
      continue;
    }
    n += utf8_encode((uint32_t)(to == CASE_LOWER ? towlower_l((wint_t)c, locale) : towupper_l((wint_t)c, locale)), out + n);
  }
  return n;
}

static void normalizer_dispose(void *params) {
  normalizer_params *p = params;
  if (p->locale) freelocale(p->locale);
}

static status normalizer_words(prepare_ctx *c, normalizer_params *p) {
  const text *given = attr_strings(c->node, "stopwords", &p->stopwords);
  text *words = ZONE_ARRAY(c->memory, p->stopwords, text);
  if (!words) return status_out_of_memory();
  p->words = words;
  for (int64_t i = 0; i < p->stopwords; ++i) {
    words[i] = given[i];
    if (p->case_sensitive) continue;
    char *lower = zone_alloc(c->memory, 4 * given[i].bytes + 1);
    if (!lower) return status_out_of_memory();
    words[i] = (text){lower, change_case(given[i].data, given[i].bytes, CASE_LOWER, p->locale, lower)};
  }
  return OK;
}

static status normalizer_prepare(prepare_ctx *c, void **out_params) {
  normalizer_params *p = ZONE_NEW(c->memory, normalizer_params);
  if (!p) return status_out_of_memory();
  text action = attr_string_or(c->node, "case_change_action", "NONE"), locale = attr_string_or(c->node, "locale", "");
  p->action = strcmp(action.data, "LOWER") == 0 ? CASE_LOWER : strcmp(action.data, "UPPER") == 0 ? CASE_UPPER : CASE_NONE;
  p->case_sensitive = attr_int_or(c->node, "is_case_sensitive", 0) != 0;
  if (p->action == CASE_NONE && strcmp(action.data, "NONE") != 0)
    return ERROR(INVALID_GRAPH, "attribute 'case_change_action' is '%s', but must be NONE, LOWER or UPPER", action.data);
  /* The model's locale where the system has it; else one that knows the letters of all scripts. */
  if (locale.bytes) p->locale = newlocale(LC_CTYPE_MASK, locale.data, (locale_t)0);
  if (!p->locale) p->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  if (!p->locale) p->locale = newlocale(LC_CTYPE_MASK, "C", (locale_t)0);
  if (!p->locale) return status_out_of_memory();
  status s = normalizer_words(c, p);
  if (s) normalizer_dispose(p);
  else *out_params = p;
  return s;
}

static status normalizer_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  int64_t stopwords;
  attr_strings(c->node, "stopwords", &stopwords);
  if (stopwords == 0) {
    fact_copy_shape(c->out[0], x);
    for (int d = 0; d < x->rank; ++d)
      if (!dim_known(x->dims[d]) || x->dims[d] == 0) c->out[0]->dims[d] = x->dims[d] == 0 ? 1 : DIM_UNKNOWN;
  } else if (x->rank == 1 || x->rank == 2) {
    fact_set_shape(c->out[0], x->rank, (dim[]){x->rank == 1 ? DIM_UNKNOWN : 1, DIM_UNKNOWN});
  }
  return OK;
}

static bool is_stopword(const normalizer_params *p, const rcstr *s, char *buffer) {
  const char *word = rcstr_text(s);
  size_t bytes = rcstr_bytes(s);
  if (p->stopwords && !p->case_sensitive) {
    bytes = change_case(word, bytes, CASE_LOWER, p->locale, buffer);
    word = buffer;
  }
  for (int64_t i = 0; i < p->stopwords; ++i)
    if (p->words[i].bytes == bytes && memcmp(p->words[i].data, word, bytes) == 0) return true;
  return false;
}

static status normalizer_run(kernel_ctx *k) {
  const normalizer_params *p = k->params;
  const tensor *x = k->in[0];
  if (x->rank != 1 && (x->rank != 2 || x->dims[0] != 1))
    return ERROR(INVALID_ARGUMENT, "'X' must have shape [C] or [1,C], but has rank %d%s", x->rank,
                 x->rank == 2 ? " and more than one row" : "");
  char *buffer;
  uint8_t *keep;
  TRY(kernel_scratch(k, 4 * longest_of(x) + 1, (void **)&buffer));
  TRY(kernel_scratch(k, (size_t)x->count + 1, (void **)&keep));
  int64_t kept = 0;
  for (int64_t i = 0; i < x->count; ++i) kept += keep[i] = !is_stopword(p, string_at(x, i), buffer);
  int64_t columns = kept ? kept : 1, dims[2] = {x->rank == 1 ? columns : 1, columns};   /* if nothing is left: one empty string */
  tensor *out;
  TRY(kernel_output(k, 0, x->rank, dims, &out));
  if (!out) return OK;
  for (int64_t i = 0, n = 0; i < x->count; ++i) {
    const rcstr *s = string_at(x, i);
    if (!keep[i]) continue;
    if (p->action == CASE_NONE) string_share(out, n++, s);
    else TRY(string_put(out, n++, buffer, change_case(rcstr_text(s), rcstr_bytes(s), p->action, p->locale, buffer)));
  }
  return OK;
}

/* ---- StringConcat ---- */

static status concat_infer(infer_ctx *c) { return fact_broadcast(c->in[0], c->in[1], c->out[0]); }

/* Strides of t within a broadcast shape: 0 along the axes that repeat. */
static void broadcast_strides(const tensor *t, int rank, int64_t *out) {
  int64_t strides[MAX_RANK];
  dense_strides(t->rank, t->dims, strides);
  for (int d = 0; d < rank; ++d) {
    int own = d - (rank - t->rank);
    out[d] = own < 0 || t->dims[own] == 1 ? 0 : strides[own];
  }
}

static status concat_run(kernel_ctx *k) {
  const tensor *x = k->in[0], *y = k->in[1];
  char a[DIMS_TEXT], b[DIMS_TEXT], *buffer;
  int rank = x->rank > y->rank ? x->rank : y->rank;
  int64_t dims[MAX_RANK], of_x[MAX_RANK], of_y[MAX_RANK], index[MAX_RANK] = {0}, at_x = 0, at_y = 0;
  for (int d = 0; d < rank; ++d) {
    int64_t n = d < rank - x->rank ? 1 : x->dims[d - (rank - x->rank)], m = d < rank - y->rank ? 1 : y->dims[d - (rank - y->rank)];
    if (n != m && n != 1 && m != 1)
      return ERROR(INVALID_ARGUMENT, "shapes %s of 'X' and %s of 'Y' cannot be broadcast", dims_format(a, sizeof a, x->rank, x->dims),
                   dims_format(b, sizeof b, y->rank, y->dims));
    dims[d] = n == 1 ? m : n;
  }
  tensor *out;
  TRY(kernel_output(k, 0, rank, dims, &out));
  if (!out || out->count == 0) return OK;
  TRY(kernel_scratch(k, longest_of(x) + longest_of(y) + 1, (void **)&buffer));
  broadcast_strides(x, rank, of_x);
  broadcast_strides(y, rank, of_y);
  for (int64_t i = 0; i < out->count; ++i) {
    const rcstr *left = string_at(x, at_x), *right = string_at(y, at_y);
    memcpy(buffer, rcstr_text(left), rcstr_bytes(left));
    memcpy(buffer + rcstr_bytes(left), rcstr_text(right), rcstr_bytes(right));
    TRY(string_put(out, i, buffer, rcstr_bytes(left) + rcstr_bytes(right)));
    for (int d = rank - 1; d >= 0; --d) {
      at_x += of_x[d];
      at_y += of_y[d];
      if (++index[d] < dims[d]) break;
      at_x -= dims[d] * of_x[d];
      at_y -= dims[d] * of_y[d];
      index[d] = 0;
    }
  }
  return OK;
}

/* ---- StringSplit ---- */

typedef struct split_params {
  text delimiter;                                          /* empty: runs of white space */
  int64_t most;                                            /* splits of one string */
} split_params;

static status split_prepare(prepare_ctx *c, void **out_params) {
  split_params *p = ZONE_NEW(c->memory, split_params);
  if (!p) return status_out_of_memory();
  p->delimiter = attr_string_or(c->node, "delimiter", "");
  p->most = attr_int_or(c->node, "maxsplit", -1);
  if (p->most < 0) p->most = INT64_MAX;
  *out_params = p;
  return OK;
}

static status split_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  if (c->out_count > 1 && c->out[1]) fact_copy_shape(c->out[1], x);
  if (!c->out[0] || x->rank == RANK_UNKNOWN || x->rank == MAX_RANK) return OK;
  dim dims[MAX_RANK];
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank] = DIM_UNKNOWN;
  fact_set_shape(c->out[0], x->rank + 1, dims);
  return OK;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Cuts the next piece off the front of `rest`, of which `splits` were cut before; false if there is none. */
static bool next_piece(const split_params *p, text *rest, int64_t splits, text *piece) {
  if (p->delimiter.bytes == 0) {
    while (rest->bytes && is_space(*rest->data)) ++rest->data, --rest->bytes;
    if (rest->bytes == 0) return false;
    size_t n = 0;
    while (n < rest->bytes && (splits >= p->most || !is_space(rest->data[n]))) ++n;
    *piece = (text){rest->data, n};
    *rest = (text){rest->data + n, rest->bytes - n};
    return true;
  }
  if (!rest->data) return false;
  const char *hit = splits < p->most ? memmem(rest->data, rest->bytes, p->delimiter.data, p->delimiter.bytes) : NULL;
  *piece = (text){rest->data, hit ? (size_t)(hit - rest->data) : rest->bytes};
  *rest = hit ? (text){hit + p->delimiter.bytes, rest->bytes - piece->bytes - p->delimiter.bytes} : (text){NULL, 0};
  return true;
}

static int64_t count_pieces(const split_params *p, const rcstr *s) {
  text rest = {rcstr_text(s), rcstr_bytes(s)}, piece;
  int64_t n = 0;
  while (next_piece(p, &rest, n, &piece)) ++n;
  return n;
}

static status split_run(kernel_ctx *k) {
  const split_params *p = k->params;
  const tensor *x = k->in[0];
  if (x->rank == MAX_RANK)
    return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", MAX_RANK + 1, MAX_RANK);
  int64_t dims[MAX_RANK], most = 0;
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t n = count_pieces(p, string_at(x, i));
    most = n > most ? n : most;
  }
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank] = most;
  tensor *pieces, *counts = NULL;
  TRY(kernel_output(k, 0, x->rank + 1, dims, &pieces));
  if (k->out_count > 1) TRY(kernel_output(k, 1, x->rank, dims, &counts));
  for (int64_t i = 0; i < x->count; ++i) {
    text rest = {rcstr_text(string_at(x, i)), rcstr_bytes(string_at(x, i))}, piece;
    int64_t n = 0;
    for (; next_piece(p, &rest, n, &piece); ++n)
      if (pieces) TRY(string_put(pieces, i * most + n, piece.data, piece.bytes));
    if (counts) ((int64_t *)counts->data)[i] = n;
  }
  return OK;
}

/* ---- RegexFullMatch ---- */

static status regex_prepare(prepare_ctx *c, void **out_params) {
  text pattern = attr_string_or(c->node, "pattern", "");
  regex *r;
  TRY(regex_compile(pattern.data, pattern.bytes, c->memory, &r));
  *out_params = r;
  return OK;
}

static status regex_run(kernel_ctx *k) {
  const tensor *x = k->in[0];
  tensor *out;
  void *memory;
  TRY(kernel_output_like(k, 0, x, &out));
  if (!out || out->count == 0) return OK;
  TRY(kernel_scratch(k, regex_memory(k->params), &memory));
  for (int64_t i = 0; i < x->count; ++i)
    ((bool *)out->data)[i] = regex_full_match(k->params, rcstr_text(string_at(x, i)), rcstr_bytes(string_at(x, i)), memory);
  return OK;
}

OP_FAMILY(strings) = {
  {.name = "StringNormalizer", .since = 10, .signature = "X:str -> Y:str", .infer = normalizer_infer, .prepare = normalizer_prepare,
   .dispose = normalizer_dispose, .run = normalizer_run},
  {.name = "StringConcat", .since = 20, .signature = "X:str Y:str -> Z:str", .infer = concat_infer, .run = concat_run},
  {.name = "StringSplit", .since = 20, .signature = "X:str -> Y:str Z:i64", .infer = split_infer, .prepare = split_prepare,
   .run = split_run},
  {.name = "RegexFullMatch", .since = 20, .signature = "X:str -> Y:bool", .prepare = regex_prepare, .run = regex_run},
  {0}};
