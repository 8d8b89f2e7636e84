/* Primitives: engine, operands, runs. */
#include "primitive.h"

#include <ortcore/base/checked.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/mem.h>
#include <ortcore/base/threads.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_once_t engine_once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;

static void make_engine(void) {
  if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) engine = NULL;
}

dnnl_engine_t dnn_engine(void) {
  pthread_once(&engine_once, make_engine);
  return engine;
}

bool dnn_supports(dtype type) { return (type == ORTC_FLOAT || (type == ORTC_BFLOAT16 && cpu_has_bf16())) && dnn_engine(); }

bool dnn_supports_bytes(void) { return cpu_has_vnni() && dnn_engine(); }

const char *dnn_version(void) {
  static char text[32];
  const dnnl_version_t *v = dnnl_version();
  snprintf(text, sizeof text, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
  return text;
}

status dnn_failure(dnnl_status_t code, const char *doing) {
  if (code == dnnl_out_of_memory) return status_out_of_memory();
  return ERROR(RUNTIME_EXCEPTION, "oneDNN failed to %s (status %d)", doing, (int)code);
}

dnnl_data_type_t dnn_type(dtype type) {
  switch (type) {
    case ORTC_FLOAT: return dnnl_f32;
    case ORTC_BFLOAT16: return dnnl_bf16;
    case ORTC_INT8: return dnnl_s8;
    case ORTC_UINT8: return dnnl_u8;
    case ORTC_INT32: return dnnl_s32;
    default: return dnnl_data_type_undef;
  }
}

dnn_tensor dnn_tensor_of(dtype type, int rank, const int64_t *dims, const int64_t *strides) {
  dnn_tensor t = {.type = type, .rank = rank};
  memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  memcpy(t.strides, strides, (size_t)rank * sizeof *strides);
  return t;
}

dnnl_memory_desc_t dnn_desc(const dnn_tensor *t) {
  dnnl_memory_desc_t desc;
  return dnnl_memory_desc_create_with_strides(&desc, t->rank, t->dims, dnn_type(t->type), t->strides) == dnnl_success ? desc : NULL;
}

/* ---- Attributes ---------------------------------------------------------------------------------------------------- */

/* oneDNN's maxima and minima turn NaN into a number. A loop of our own over the output, which is in the cache, costs next to nothing. */
static bool loses_nan(const activation *f) {
  return f->kind == ACTIVATION_RELU || f->kind == ACTIVATION_CLIP || f->kind == ACTIVATION_HARD_SIGMOID || (f->kind == ACTIVATION_LEAKY_RELU && f->a == 0);
}

static void append_activation(dnnl_post_ops_t ops, const activation *f) {
  static const dnnl_alg_kind_t algorithms[] = {
    [ACTIVATION_LEAKY_RELU] = dnnl_eltwise_relu, [ACTIVATION_SIGMOID] = dnnl_eltwise_logistic, [ACTIVATION_HARD_SWISH] = dnnl_eltwise_hardswish,
    [ACTIVATION_SILU] = dnnl_eltwise_swish, [ACTIVATION_TANH] = dnnl_eltwise_tanh, [ACTIVATION_GELU] = dnnl_eltwise_gelu_erf,
    [ACTIVATION_ELU] = dnnl_eltwise_elu};
  float a = f->a, b = f->b;
  if (f->kind == ACTIVATION_HARD_SWISH) a = 1.0f / 6, b = 0.5f;
  if (f->kind == ACTIVATION_SILU) a = 1;
  dnnl_post_ops_append_eltwise(ops, algorithms[f->kind], a, b);
}

dnnl_primitive_attr_t dnn_attributes(float alpha, const activation *act, const_dnnl_memory_desc_t residual, int *out_residual_index) {
  dnnl_primitive_attr_t attr;
  dnnl_post_ops_t ops;
  *out_residual_index = 0;
  if (dnnl_primitive_attr_create(&attr) != dnnl_success) return NULL;
  if (dnnl_post_ops_create(&ops) != dnnl_success) {
    dnnl_primitive_attr_destroy(attr);
    return NULL;
  }
  if (alpha != 1) dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_linear, alpha, 0);
  *out_residual_index = dnnl_post_ops_len(ops);
  if (residual) dnnl_post_ops_append_binary(ops, dnnl_binary_add, residual);
  if (act->kind != ACTIVATION_NONE && !loses_nan(act)) append_activation(ops, act);
  bool good = dnnl_primitive_attr_set_post_ops(attr, ops) == dnnl_success && dnnl_primitive_attr_set_scratchpad_mode(attr,
      dnnl_scratchpad_mode_user) == dnnl_success;
  dnnl_post_ops_destroy(ops);
  if (good) return attr;
  dnnl_primitive_attr_destroy(attr);
  return NULL;
}

/* ---- Making -------------------------------------------------------------------------------------------------------- */

static bool make_reorder(const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to, dnnl_primitive_t *out) {
  dnnl_primitive_desc_t pd;
  dnnl_primitive_attr_t attr;
  if (dnnl_primitive_attr_create(&attr) != dnnl_success) return false;
  dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_library);
  bool good = dnnl_reorder_primitive_desc_create(&pd, from, engine, to, engine, attr) == dnnl_success;
  dnnl_primitive_attr_destroy(attr);
  if (!good) return false;
  good = dnnl_primitive_create(out, pd) == dnnl_success;
  dnnl_primitive_desc_destroy(pd);
  return good;
}

static bool find_operands(dnn *p, dnnl_primitive_desc_t pd) {
  const int kinds[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_ATTR_MULTIPLE_POST_OP(p->residual_post_op) | DNNL_ARG_SRC_1,
                               DNNL_ARG_DST};
  const_dnnl_memory_desc_t scratchpad = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
  p->scratchpad_bytes = scratchpad ? dnnl_memory_desc_get_size(scratchpad) : 0;
  p->scratch_bytes = align_up(p->scratchpad_bytes, 64);
  for (int i = 0; i < OPERANDS; ++i) {
    operand *o = &p->operands[i];
    if (!o->given) continue;
    const_dnnl_memory_desc_t wanted = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, kinds[i]);
    if (!wanted || dnnl_memory_desc_clone(&o->wanted, wanted) != dnnl_success) return false;
    if (i == OPERAND_WEIGHTS || dnnl_memory_desc_equal(o->given, o->wanted)) continue;
    if (!make_reorder(i == OPERAND_Y ? o->wanted : o->given, i == OPERAND_Y ? o->given : o->wanted, &o->reorder)) return false;
    o->offset = p->scratch_bytes;
    p->scratch_bytes += align_up(dnnl_memory_desc_get_size(o->wanted), 64);
  }
  return true;
}

static int64_t count_elements(const_dnnl_memory_desc_t desc) {
  int rank = 0;
  const dnnl_dims_t *dims;
  int64_t count = 1;
  dnnl_memory_desc_query(desc, dnnl_query_ndims_s32, &rank);
  dnnl_memory_desc_query(desc, dnnl_query_dims, &dims);
  for (int i = 0; i < rank; ++i) count *= (*dims)[i];
  return count;
}

status dnn_create(dnnl_primitive_desc_t pd, dnnl_memory_desc_t given[OPERANDS], int residual_post_op, const activation *act, dtype y_type, int threads,
                  dnn **out) {
  *out = NULL;
  dnn *p = MEM_NEW(dnn);
  for (int i = 0; p && i < OPERANDS; ++i) p->operands[i].given = given[i];
  if (!p) {
    for (int i = 0; i < OPERANDS; ++i) dnnl_memory_desc_destroy(given[i]);
    dnnl_primitive_desc_destroy(pd);
    return status_out_of_memory();
  }
  p->threads = threads;
  p->residual_post_op = residual_post_op;
  if (loses_nan(act)) p->behind = *act;
  p->y_type = y_type;
  p->y_count = count_elements(given[OPERAND_Y]);
  bool good = find_operands(p, pd) && dnnl_primitive_create(&p->primitive, pd) == dnnl_success;
  dnnl_primitive_desc_destroy(pd);
  if (good) *out = p;
  else dnn_release(p);
  return OK;
}

size_t dnn_scratch_bytes(const dnn *p) { return p->scratch_bytes; }

size_t dnn_reordered_bytes(const dnn *p) {
  size_t bytes = 0;
  for (int i = 0; i < OPERANDS; ++i)
    if (p->operands[i].reorder) bytes += dnnl_memory_desc_get_size(i == OPERAND_Y ? p->operands[i].given : p->operands[i].wanted);
  return bytes;
}

/* ---- Running ------------------------------------------------------------------------------------------------------- */

struct arguments {
  dnnl_stream_t stream;
  dnnl_memory_t memory[OPERANDS], caller[OPERANDS], scratchpad;   /* `caller`: the other end of a re-ordered operand */
  dnnl_memory_t scales, zero_point;
  dnnl_exec_arg_t list[OPERANDS + 3];
  int count;
};

static void arguments_free(arguments *a) {
  if (!a) return;
  for (int i = 0; i < OPERANDS; ++i) {
    if (a->memory[i]) dnnl_memory_destroy(a->memory[i]);
    if (a->caller[i]) dnnl_memory_destroy(a->caller[i]);
  }
  if (a->scratchpad) dnnl_memory_destroy(a->scratchpad);
  if (a->scales) dnnl_memory_destroy(a->scales);
  if (a->zero_point) dnnl_memory_destroy(a->zero_point);
  if (a->stream) dnnl_stream_destroy(a->stream);
  mem_free(a);
}

/* Numbers that the primitive reads at each run and that never change. */
static status add_numbers(arguments *a, int kind, dnnl_data_type_t type, int64_t count, const void *data, dnnl_memory_t *out) {
  dnnl_memory_desc_t desc;
  TRY_DNN(dnnl_memory_desc_create_with_tag(&desc, 1, (dnnl_dims_t){count}, type, dnnl_a), "describe its numbers");
  dnnl_status_t code = dnnl_memory_create(out, desc, engine, (void *)data);
  dnnl_memory_desc_destroy(desc);
  if (code != dnnl_success) return dnn_failure(code, "describe its numbers");
  a->list[a->count++] = (dnnl_exec_arg_t){kind, *out};
  return OK;
}

static status arguments_fill(const dnn *p, arguments *a) {
  const int kinds[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_ATTR_MULTIPLE_POST_OP(p->residual_post_op) | DNNL_ARG_SRC_1,
                               DNNL_ARG_DST};
  TRY_DNN(dnnl_stream_create(&a->stream, engine, dnnl_stream_default_flags), "create a stream");
  for (int i = 0; i < OPERANDS; ++i) {
    const operand *o = &p->operands[i];
    if (!o->wanted) continue;
    TRY_DNN(dnnl_memory_create(&a->memory[i], o->wanted, engine, NULL), "describe an operand");
    if (o->reorder) TRY_DNN(dnnl_memory_create(&a->caller[i], o->given, engine, NULL), "describe an operand");
    a->list[a->count++] = (dnnl_exec_arg_t){kinds[i], a->memory[i]};
  }
  if (p->scales) TRY(add_numbers(a, DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, dnnl_f32, p->scale_count, p->scales, &a->scales));
  if (p->x_zero_point) TRY(add_numbers(a, DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, dnnl_s32, 1, &p->x_zero_point, &a->zero_point));
  if (p->scratchpad_bytes == 0) return OK;
  const_dnnl_primitive_desc_t pd;
  TRY_DNN(dnnl_primitive_get_primitive_desc(p->primitive, &pd), "describe its scratch");
  TRY_DNN(dnnl_memory_create(&a->scratchpad, dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0), engine, NULL), "describe its scratch");
  a->list[a->count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, a->scratchpad};
  return OK;
}

static status arguments_take(dnn *p, arguments **out) {
  *out = atomic_exchange(&p->spare, NULL);
  if (*out) return OK;
  arguments *a = MEM_NEW(arguments);
  if (!a) return status_out_of_memory();
  status failure = arguments_fill(p, a);
  if (failure) arguments_free(a);
  else *out = a;
  return failure;
}

static status reorder_run(const operand *o, arguments *a, dnnl_memory_t from, dnnl_memory_t to) {
  const dnnl_exec_arg_t list[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  TRY_DNN(dnnl_primitive_execute(o->reorder, a->stream, 2, list), "re-order an operand");
  return OK;
}

static status execute(const dnn *p, arguments *a, char *scratch, void *const data[OPERANDS]) {
  if (a->scratchpad) dnnl_memory_set_data_handle(a->scratchpad, scratch);
  for (int i = 0; i < OPERANDS; ++i) {
    const operand *o = &p->operands[i];
    if (!o->wanted) continue;
    dnnl_memory_set_data_handle(a->memory[i], o->reorder ? scratch + o->offset : data[i]);
    if (!o->reorder) continue;
    dnnl_memory_set_data_handle(a->caller[i], data[i]);
    if (i != OPERAND_Y) TRY(reorder_run(o, a, a->caller[i], a->memory[i]));
  }
  TRY_DNN(dnnl_primitive_execute(p->primitive, a->stream, a->count, a->list), "run a primitive");
  const operand *y = &p->operands[OPERAND_Y];
  return y->reorder ? reorder_run(y, a, a->memory[OPERAND_Y], a->caller[OPERAND_Y]) : OK;
}

status dnn_run(dnn *p, int threads, void *scratch, const void *x, const void *weights, const void *bias, const void *residual, void *y) {
  void *const data[OPERANDS] = {(void *)x, (void *)weights, (void *)bias, (void *)residual, y};
  arguments *a;
  TRY(arguments_take(p, &a));
  threads_set_team(p->threads);
  threads_keep_apart(p->threads);
  status failure = execute(p, a, scratch, data);
  arguments_free(atomic_exchange(&p->spare, a));
  if (!failure && p->behind.kind != ACTIVATION_NONE) activation_apply_all(&p->behind, p->y_type, y, p->y_count, threads);
  return failure;
}

void dnn_release(dnn *p) {
  if (!p) return;
  arguments_free(atomic_load(&p->spare));
  for (int i = 0; i < OPERANDS; ++i) {
    operand *o = &p->operands[i];
    if (o->given) dnnl_memory_desc_destroy(o->given);
    if (o->wanted) dnnl_memory_desc_destroy(o->wanted);
    if (o->reorder) dnnl_primitive_destroy(o->reorder);
  }
  if (p->primitive) dnnl_primitive_destroy(p->primitive);
  mem_free(p->scales);
  mem_free(p);
}
