/* com.microsoft Tokenizer: each string becomes a row of tokens, padded to the longest row. Tokens are what an expression matches, or what lies
 * between separators (expressions as well), or single characters. */
#include <ortcore/ops/movement.h>

#include <ortcore/base/regex.h>
#include <ortcore/base/utf8.h>

typedef struct tokenizer_params {
  bool mark;                                               /* rows begin with U+0002 and end with U+0003 */
  bool characters;
  bool matches;                                            /* expressions[0] is the token; else all are separators */
  text pad;
  int64_t shortest;                                        /* tokens of fewer characters are dropped */
  int64_t expression_count;
  regex **expressions;
  size_t memory;                                           /* for the largest of them */
} tokenizer_params;

static status tokenizer_compile(prepare_ctx *c, tokenizer_params *p, int64_t count, const text *patterns) {
  p->expression_count = count;
  p->expressions = ZONE_ARRAY(c->memory, count, regex *);
  if (!p->expressions) return status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) {
    TRY(regex_compile(patterns[i].data, patterns[i].bytes, c->memory, &p->expressions[i]));
    if (regex_memory(p->expressions[i]) > p->memory) p->memory = regex_memory(p->expressions[i]);
  }
  return OK;
}

static status tokenizer_prepare(prepare_ctx *c, void **out_params) {
  tokenizer_params *p = ZONE_NEW(c->memory, tokenizer_params);
  if (!p) return status_out_of_memory();
  int64_t separators;
  const text *given = attr_strings(c->node, "separators", &separators);
  text expression = attr_string_or(c->node, "tokenexp", "");
  p->mark = attr_int_or(c->node, "mark", 0) != 0;
  p->pad = attr_string_or(c->node, "pad_value", "");
  p->shortest = attr_int_or(c->node, "mincharnum", 1);
  *out_params = p;
  if (p->shortest < 1) return ERROR(INVALID_GRAPH, "attribute 'mincharnum' must be at least 1");
  if ((separators > 0) == (expression.bytes > 0))
    return ERROR(INVALID_GRAPH, "exactly one of the attributes 'separators' and 'tokenexp' must be given, and not be empty");
  p->matches = expression.bytes > 0;
  p->characters = separators == 1 && given[0].bytes == 0;
  if (p->characters) return OK;
  return p->matches ? tokenizer_compile(c, p, 1, &expression) : tokenizer_compile(c, p, separators, given);
}

static status tokenizer_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  if (x->rank != 1 && x->rank != 2) return OK;
  dim dims[3] = {x->dims[0], x->rank == 2 ? x->dims[1] : DIM_UNKNOWN, DIM_UNKNOWN};
  fact_set_shape(c->out[0], x->rank + 1, dims);
  return OK;
}

/* The tokens of one string are read one after another. */
typedef struct reader {
  const tokenizer_params *p;
  const char *text;
  size_t bytes, at;
  void *memory;
} reader;

static int64_t count_characters(const char *text, size_t bytes) {
  int64_t n = 0;
  for (size_t i = 0; i < bytes; ++n) i += utf8_decode(text + i, bytes - i, &(uint32_t){0});
  return n;
}

/* The separator that begins first from `at` on, and the longest of those; false if there is none. */
static bool next_separator(const reader *r, size_t *out_begin, size_t *out_end) {
  bool found = false;
  for (int64_t i = 0; i < r->p->expression_count; ++i) {
    size_t begin, end;
    if (!regex_search(r->p->expressions[i], r->text, r->bytes, r->at, &begin, &end, r->memory) || begin == end) continue;
    if (!found || begin < *out_begin || (begin == *out_begin && end > *out_end)) *out_begin = begin, *out_end = end;
    found = true;
  }
  return found;
}

static bool next_token(reader *r, const char **out, size_t *out_bytes) {
  const tokenizer_params *p = r->p;
  while (r->at < r->bytes) {
    size_t begin = r->at, end = r->bytes, after = r->bytes;
    if (p->characters) {
      end = after = begin + utf8_decode(r->text + begin, r->bytes - begin, &(uint32_t){0});
    } else if (p->matches) {
      if (!regex_search(p->expressions[0], r->text, r->bytes, r->at, &begin, &end, r->memory)) return false;
      after = end > r->at ? end : r->at + utf8_decode(r->text + r->at, r->bytes - r->at, &(uint32_t){0});
    } else {
      size_t separator = end;
      if (next_separator(r, &separator, &after)) end = separator;
      else after = r->bytes;
    }
    r->at = after;
    if (end > begin && count_characters(r->text + begin, end - begin) >= p->shortest) {
      *out = r->text + begin;
      *out_bytes = end - begin;
      return true;
    }
  }
  return false;
}

static status put(rcstr **at, const char *text, size_t bytes) {
  *at = rcstr_create(text, bytes);
  return *at ? OK : status_out_of_memory();
}

static status tokenizer_run(kernel_ctx *k) {
  const tokenizer_params *p = k->params;
  const tensor *x = k->in[0];
  rcstr *const *strings = x->data;
  const char *token;
  size_t bytes;
  int64_t dims[3], most = 0;
  void *memory;
  if (x->rank != 1 && x->rank != 2) return ERROR(INVALID_ARGUMENT, "'X' must have shape [C] or [N,C], but has rank %d", x->rank);
  TRY(kernel_scratch(k, p->memory + 1, &memory));
  for (int64_t i = 0; i < x->count; ++i) {
    reader r = {p, rcstr_text(strings[i]), rcstr_bytes(strings[i]), 0, memory};
    int64_t n = 0;
    while (next_token(&r, &token, &bytes)) ++n;
    most = n > most ? n : most;
  }
  if (most > 0) most += p->mark ? 2 : 0;
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank] = most;
  tensor *out;
  TRY(kernel_output(k, 0, x->rank + 1, dims, &out));
  if (!out || out->count == 0) return OK;
  for (int64_t i = 0; i < x->count; ++i) {
    reader r = {p, rcstr_text(strings[i]), rcstr_bytes(strings[i]), 0, memory};
    rcstr **to = (rcstr **)out->data + i * most, **end = to + most;
    if (p->mark) TRY(put(to++, "\002", 1));
    while (next_token(&r, &token, &bytes)) TRY(put(to++, token, bytes));
    if (p->mark) TRY(put(to++, "\003", 1));
    while (to < end) TRY(put(to++, p->pad.data, p->pad.bytes));
  }
  return OK;
}

OP_FAMILY(tokenizer) = {
  {.name = "Tokenizer", .domain = "com.microsoft", .since = 1, .signature = "X:str -> Y:str", .infer = tokenizer_infer,
   .prepare = tokenizer_prepare, .run = tokenizer_run},
  {0}};
