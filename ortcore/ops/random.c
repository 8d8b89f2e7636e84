/* Random tensors, and Dropout. Numbers are a mix of a key and a counter, so that any element can be made on any thread: the key is the node's `seed` or the
 * process's seed and the node, the counter goes on from run to run. */
#include <ortcore/base/half.h>
#include <ortcore/base/seed.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/kernels/cpu/copy.h>
#include <ortcore/ops/infer_common.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { BLOCK = 512, GRAIN = 1 << 12 };

typedef struct source {
  uint64_t key;
  _Atomic uint64_t used;                                   /* numbers that earlier runs took */
} source;

/* Steele, Lea and Flood's mix of 64 bits: every bit of the input changes half of the output's. */
static uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
static uint64_t random_bits(uint64_t key, uint64_t counter) { return mix(key + (counter + 1) * 0x9e3779b97f4a7c15u); }
static double random_unit(uint64_t key, uint64_t counter) { return (double)(random_bits(key, counter) >> 11) * 0x1p-53; }   /* [0, 1) */

/* Two numbers an element: the polar form of a pair of normals, of which one is used. */
static double random_normal(uint64_t key, uint64_t counter) {
  double radius = sqrt(-2 * log(1 - random_unit(key, 2 * counter)));
  return radius * cos(2 * M_PI * random_unit(key, 2 * counter + 1));
}

static status source_prepare(prepare_ctx *c, void **out_params) {
  source *s = *out_params = ZONE_NEW(c->memory, source);
  if (!s) return status_out_of_memory();
  const attr *seed = attr_find(c->node, "seed");             /* Dropout has an integer */
  if (seed) {
    s->key = mix(seed->kind == ATTR_INT ? (uint64_t)seed->i : float_bits(attr_float_or(c->node, "seed", 0)));
  } else {
    s->key = mix((uint64_t)seed_get());
    for (const char *name = c->node->name; *name; ++name) s->key = mix(s->key ^ (uint8_t)*name);
    s->key = mix(s->key ^ (uint64_t)c->node->outputs[0]);
  }
  return OK;
}

/* The counter of the first of n numbers that this run may take. */
static uint64_t take(const kernel_ctx *k, int64_t n) { return atomic_fetch_add(&((source *)k->params)->used, (uint64_t)n); }

typedef struct draw {
  uint64_t key, first;
  bool normal;
  double offset, scale;                                    /* y = offset + scale * number */
  const tensor *chances;                                   /* then instead: is the number below this chance? */
  tensor *out;
} draw;

static void draw_range(void *context, int64_t begin, int64_t end) {
  const draw *d = context;
  double numbers[BLOCK], chances[BLOCK];
  int width = tensor_width(d->out);
  convert_fn store = convert_find(ORTC_DOUBLE, d->out->type), load = d->chances ? convert_find(d->chances->type, ORTC_DOUBLE) : NULL;
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t n = end - i < BLOCK ? end - i : BLOCK;
    if (load) load((const char *)d->chances->data + i * tensor_width(d->chances), chances, n);
    for (int64_t j = 0; j < n; ++j) {
      uint64_t counter = d->first + (uint64_t)(i + j);
      double x = d->normal ? random_normal(d->key, counter) : random_unit(d->key, counter);
      numbers[j] = load ? x < chances[j] : d->offset + d->scale * x;
    }
    store(numbers, (char *)d->out->data + i * width, n);
  }
}

static status draw_output(kernel_ctx *k, draw *d, int rank, const int64_t *dims) {
  TRY(kernel_output(k, 0, rank, dims, &d->out));
  if (!d->out || d->out->count == 0) return OK;
  d->key = ((const source *)k->params)->key;
  d->first = take(k, d->out->count);
  parallel_for(k->threads, d->out->count, GRAIN, draw_range, d);
  return OK;
}

/* ---- RandomNormal, RandomUniform, and Like ---- */

static status random_infer(infer_ctx *c) {
  TRY(infer_type_attr(c, "dtype", ORTC_FLOAT, c->op->T2));
  return infer_shape_from_attr(c, "shape");
}

static status like_infer(infer_ctx *c) {
  fact_copy_shape(c->out[0], c->in[0]);
  return attr_find(c->node, "dtype") || c->in[0]->type ? infer_type_attr(c, "dtype", c->in[0]->type, c->op->T2) : OK;
}

static status random_run(kernel_ctx *k) {
  bool normal = *(const bool *)k->node->op->data;
  float low = attr_float_or(k->node, "low", 0), high = attr_float_or(k->node, "high", 1);
  draw d = {.normal = normal, .offset = low, .scale = (double)high - low};
  if (normal) d.offset = attr_float_or(k->node, "mean", 0), d.scale = attr_float_or(k->node, "scale", 1);
  if (k->in_count) return draw_output(k, &d, k->in[0]->rank, k->in[0]->dims);
  int64_t rank;
  const int64_t *dims = attr_ints(k->node, "shape", &rank);
  return draw_output(k, &d, (int)rank, dims);              /* infer has refused a bad shape */
}

/* ---- Bernoulli, Multinomial ---- */

static status bernoulli_run(kernel_ctx *k) { return draw_output(k, &(draw){.chances = k->in[0]}, k->in[0]->rank, k->in[0]->dims); }

static status multinomial_infer(infer_ctx *c) {
  int64_t samples = attr_int_or(c->node, "sample_size", 1);
  TRY(infer_type_attr(c, "dtype", ORTC_INT32, c->op->T2));
  if (samples < 1) return ERROR(INVALID_GRAPH, "attribute 'sample_size' is %lld; it must be positive", (long long)samples);
  if (c->in[0]->rank >= 0 && c->in[0]->rank != 2) return ERROR(INVALID_ARGUMENT, "the input must have shape [batch, classes], but has rank %d", c->in[0]->rank);
  fact_set_shape(c->out[0], 2, (const dim[]){c->in[0]->rank == 2 ? c->in[0]->dims[0] : DIM_UNKNOWN, samples});
  return OK;
}

/* Class j has a chance in proportion to e^x[j]: the first class at which the running sum passes a random part of the total. */
static status multinomial_run(kernel_ctx *k) {
  const tensor *in = k->in[0];
  tensor *out;
  if (in->rank != 2 || in->dims[1] < 1)
    return ERROR(INVALID_ARGUMENT, "the input must have shape [batch, classes] with at least one class, but has rank %d", in->rank);
  int64_t batch = in->dims[0], classes = in->dims[1], dims[2] = {batch, attr_int_or(k->node, "sample_size", 1)};
  void *scratch;
  TRY(kernel_output(k, 0, 2, dims, &out));
  if (!out || out->count == 0) return OK;
  TRY(kernel_scratch(k, (size_t)classes * sizeof(double), &scratch));
  double *sums = scratch;
  uint64_t key = ((const source *)k->params)->key, counter = take(k, out->count);
  for (int64_t b = 0; b < batch; ++b) {
    convert_find(in->type, ORTC_DOUBLE)((const char *)in->data + b * classes * tensor_width(in), sums, classes);
    double most = sums[0], total = 0;
    for (int64_t j = 1; j < classes; ++j) most = sums[j] > most ? sums[j] : most;
    for (int64_t j = 0; j < classes; ++j) sums[j] = total += exp(sums[j] - most);
    for (int64_t i = 0; i < dims[1]; ++i) {
      double target = random_unit(key, counter++) * total;
      int64_t low = 0, high = classes - 1;
      while (low < high) {
        int64_t middle = (low + high) / 2;
        if (sums[middle] > target) high = middle;
        else low = middle + 1;
      }
      if (out->type == ORTC_INT32) ((int32_t *)out->data)[b * dims[1] + i] = (int32_t)low;
      else ((int64_t *)out->data)[b * dims[1] + i] = low;
    }
  }
  return OK;
}

/* ---- Dropout: in inference nothing is dropped ---- */

static status dropout_infer(infer_ctx *c) {
  if (c->out[0]) fact_copy_shape(c->out[0], c->in[0]);
  if (c->out_count > 1 && c->out[1]) fact_copy_shape(c->out[1], c->in[0]);
  return OK;
}

/* Before opset 12 only inference is asked for, and the mask is of zeros. */
static status dropout_view_run(kernel_ctx *k) {
  tensor *mask = NULL;
  if (k->out_count > 1) TRY(kernel_output_like(k, 1, k->in[0], &mask));
  if (mask && mask->count) memset(mask->data, 0, tensor_bytes(mask));
  return kernel_view(k, 0, 0, k->in[0]->rank, k->in[0]->dims);
}

typedef struct dropping {
  uint64_t key, first;
  double ratio;
  const tensor *in;
  tensor *out, *mask;                                      /* mask may be NULL */
} dropping;

static void load_doubles(const tensor *t, int64_t begin, int64_t n, double *out) {
  double native[BLOCK];
  convert_load(t->type, t->data, begin, n, native);
  convert_find(convert_native(t->type), ORTC_DOUBLE)(native, out, n);
}

/* What is kept grows, so that the sum stays what it was in the mean. */
static void drop_range(void *context, int64_t begin, int64_t end) {
  const dropping *d = context;
  double x[BLOCK], native[BLOCK], scale = 1 / (1 - d->ratio);
  const conversion store = {.to = d->out->type, .saturate = true};
  convert_fn narrow = convert_find(ORTC_DOUBLE, convert_native(d->out->type));
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t n = end - i < BLOCK ? end - i : BLOCK;
    load_doubles(d->in, i, n, x);
    for (int64_t j = 0; j < n; ++j) {
      bool keep = random_unit(d->key, d->first + (uint64_t)(i + j)) >= d->ratio;
      x[j] *= keep ? scale : 0;
      if (d->mask) ((uint8_t *)d->mask->data)[i + j] = keep;
    }
    narrow(x, native, n);
    convert_store(&store, native, d->out->data, i, n);
  }
}

static status dropout_read(const kernel_ctx *k, bool *out_training, double *out_ratio) {
  const tensor *ratio = k->in_count > 1 ? k->in[1] : NULL, *training = k->in_count > 2 ? k->in[2] : NULL;
  *out_ratio = 0.5;
  *out_training = false;
  if (training && training->count != 1) return ERROR(INVALID_ARGUMENT, "'training_mode' has %lld elements, but must be one bool", (long long)training->count);
  if (ratio && ratio->count != 1) return ERROR(INVALID_ARGUMENT, "'ratio' has %lld elements, but must be one number", (long long)ratio->count);
  if (ratio) load_doubles(ratio, 0, 1, out_ratio);
  if (training) *out_training = *(const bool *)training->data;
  if (*out_training && !(*out_ratio >= 0 && *out_ratio < 1))
    return ERROR(INVALID_ARGUMENT, "'ratio' is %g; in training it is the part that is dropped, at least 0 and less than 1", *out_ratio);
  return OK;
}

static status dropout_run(kernel_ctx *k) {
  bool training;
  dropping d = {.key = ((const source *)k->params)->key, .in = k->in[0]};
  TRY(dropout_read(k, &training, &d.ratio));
  TRY(kernel_output_like(k, 0, d.in, &d.out));
  if (k->out_count > 1) TRY(kernel_output_like(k, 1, d.in, &d.mask));
  if (d.in->count == 0) return OK;
  if (training && d.ratio > 0 && d.out) {
    d.first = take(k, d.in->count);
    parallel_for(k->threads, d.in->count, GRAIN, drop_range, &d);
    return OK;
  }
  if (d.mask) memset(d.mask->data, 1, tensor_bytes(d.mask));
  if (d.out && d.out->data != d.in->data) copy_bytes(k->threads, d.out->data, d.in->data, tensor_bytes(d.in));
  return OK;
}

static const bool normal = true, uniform = false;
#define LIKE_1 (TS_INTEGER | TS_FLOAT_6 | TS(BOOL) | TS(STRING) | TS_COMPLEX)
#define TS_FLOAT_6 (TS(FLOAT) | TS(DOUBLE) | TS(FLOAT16))
#define RANDOM(op, version, kind, types) \
  {.name = op, .since = version, .signature = "-> output:T2", .T2 = types, .flags = OP_NONDETERMINISTIC, .infer = random_infer, .prepare = source_prepare, \
   .run = random_run, .data = &kind}
#define RANDOM_LIKE(op, version, kind, inputs, types) \
  {.name = op, .since = version, .signature = "input:T1 -> output:T2", .T1 = inputs, .T2 = types, .flags = OP_NONDETERMINISTIC | OP_SHAPE_ONLY, \
   .infer = like_infer, .prepare = source_prepare, .run = random_run, .data = &kind}
#define BERNOULLI(version, inputs) \
  {.name = "Bernoulli", .since = version, .signature = "input:T1 -> output:T2", .T1 = inputs, .T2 = TS_NUMERIC | TS(BOOL), .flags = OP_NONDETERMINISTIC, \
   .infer = like_infer, .prepare = source_prepare, .run = bernoulli_run}
#define MULTINOMIAL(version, inputs) \
  {.name = "Multinomial", .since = version, .signature = "input:T1 -> output:T2", .T1 = inputs, .T2 = TS_INDEX, .flags = OP_NONDETERMINISTIC, \
   .infer = multinomial_infer, .prepare = source_prepare, .run = multinomial_run}

#define DROPOUT_VIEW .T = TS_FLOAT, .flags = OP_VIEW, .infer = dropout_infer, .run = dropout_view_run

OP_FAMILY(random) = {
  RANDOM("RandomNormal", 1, normal, TS_FLOAT_6), RANDOM("RandomNormal", 22, normal, TS_FLOAT),
  RANDOM("RandomUniform", 1, uniform, TS_FLOAT_6), RANDOM("RandomUniform", 22, uniform, TS_FLOAT),
  RANDOM_LIKE("RandomNormalLike", 1, normal, LIKE_1, TS_FLOAT_6), RANDOM_LIKE("RandomNormalLike", 22, normal, LIKE_1 | TS(BFLOAT16), TS_FLOAT),
  RANDOM_LIKE("RandomUniformLike", 1, uniform, LIKE_1, TS_FLOAT_6), RANDOM_LIKE("RandomUniformLike", 22, uniform, LIKE_1 | TS(BFLOAT16), TS_FLOAT),
  BERNOULLI(15, TS_FLOAT_6), BERNOULLI(22, TS_FLOAT), MULTINOMIAL(7, TS_FLOAT_6), MULTINOMIAL(22, TS_FLOAT),
  {.name = "Dropout", .since = 7, .signature = "data:T -> output:T mask:T?", DROPOUT_VIEW},
  {.name = "Dropout", .since = 10, .signature = "data:T -> output:T mask:bool?", DROPOUT_VIEW},
  {.name = "Dropout", .since = 12, .signature = "data:T ratio:T1? training_mode:bool? -> output:T mask:bool?", .T = TS_FLOAT | TS_FLOAT8,
   .T1 = TS_FLOAT | TS_FLOAT8, .flags = OP_NONDETERMINISTIC, .inplace = 1, .infer = dropout_infer, .prepare = source_prepare, .run = dropout_run},
  {0}};
