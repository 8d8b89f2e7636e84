/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#include <math.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/movement.h>

typedef enum loss_reduction { LOSS_NONE, LOSS_SUM, LOSS_MEAN } loss_reduction;

static status read_reduction(const node *n, loss_reduction *out) {
  static const char *const names[] = {"none", "sum", "mean"};
  text name = attr_string_or(n, "reduction", "mean");
  for (int i = 0; i < 3; ++i)
    if (!strcmp(name.data, names[i])) {
      *out = (loss_reduction)i;
      return OK;
    }
  return ERROR(INVALID_ARGUMENT, "attribute 'reduction' is '%s', expected none, sum or mean", name.data);
}

static status loss_infer(infer_ctx *c) {
  loss_reduction reduction;
  TRY(read_reduction(c->node, &reduction));
  if (c->out[0] && reduction == LOSS_NONE) fact_copy_shape(c->out[0], c->in[1]);
  else if (c->out[0]) fact_set_shape(c->out[0], 0, NULL);
  if (c->out_count > 1 && c->out[1]) fact_copy_shape(c->out[1], c->in[0]);
  return OK;
}

static double get(const tensor *t, int64_t i) { return t->type == ORTC_DOUBLE ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i]; }
static void set(tensor *t, int64_t i, double v) {
  if (t->type == ORTC_DOUBLE) ((double *)t->data)[i] = v;
  else ((float *)t->data)[i] = (float)v;
}

/* Input [N, C, ...] against targets [N, ...]. */
static status check_shapes(const tensor *x, const tensor *target, const tensor *weight) {
  bool fits = x->rank >= 2 && target->rank == x->rank - 1 && target->dims[0] == x->dims[0];
  for (int d = 2; fits && d < x->rank; ++d) fits = target->dims[d - 1] == x->dims[d];
  if (!fits) {
    char a[DIMS_TEXT], b[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "the scores have shape %s and the labels %s, expected [N, C, ...] and [N, ...]", dims_format(a, sizeof a, x->rank, x->dims),
                 dims_format(b, sizeof b, target->rank, target->dims));
  }
  if (weight && weight->count != x->dims[1])
    return ERROR(INVALID_ARGUMENT, "there are %lld weights for %lld classes", (long long)weight->count, (long long)x->dims[1]);
  return OK;
}

/* log(softmax(x)) along C. */
static void log_softmax(const tensor *x, tensor *y) {
  int64_t classes = x->dims[1], inner = dims_product(x->dims, 2, x->rank);
  for (int64_t line = 0; line < x->count / (classes ? classes : 1); ++line) {
    int64_t first = line / inner * classes * inner + line % inner;
    double most = -INFINITY, sum = 0;
    /* Not fmax: gcc 12 for aarch64 fails to compile this loop with it. A NaN is in the sum anyway. */
    for (int64_t c = 0; c < classes; ++c)
      if (get(x, first + c * inner) > most) most = get(x, first + c * inner);
    for (int64_t c = 0; c < classes; ++c) sum += exp(get(x, first + c * inner) - most);
    for (int64_t c = 0; c < classes; ++c) set(y, first + c * inner, get(x, first + c * inner) - most - log(sum));
  }
}

typedef struct loss_sum { double loss, weight; } loss_sum;

/* The loss of every label: into `each` if that is wanted, and summed up. */
static status gather_loss(kernel_ctx *k, const tensor *log_p, const tensor *target, const tensor *weight, tensor *each, loss_sum *sum) {
  int64_t classes = log_p->dims[1], inner = dims_product(log_p->dims, 2, log_p->rank), ignored = attr_int_or(k->node, "ignore_index", 0);
  bool ignores = attr_find(k->node, "ignore_index") != NULL;
  for (int64_t i = 0; i < target->count; ++i) {
    int64_t label = integer_at(target, i);
    double w = 0, loss = 0;
    if (!ignores || label != ignored) {
      if (label < 0 || label >= classes)
        return ERROR(INVALID_ARGUMENT, "label %lld at %lld is none of the %lld classes, and not 'ignore_index'", (long long)label, (long long)i, (long long)classes);
      w = weight ? get(weight, label) : 1;
      loss = -w * get(log_p, i / inner * classes * inner + label * inner + i % inner);
    }
    if (each) set(each, i, loss);
    sum->loss += loss;
    sum->weight += w;
  }
  return OK;
}

static status loss_run(kernel_ctx *k) {
  bool softmax = k->node->op->data != NULL;
  loss_reduction reduction;
  tensor copies[2], wide[2], *out, *out_log = NULL, *work, *log_work = NULL, spare;
  const tensor *x, *weight, *target = k->in[1], *log_p;
  loss_sum sum = {0, 0};
  TRY(read_reduction(k->node, &reduction));
  TRY(float_input(k, 0, &copies[0], &x));
  TRY(float_input(k, 2, &copies[1], &weight));
  TRY(check_shapes(x, target, weight));
  if (reduction == LOSS_NONE) TRY(kernel_output_like(k, 0, target, &out));
  else TRY(kernel_output(k, 0, 0, NULL, &out));
  TRY(float_output(k, out, &wide[0], &work));
  log_p = x;
  if (softmax) {
    if (kernel_wants(k, 1)) TRY(kernel_output_like(k, 1, k->in[0], &out_log));
    TRY(float_output(k, out_log, &wide[1], &log_work));
    if (!log_work) {
      spare = *x;
      TRY(kernel_scratch(k, tensor_bytes(x), &spare.data));
      log_work = &spare;
    }
    log_softmax(x, log_work);
    log_p = log_work;
  }
  TRY(gather_loss(k, log_p, target, weight, reduction == LOSS_NONE ? work : NULL, &sum));
  if (work && reduction != LOSS_NONE) set(work, 0, reduction == LOSS_SUM ? sum.loss : sum.loss / sum.weight);
  float_finish(out, work);
  if (out_log) float_finish(out_log, log_work);
  return OK;
}

OP_FAMILY(loss) = {
  {.name = "NegativeLogLikelihoodLoss", .since = 12, .signature = "input:T target:T1 weight:T? -> loss:T", .T = TS_FLOAT, .T1 = TS_INDEX, .infer = loss_infer, .run = loss_run},
  {.name = "SoftmaxCrossEntropyLoss", .since = 12, .signature = "scores:T labels:T1 weights:T? -> output:T log_prob:T?", .T = TS_FLOAT, .T1 = TS_INDEX, .infer = loss_infer,
   .run = loss_run, .data = ""},
  {0}};
