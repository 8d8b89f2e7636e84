/* Weights in the layout that primitives ask for. */
#include "primitive.h"

#include <ortcore/base/checked.h>
#include <ortcore/base/mapping.h>
#include <ortcore/base/mem.h>
#include <ortcore/base/threads.h>
#include <pthread.h>

typedef struct packed packed;
struct packed { packed *next; dnnl_memory_desc_t desc; void *data; };

struct dnn_weights {
  pthread_mutex_t lock;
  packed *list;
};

status dnn_weights_create(dnn_weights **out) {
  *out = MEM_NEW(dnn_weights);
  if (!*out) return status_out_of_memory();
  pthread_mutex_init(&(*out)->lock, NULL);
  return OK;
}

void dnn_weights_release(dnn_weights *w) {
  if (!w) return;
  for (packed *p = w->list, *next; p; p = next) {
    next = p->next;
    dnnl_memory_desc_destroy(p->desc);
    mem_free(p->data);
    mem_free(p);
  }
  pthread_mutex_destroy(&w->lock);
  mem_free(w);
}

size_t dnn_weights_bytes(const dnn *p) { return align_up(dnnl_memory_desc_get_size(p->operands[OPERAND_WEIGHTS].wanted), 64); }

static dnnl_status_t reorder(const_dnnl_memory_desc_t from_desc, void *from, const_dnnl_memory_desc_t to_desc, void *to) {
  dnnl_primitive_desc_t pd;
  dnnl_primitive_t primitive = NULL;
  dnnl_memory_t memory[2] = {NULL, NULL};
  dnnl_stream_t stream = NULL;
  dnnl_engine_t engine = dnn_engine();
  dnnl_status_t code = dnnl_reorder_primitive_desc_create(&pd, from_desc, engine, to_desc, engine, NULL);
  if (code != dnnl_success) return code;
  code = dnnl_primitive_create(&primitive, pd);
  dnnl_primitive_desc_destroy(pd);
  if (code == dnnl_success) code = dnnl_memory_create(&memory[0], from_desc, engine, from);
  if (code == dnnl_success) code = dnnl_memory_create(&memory[1], to_desc, engine, to);
  if (code == dnnl_success) code = dnnl_stream_create(&stream, engine, dnnl_stream_default_flags);
  if (code == dnnl_success)
    code = dnnl_primitive_execute(primitive, stream, 2, (dnnl_exec_arg_t[]){{DNNL_ARG_FROM, memory[0]}, {DNNL_ARG_TO, memory[1]}});
  if (code == dnnl_success) code = dnnl_stream_wait(stream);
  if (stream) dnnl_stream_destroy(stream);
  for (int i = 0; i < 2; ++i)
    if (memory[i]) dnnl_memory_destroy(memory[i]);
  if (primitive) dnnl_primitive_destroy(primitive);
  return code;
}

status dnn_pack(dnn *p, int threads, const void *weights, void *out) {
  const operand *o = &p->operands[OPERAND_WEIGHTS];
  threads_set_team(threads);
  TRY_DNN(reorder(o->given, (void *)weights, o->wanted, out), "pack weights");
  return OK;
}

static status pack_new(dnn_weights *w, dnn *p, const void *data, const void **out) {
  packed *entry = MEM_NEW(packed);
  void *memory = mem_aligned(64, dnn_weights_bytes(p));
  status failure = entry && memory ? dnn_pack(p, p->threads, data, memory) : status_out_of_memory();
  if (!failure && dnnl_memory_desc_clone(&entry->desc, p->operands[OPERAND_WEIGHTS].wanted) != dnnl_success) failure = status_out_of_memory();
  if (failure) {
    mem_free(entry);
    mem_free(memory);
    return failure;
  }
  mapping_let_go(data, dnnl_memory_desc_get_size(p->operands[OPERAND_WEIGHTS].given));
  entry->data = memory;
  entry->next = w->list;
  w->list = entry;
  *out = memory;
  return OK;
}

status dnn_weights_keep(dnn_weights *w, dnn *p, const void *data, const void **out) {
  const operand *o = &p->operands[OPERAND_WEIGHTS];
  status failure = OK;
  *out = NULL;
  pthread_mutex_lock(&w->lock);
  for (packed *entry = w->list; entry && !*out; entry = entry->next)
    if (dnnl_memory_desc_equal(entry->desc, o->wanted)) *out = entry->data;
  if (!*out) failure = pack_new(w, p, data, out);
  pthread_mutex_unlock(&w->lock);
  return failure;
}

status dnn_weights_get(dnn_weights *w, dnn *p, const void *data, const void **out) {
  const operand *o = &p->operands[OPERAND_WEIGHTS];
  *out = data;
  return dnnl_memory_desc_equal(o->given, o->wanted) ? OK : dnn_weights_keep(w, p, data, out);
}
