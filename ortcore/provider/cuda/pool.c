/* Pools on a GPU: MaxPool, AveragePool, LpPool, and their global forms. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/pool.h>
#include <ortcore/provider/cuda/images.h>
#include <string.h>

typedef struct pool_kind { cuda_pool_op op; } pool_kind;

static status pool_prepare(prepare_ctx *c, void **out_params) {
  const attr *power = attr_find(c->node, "p");
  cuda_pool *p = ZONE_NEW(c->memory, cuda_pool);
  if (!p) return status_out_of_memory();
  const pool_kind *kind = c->data;
  *p = (cuda_pool){.op = kind->op,
                   .type = c->in[0]->type,
                   .pads_count = attr_int_or(c->node, "count_include_pad", 0) != 0,
                   .column_major = attr_int_or(c->node, "storage_order", 0) != 0,
                   .p = !power                      ? 2
                        : power->kind == ATTR_FLOAT ? power->f
                                                    : (float)power->i};
  if (kind->op == CUDA_POOL_LP && !(p->p > 0)) return ERROR(INVALID_ARGUMENT, "attribute 'p' must be positive");
  *out_params = p;
  return OK;
}

static status pool_specialise(specialise_ctx *c, void **out_spec) {
  const tensor *x = c->in[0];
  window_attrs attrs;
  window w;
  int64_t dims[SPATIAL];
  cuda_pool *p = mem_alloc(sizeof *p);
  if (!p) return status_out_of_memory();
  memcpy(p, c->params, sizeof *p);
  p->planes = x->dims[0] * x->dims[1];
  status failure = window_attrs_pool(c->node, x->rank - 2, &attrs);
  if (!failure) failure = window_slide(&attrs, x->dims + 2, dims, &w);
  if (!failure) failure = images_window(&w, &p->window);
  if (failure) mem_free(p);
  else *out_spec = p;
  return failure;
}

static status pool_launch(kernel_ctx *k, stream *s) {
  tensor *y, *indices = NULL;
  TRY(kernel_output_inferred(k, 0, &y));
  if (k->out_count > 1 && kernel_wants(k, 1)) TRY(kernel_output_inferred(k, 1, &indices));
  if (!y || y->count == 0) return OK;
  return cuda_launched(cuda_pool_run(k->spec, k->in[0]->data, y->data, indices ? indices->data : NULL, cuda_raw(s)));
}

static status global_launch(kernel_ctx *k, stream *s) {
  const tensor *x = k->in[0];
  cuda_pool p;
  tensor *y;
  TRY(kernel_output_inferred(k, 0, &y));
  if (!y || y->count == 0) return OK;
  memcpy(&p, k->params, sizeof p);
  p.planes = x->dims[0] * x->dims[1];
  return cuda_launched(cuda_pool_global(&p, dims_product(x->dims, 2, x->rank), x->data, y->data, cuda_raw(s)));
}

static const pool_kind max_pool = {CUDA_POOL_MAX}, average_pool = {CUDA_POOL_AVERAGE}, lp_pool = {CUDA_POOL_LP};
static const pool_kind global_max = {CUDA_POOL_MAX}, global_average = {CUDA_POOL_AVERAGE}, global_lp = {CUDA_POOL_LP};

#define POOL_FUNCTIONS .supports = images_are_plain, .prepare = pool_prepare, .specialise = pool_specialise, .dispose_spec = mem_free, .launch = pool_launch
#define GLOBAL_FUNCTIONS .types = TS_FLOAT, .supports = images_are_plain, .prepare = pool_prepare, .launch = global_launch

KERNEL_FAMILY(pool) = {
  {.op = "MaxPool", .since = 1, .types = TS_FLOAT | TS(INT8) | TS(UINT8), POOL_FUNCTIONS, .data = &max_pool},
  {.op = "AveragePool", .since = 1, .types = TS_FLOAT, POOL_FUNCTIONS, .data = &average_pool},
  {.op = "LpPool", .since = 1, .types = TS_FLOAT, POOL_FUNCTIONS, .data = &lp_pool},
  {.op = "GlobalMaxPool", .since = 1, GLOBAL_FUNCTIONS, .data = &global_max},
  {.op = "GlobalAveragePool", .since = 1, GLOBAL_FUNCTIONS, .data = &global_average},
  {.op = "GlobalLpPool", .since = 1, GLOBAL_FUNCTIONS, .data = &global_lp},
  {0}};
