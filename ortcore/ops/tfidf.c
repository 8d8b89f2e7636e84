/* TfIdfVectorizer: how often each n-gram of a pool occurs in each row, weighted or not. The pool is a hash table, made once. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>

typedef enum tfidf_mode { MODE_TF, MODE_IDF, MODE_TFIDF } tfidf_mode;

typedef struct gram {
  uint64_t hash;
  int64_t first, column;                                   /* first item in the pool; column of the result */
  int32_t length;                                          /* 0: an empty place of the table */
} gram;

typedef struct tfidf_params {
  tfidf_mode mode;
  int64_t shortest, longest, skips, columns;
  int64_t weight_count;
  const float *weights;
  const int64_t *integers;                                 /* the pool: one of the two */
  const text *strings;
  uint64_t mask;                                           /* size of the table, a power of two, less one */
  gram *table;
} tfidf_params;

static uint64_t mix(uint64_t hash, uint64_t x) {
  hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static uint64_t hash_text(const char *s, size_t bytes) {
  uint64_t hash = bytes;
  for (size_t i = 0; i < bytes; ++i) hash = mix(hash, (uint8_t)s[i]);
  return hash;
}

static uint64_t pool_hash(const tfidf_params *p, int64_t i) {
  return p->strings ? hash_text(p->strings[i].data, p->strings[i].bytes) : mix(1, (uint64_t)p->integers[i]);
}

static bool item_equal(const tfidf_params *p, int64_t pool, const tensor *x, int64_t i) {
  if (!p->strings) return p->integers[pool] == integer_at(x, i);
  const rcstr *s = ((rcstr *const *)x->data)[i];
  return p->strings[pool].bytes == rcstr_bytes(s) && memcmp(p->strings[pool].data, rcstr_text(s), rcstr_bytes(s)) == 0;
}

/* Fills the table with the grams of each length; `starts` says where in the pool those of length 1, 2, ... begin. */
static status tfidf_fill(tfidf_params *p, int64_t pool_count, int64_t start_count, const int64_t *starts, int64_t index_count,
                         const int64_t *indexes) {
  int64_t grams = 0;
  for (int64_t length = 1; length <= start_count; ++length) {
    int64_t begin = starts[length - 1], end = length < start_count ? starts[length] : pool_count;
    if (begin < 0 || end < begin || end > pool_count || (end - begin) % length)
      return ERROR(INVALID_GRAPH,
                   "attribute 'ngram_counts': grams of %" PRId64 " items cannot lie at %" PRId64 " to %" PRId64 " of a pool of %" PRId64,
                   length, begin, end, pool_count);
    for (int64_t at = begin; at < end; at += length, ++grams) {
      if (grams == index_count)
        return ERROR(INVALID_GRAPH, "attribute 'ngram_indexes' has %" PRId64 " entries, fewer than there are grams in the pool",
                     index_count);
      uint64_t hash = (uint64_t)length;
      for (int64_t i = 0; i < length; ++i) hash = mix(hash, pool_hash(p, at + i));
      uint64_t slot = hash & p->mask;
      while (p->table[slot].length) slot = (slot + 1) & p->mask;
      p->table[slot] = (gram){hash, at, indexes[grams], (int32_t)length};
    }
  }
  return OK;
}

static status tfidf_columns(const node *n, int64_t *out) {
  int64_t count;
  const int64_t *indexes = attr_ints(n, "ngram_indexes", &count);
  *out = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (indexes[i] < 0 || indexes[i] >= INT32_MAX)
      return ERROR(INVALID_GRAPH, "attribute 'ngram_indexes' holds %" PRId64 ", which is not a column", indexes[i]);
    if (indexes[i] >= *out) *out = indexes[i] + 1;
  }
  return OK;
}

static status tfidf_prepare(prepare_ctx *c, void **out_params) {
  static const char *const names[] = {"TF", "IDF", "TFIDF"};
  const node *n = c->node;
  tfidf_params *p = ZONE_NEW(c->memory, tfidf_params);
  if (!p) return status_out_of_memory();
  *out_params = p;
  int64_t integers, strings, starts, indexes;
  text mode = attr_string_or(n, "mode", "");
  while (p->mode <= MODE_TFIDF && strcmp(names[p->mode], mode.data) != 0) ++p->mode;
  if (p->mode > MODE_TFIDF) return ERROR(INVALID_GRAPH, "attribute 'mode' is '%s', but must be TF, IDF or TFIDF", mode.data);
  p->shortest = attr_int_or(n, "min_gram_length", 1);
  p->longest = attr_int_or(n, "max_gram_length", 1);
  p->skips = attr_int_or(n, "max_skip_count", 0);
  p->weights = attr_floats(n, "weights", &p->weight_count);
  p->integers = attr_ints(n, "pool_int64s", &integers);
  p->strings = attr_strings(n, "pool_strings", &strings);
  const int64_t *start = attr_ints(n, "ngram_counts", &starts), *index = attr_ints(n, "ngram_indexes", &indexes);
  TRY(tfidf_columns(n, &p->columns));
  if (p->shortest < 1 || p->longest < p->shortest || p->skips < 0)
    return ERROR(INVALID_GRAPH,
                 "min_gram_length %" PRId64 ", max_gram_length %" PRId64 " and max_skip_count %" PRId64 " do not fit together", p->shortest,
                 p->longest, p->skips);
  if ((integers > 0) == (strings > 0))
    return ERROR(INVALID_GRAPH, "exactly one of the attributes 'pool_int64s' and 'pool_strings' must be given");
  if (strings == 0) p->strings = NULL;
  if ((c->in[0]->type == ORTC_STRING) != (p->strings != NULL))
    return ERROR(INVALID_GRAPH, "'X' holds %s, but the pool holds %s", dtype_name(c->in[0]->type), p->strings ? "strings" : "integers");
  if (p->weights && p->weight_count < p->columns)
    return ERROR(INVALID_GRAPH, "attribute 'weights' has %" PRId64 " entries for %" PRId64 " columns", p->weight_count, p->columns);
  uint64_t size = 16;
  while (size < 2 * (uint64_t)indexes) size *= 2;
  p->table = ZONE_ARRAY(c->memory, size, gram);
  if (!p->table) return status_out_of_memory();
  p->mask = size - 1;
  return tfidf_fill(p, p->strings ? strings : integers, starts, start, indexes, index);
}

static status tfidf_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  dim columns;
  TRY(tfidf_columns(c->node, &columns));
  if (x->rank == 1) fact_set_shape(c->out[0], 1, &columns);
  else if (x->rank == 2) fact_set_shape(c->out[0], 2, (dim[]){x->dims[0], columns});
  return OK;
}

/* Column of the gram of `length` items at i, i + step, ...; -1 if the pool has none. */
static int64_t tfidf_find(const tfidf_params *p, const tensor *x, uint64_t hash, int64_t i, int64_t step, int64_t length) {
  for (uint64_t slot = hash & p->mask; p->table[slot].length; slot = (slot + 1) & p->mask) {
    const gram *g = &p->table[slot];
    if (g->hash != hash || g->length != length) continue;
    int64_t j = 0;
    while (j < length && item_equal(p, g->first + j, x, i + j * step)) ++j;
    if (j == length) return g->column;
  }
  return -1;
}

/* Counts the grams of items [begin, end) whose hashes are given. */
static void tfidf_count(const tfidf_params *p, const tensor *x, const uint64_t *hashes, int64_t begin, int64_t end, float *out) {
  for (int64_t length = p->shortest; length <= p->longest && length <= end - begin; ++length) {
    int64_t steps = length == 1 ? 1 : p->skips + 1;        /* single items are the same whatever is skipped */
    for (int64_t step = 1; step <= steps && length - 1 <= (end - begin - 1) / step; ++step) {
      for (int64_t i = begin; i + (length - 1) * step < end; ++i) {
        uint64_t hash = (uint64_t)length;
        for (int64_t j = 0; j < length; ++j) hash = mix(hash, hashes[i + j * step]);
        int64_t column = tfidf_find(p, x, hash, i, step, length);
        if (column >= 0) out[column] += 1;
      }
    }
  }
}

static status tfidf_run(kernel_ctx *k) {
  const tfidf_params *p = k->params;
  const tensor *x = k->in[0];
  if (x->rank != 1 && x->rank != 2) return ERROR(INVALID_ARGUMENT, "'X' must have shape [C] or [N,C], but has rank %d", x->rank);
  int64_t rows = x->rank == 2 ? x->dims[0] : 1, items = x->dims[x->rank - 1], dims[2] = {x->rank == 2 ? rows : p->columns, p->columns};
  uint64_t *hashes;
  tensor *out;
  TRY(kernel_output(k, 0, x->rank, dims, &out));
  if (!out || out->count == 0) return OK;
  TRY(kernel_scratch(k, (size_t)(x->count + 1) * sizeof *hashes, (void **)&hashes));
  for (int64_t i = 0; i < x->count; ++i) {
    const rcstr *s = p->strings ? ((rcstr *const *)x->data)[i] : NULL;
    hashes[i] = p->strings ? hash_text(rcstr_text(s), rcstr_bytes(s)) : mix(1, (uint64_t)integer_at(x, i));
  }
  memset(out->data, 0, tensor_bytes(out));
  for (int64_t row = 0; row < rows; ++row) {
    float *to = (float *)out->data + row * p->columns;
    tfidf_count(p, x, hashes, row * items, (row + 1) * items, to);
    for (int64_t i = 0; i < p->columns && p->mode != MODE_TF; ++i) {
      float weight = p->weights ? p->weights[i] : 1;
      to[i] = p->mode == MODE_TFIDF ? to[i] * weight : to[i] > 0 ? weight : 0;
    }
  }
  return OK;
}

OP_FAMILY(tfidf) = {
  {.name = "TfIdfVectorizer", .since = 9, .signature = "X:T -> Y:f32", .T = TS_INDEX | TS(STRING), .infer = tfidf_infer,
   .prepare = tfidf_prepare, .run = tfidf_run},
  {0}};
