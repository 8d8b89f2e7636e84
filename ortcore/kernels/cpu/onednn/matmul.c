/* Matrix products. */
#include "primitive.h"

#include <ortcore/base/threads.h>

static void drop(dnnl_memory_desc_t *descs, int count) {
  for (int i = 0; i < count; ++i)
    if (descs[i]) dnnl_memory_desc_destroy(descs[i]);
}

/* A single matrix is described without its batch: oneDNN then takes its two-dimensional paths. */
static dnnl_memory_desc_t matrix(dnn_tensor t, bool single) {
  if (single)
    for (int i = 0; i < 2; ++i) t.dims[i] = t.dims[i + 1], t.strides[i] = t.strides[i + 1];
  t.rank = single ? 2 : 3;
  for (int i = 0; i < t.rank; ++i)
    if (t.strides[i] == 0 && i == 0) t.dims[0] = 1, t.strides[0] = t.dims[1] * t.dims[2];
  return dnn_desc(&t);
}

status dnn_matmul_create(const dnn_matmul *m, int threads, dnn **out) {
  bool single = m->out.dims[0] == 1;
  int rank = single ? 2 : 3, residual_index;
  dnnl_dims_t bias_dims = {1, 1, 1};
  bias_dims[rank - 1] = m->out.dims[2];
  dnnl_data_type_t type = dnn_type(m->out.type);
  *out = NULL;
  dnnl_memory_desc_t given[OPERANDS] = {[OPERAND_X] = matrix(m->a, single), [OPERAND_WEIGHTS] = matrix(m->b, single),
                                        [OPERAND_Y] = matrix(m->out, single)};
  if (m->bias) dnnl_memory_desc_create_with_tag(&given[OPERAND_BIAS], rank, bias_dims, type, single ? dnnl_ab : dnnl_abc);
  if (m->residual) given[OPERAND_RESIDUAL] = matrix(m->out, single);
  dnnl_memory_desc_t any = NULL;
  if (m->pack) {
    dnnl_dims_t dims = {m->b.dims[0], m->b.dims[1], m->b.dims[2]};
    dnnl_memory_desc_create_with_tag(&any, rank, single ? dims + 1 : dims, type, dnnl_format_tag_any);
  }
  threads_set_team(threads);
  dnnl_primitive_attr_t attr = dnn_attributes(m->alpha, &m->act, given[OPERAND_RESIDUAL], &residual_index);
  dnnl_primitive_desc_t pd = NULL;
  bool complete = attr && given[OPERAND_X] && given[OPERAND_WEIGHTS] && given[OPERAND_Y] && (!m->pack || any);
  if (complete && dnnl_matmul_primitive_desc_create(&pd, dnn_engine(), given[OPERAND_X], any ? any : given[OPERAND_WEIGHTS], given[OPERAND_BIAS],
                                                    given[OPERAND_Y], attr) != dnnl_success) pd = NULL;
  if (any) dnnl_memory_desc_destroy(any);
  if (attr) dnnl_primitive_attr_destroy(attr);
  if (pd) return dnn_create(pd, given, residual_index, &m->act, m->out.type, threads, out);
  drop(given, OPERANDS);
  return OK;
}
