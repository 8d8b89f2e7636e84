/* BatchNormalization as inference uses it, LRN, MeanVarianceNormalization. */
#include <ortcore/kernels/cuda/normalize.h>
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/norm.h>
#include <ortcore/provider/cuda/plugin.h>

static status batchnorm_launch(kernel_ctx *k, stream *on) {
  static const char *const names[] = {"X", "scale", "B", "mean", "var"};
  const batchnorm_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *y;
  if (x->rank < 1) return ERROR(INVALID_ARGUMENT, "the input must have a batch dim, but is a scalar");
  int64_t channels = x->rank > 1 ? x->dims[1] : 1;
  for (int i = 1; i < 5; ++i)
    if (k->in[i]->count != channels)
      return ERROR(INVALID_ARGUMENT, "'%s' has %lld elements, but the input has %lld channels", names[i], (long long)k->in[i]->count,
                   (long long)channels);
  TRY(kernel_output_like(k, 0, x, &y));
  if (!y) return OK;
  cuda_batchnorm b = {.type = x->type, .scale_type = k->in[1]->type, .mean_type = k->in[3]->type, .x = x->data, .scale = k->in[1]->data,
                      .bias = k->in[2]->data, .mean = k->in[3]->data, .variance = k->in[4]->data, .y = y->data, .count = x->count,
                      .channels = channels, .inner = x->rank > 2 ? dims_product(x->dims, 2, x->rank) : 1, .epsilon = p->epsilon};
  return cuda_launched(cuda_batchnorm_run(&b, cuda_raw(on)));
}

static status lrn_launch(kernel_ctx *k, stream *on) {
  const lrn_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *y;
  if (x->rank < 2) return ERROR(INVALID_ARGUMENT, "the input has rank %d, expected at least the dims N and C", x->rank);
  TRY(kernel_output_like(k, 0, x, &y));
  if (!y) return OK;
  cuda_lrn l = {.type = x->type, .x = x->data, .y = y->data, .count = x->count, .channels = x->dims[1],
                .inner = dims_product(x->dims, 2, x->rank), .size = p->size, .alpha = p->alpha, .beta = p->beta, .bias = p->bias};
  return cuda_launched(cuda_lrn_run(&l, cuda_raw(on)));
}

/* Neighbouring axes of one sort become one; axes of one element are of no sort. */
static void walk_of(const tensor *x, const bool *averaged, cuda_mean_variance *m) {
  int last = -1;                                           /* the sort of the walk that was added to last */
  int64_t step = 1;
  m->groups = m->each = 1;
  for (int d = x->rank - 1; d >= 0; step *= x->dims[d--]) {
    cuda_walk *walk = averaged[d] ? &m->averaged : &m->kept;
    *(averaged[d] ? &m->each : &m->groups) *= x->dims[d];
    if (x->dims[d] == 1) continue;
    if (last == averaged[d]) {
      walk->dims[walk->rank - 1] *= x->dims[d];
      continue;
    }
    walk->dims[walk->rank] = x->dims[d];
    walk->steps[walk->rank++] = step;
    last = averaged[d];
  }
}

/* The kernel walks from the last axis on. */
static void reverse(cuda_walk *walk) {
  for (int i = 0, j = walk->rank - 1; i < j; ++i, --j) {
    int64_t dim = walk->dims[i], step = walk->steps[i];
    walk->dims[i] = walk->dims[j], walk->steps[i] = walk->steps[j];
    walk->dims[j] = dim, walk->steps[j] = step;
  }
}

static status mean_variance_launch(kernel_ctx *k, stream *on) {
  const tensor *x = k->in[0];
  integers axes = {0};
  bool present, averaged[MAX_RANK] = {false};
  tensor *y;
  TRY(integers_from_attr(k->node, "axes", &axes, &present));
  if (!present) axes = (integers){3, {0, 2, 3}};
  TRY(axes_normalise(&axes, x->rank, "axes"));
  if (x->rank == 0) return ERROR(INVALID_ARGUMENT, "the input is a scalar, which has no axes to average over");
  for (int i = 0; i < axes.count; ++i) averaged[axes.at[i]] = true;
  TRY(kernel_output_like(k, 0, x, &y));
  if (!y) return OK;
  cuda_mean_variance m = {.type = x->type, .x = x->data, .y = y->data};
  walk_of(x, averaged, &m);
  reverse(&m.kept);
  reverse(&m.averaged);
  return cuda_launched(cuda_mean_variance_run(&m, cuda_raw(on)));
}

KERNEL_FAMILY(normalize) = {
  {.op = "BatchNormalization", .since = 1, .types = TS_FLOAT, .inplace = 1, .launch = batchnorm_launch},
  {.op = "LRN", .since = 1, .types = TS_FLOAT, .launch = lrn_launch},
  {.op = "MeanVarianceNormalization", .since = 9, .types = TS_FLOAT, .launch = mean_variance_launch},
  {0}};
