/* Names, types and shapes of a session's inputs and outputs, and the checks of what callers bring for them. */
#include <ortcore/device/memory_info.h>
#include <ortcore/session/session.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What the model says ---------------------------------------------------------------------------------------------- */

static const char *type_text(zone *memory, const fact *f) {
  const char *element = dtype_name(f->type), *text = "unknown";
  if (!element) element = "undefined";
  switch (f->kind) {
    case KIND_TENSOR: text = zone_printf(memory, "tensor(%s)", element); break;
    case KIND_SPARSE: text = zone_printf(memory, "sparse_tensor(%s)", element); break;
    case KIND_MAP: text = zone_printf(memory, "map(%s,tensor(%s))", dtype_name(f->key), element); break;
    case KIND_SEQUENCE:
      text = f->key ? zone_printf(memory, "seq(map(%s,tensor(%s)))", dtype_name(f->key), element) : zone_printf(memory, "seq(tensor(%s))", element);
      break;
    default: break;
  }
  return text && f->optional ? zone_printf(memory, "optional(%s)", text) : text;
}

static status fill(ortc_session *s, session_io *io, const value *v, const char *name, int32_t index) {
  zone *memory = s->model->memory;
  const fact *f = &v->fact;
  io->declared = *f;
  io->assumed = v->assumed;
  io->index = index;
  io->info = (ortc_io_info){.name = name, .type = type_text(memory, f), .element_type = f->kind == KIND_MAP || f->key ? ORTC_UNDEFINED : f->type,
                            .is_tensor = f->kind == KIND_TENSOR && !f->optional, .is_optional = f->optional,
                            .has_rank = f->kind == KIND_TENSOR && f->rank >= 0, .memory = v->on_device ? s->lanes.memory->info : s->allocator->info};
  if (!io->info.type) return status_out_of_memory();
  if (!io->info.has_rank) return OK;
  io->info.rank = (size_t)f->rank;
  int64_t *dims = ZONE_ARRAY(memory, f->rank + 1, int64_t);
  const char **symbols = ZONE_ARRAY(memory, f->rank + 1, const char *);
  if (!dims || !symbols) return status_out_of_memory();
  for (int d = 0; d < f->rank; ++d) {
    dims[d] = dim_known(f->dims[d]) ? f->dims[d] : -1;
    symbols[d] = model_symbol_name(s->model, f->dims[d]);
  }
  io->info.dims = dims;
  io->info.symbols = symbols;
  return OK;
}

static status list_alloc(ortc_session *s, io_list *list, int32_t capacity) {
  strmap_init(&list->by_name);
  list->items = ZONE_ARRAY(s->model->memory, capacity + 1, session_io);
  return list->items ? OK : status_out_of_memory();
}

static status list_add(ortc_session *s, io_list *list, const value *v, const char *name, int32_t index) {
  TRY(fill(s, &list->items[list->count], v, name, index));
  if (!strmap_put(&list->by_name, name, (int64_t)list->count)) return status_out_of_memory();
  ++list->count;
  return OK;
}

/* Exporters use one placeholder ("?", "") for dims that have nothing to do with each other: only what looks like a name is one. */
static bool is_name(const char *symbol) {
  return symbol && (isalpha((unsigned char)*symbol) || *symbol == '_');
}

static int compare_symbols(const void *a, const void *b) {
  const symbol_dim *x = a, *y = b;
  if (x->symbol != y->symbol) return x->symbol < y->symbol ? -1 : 1;
  return x->input != y->input ? (x->input > y->input) - (x->input < y->input) : (x->at > y->at) - (x->at < y->at);
}

static status find_symbols(ortc_session *s) {
  int32_t count = 0, kept = 0;
  for (int32_t i = 0; i < s->feed_count; ++i) count += s->feed_io[i]->declared.rank > 0 ? s->feed_io[i]->declared.rank : 0;
  symbol_dim *all = s->symbols = ZONE_ARRAY(s->model->memory, count + 1, symbol_dim);
  if (!all) return status_out_of_memory();
  count = 0;
  for (int32_t i = 0; i < s->feed_count; ++i) {
    const fact *declared = &s->feed_io[i]->declared;
    for (int d = 0; d < declared->rank; ++d)
      if (declared->dims[d] <= -2 && is_name(model_symbol_name(s->model, declared->dims[d]))) all[count++] = (symbol_dim){declared->dims[d], i, d};
  }
  qsort(all, (size_t)count, sizeof *all, compare_symbols);
  for (int32_t k = 0; k < count; ++k) {
    bool before = k && all[k - 1].symbol == all[k].symbol, after = k + 1 < count && all[k + 1].symbol == all[k].symbol;
    if (before || after) all[kept++] = all[k];
  }
  s->symbol_count = kept;
  return OK;
}

status session_io_init(ortc_session *s) {
  const graph *g = s->model->main;
  s->feed_count = g->input_count;
  s->target_count = g->output_count;
  s->feed_io = ZONE_ARRAY(s->model->memory, g->input_count + 1, const session_io *);
  if (!s->feed_io) return status_out_of_memory();
  TRY(list_alloc(s, &s->io[ORTC_IO_INPUT], g->input_count));
  TRY(list_alloc(s, &s->io[ORTC_IO_OVERRIDABLE], g->input_count));
  TRY(list_alloc(s, &s->io[ORTC_IO_OUTPUT], g->output_count));
  for (int32_t i = 0; i < g->input_count; ++i) {
    const value *v = &g->values[g->inputs[i]];
    io_list *list = &s->io[v->is_initializer ? ORTC_IO_OVERRIDABLE : ORTC_IO_INPUT];
    TRY(list_add(s, list, v, v->name, i));
    s->feed_io[i] = &list->items[list->count - 1];
    list->items[list->count - 1].default_value = v->is_initializer ? v->default_value : NULL;
  }
  for (int32_t o = 0; o < g->output_count; ++o) TRY(list_add(s, &s->io[ORTC_IO_OUTPUT], &g->values[g->outputs[o]], s->output_names[o], o));
  return find_symbols(s);
}

void session_io_deinit(ortc_session *s) {
  for (int i = 0; i < 3; ++i) strmap_deinit(&s->io[i].by_name);
}

/* ---- Names -------------------------------------------------------------------------------------------------------------- */

static const session_io *find(const io_list *list, const char *name) {
  int64_t at;
  return strmap_get(&list->by_name, name, &at) ? &list->items[at] : NULL;
}

/* "a, b, c" of a list, cut when it gets long. */
static void list_names(const io_list *list, char *buffer, size_t capacity) {
  size_t used = 0;
  buffer[0] = 0;
  for (size_t i = 0; i < list->count && used + 8 < capacity; ++i) {
    int n = snprintf(buffer + used, capacity - used, "%s'%s'", i ? ", " : "", list->items[i].info.name);
    used += n > 0 ? (size_t)n : 0;
  }
  if (used >= capacity) memcpy(buffer + capacity - 4, "...", 4);
}

status session_find_input(const ortc_session *s, const char *name, const session_io **out) {
  *out = find(&s->io[ORTC_IO_INPUT], name);
  if (!*out) *out = find(&s->io[ORTC_IO_OVERRIDABLE], name);
  if (*out) return OK;
  char names[512];
  list_names(&s->io[ORTC_IO_INPUT], names, sizeof names);
  return ERROR(INVALID_ARGUMENT, "Invalid input name: '%s' is no input of this model; its inputs are %s", name, names);
}

status session_find_output(const ortc_session *s, const char *name, const session_io **out) {
  *out = find(&s->io[ORTC_IO_OUTPUT], name);
  if (*out) return OK;
  char names[512];
  list_names(&s->io[ORTC_IO_OUTPUT], names, sizeof names);
  return ERROR(INVALID_ARGUMENT, "Invalid output name: '%s' is no output of this model; its outputs are %s", name, names);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------------- */

static status check_tensor(const session_io *io, const tensor *t) {
  const fact *want = &io->declared;
  if (t->type != want->type)
    return ERROR(INVALID_ARGUMENT, "Unexpected input data type for '%s'. Actual: (tensor(%s)) , expected: (%s); convert it first, nothing is cast implicitly",
                 io->info.name, dtype_name(t->type), io->info.type);
  /* Exporters write an empty shape where they mean "any"; onnxruntime takes it so, and models rely on that. */
  if (want->rank <= 0) return OK;
  if (t->rank != want->rank)
    return ERROR(INVALID_ARGUMENT, "Invalid rank for input: %s Got: %d Expected: %d. Please fix either the inputs/outputs or the model.", io->info.name, t->rank, want->rank);
  for (int d = 0; d < t->rank; ++d) {
    if (!dim_known(want->dims[d]) || want->dims[d] == t->dims[d]) continue;
    char text[1024];
    size_t used = 0;
    for (; d < t->rank && used + 64 < sizeof text; ++d)
      if (dim_known(want->dims[d]) && want->dims[d] != t->dims[d])
        used += (size_t)snprintf(text + used, sizeof text - used, "\n index: %d Got: %lld Expected: %lld", d, (long long)t->dims[d], (long long)want->dims[d]);
    return ERROR(INVALID_ARGUMENT, "Got invalid dimensions for input: %s for the following indices%s\n Please fix either the inputs/outputs or the model.", io->info.name, text);
  }
  return OK;
}

/* Models declare wrong dims of outputs now and then: only what inference proves is held against a buffer. A rank of 0 may mean "any" there, too. */
status session_check_output(const session_io *io, const tensor *t) {
  const fact *want = &io->declared;
  if (want->rank <= 0 || io->assumed == UINT32_MAX) return OK;
  bool fits = t->rank == want->rank;
  for (int d = 0; fits && d < want->rank; ++d) fits = !dim_known(want->dims[d]) || io->assumed >> d & 1 || t->dims[d] == want->dims[d];
  if (fits) return OK;
  char bound[DIMS_TEXT], computed[DIMS_TEXT];
  return ERROR(INVALID_ARGUMENT, "output '%s' is bound to a buffer of shape %s, but the model computes shape %s; bind a buffer of that shape, or bind the "
               "output by device to let ortcore allocate it", io->info.name, dims_format(bound, sizeof bound, t->rank, t->dims),
               dims_format(computed, sizeof computed, want->rank, io->info.dims));
}

static status wrong_kind(const session_io *io, const ortc_value *v) {
  char got[128];
  ortc_value_format_type(v, got, sizeof got);
  return ERROR(INVALID_ARGUMENT, "input '%s' is %s, but a value of type %s was given", io->info.name, io->info.type, got);
}

/* Items have one type (ort_value.h), so that the first stands for all; an empty sequence knows no keys. */
static bool is_sequence(const fact *want, const ortc_value *v) {
  if (want->kind != KIND_SEQUENCE || v->view.type != want->type) return false;
  if (!v->item_count) return true;
  dtype key = v->items[0]->kind == ORTC_VALUE_MAP ? v->items[0]->keys->view.type : ORTC_UNDEFINED;
  return key == want->key;
}

status session_check_input(const session_io *io, const ortc_value *v) {
  const fact *want = &io->declared;
  switch (v->kind) {
    case ORTC_VALUE_NONE: return want->optional ? OK : ERROR(INVALID_ARGUMENT, "input '%s' is required, but an empty value was given", io->info.name);
    case ORTC_VALUE_TENSOR: return want->kind == KIND_TENSOR ? check_tensor(io, &v->view) : wrong_kind(io, v);
    case ORTC_VALUE_SEQUENCE: return is_sequence(want, v) ? OK : wrong_kind(io, v);
    case ORTC_VALUE_MAP:
      return want->kind == KIND_MAP && v->keys->view.type == want->key && v->values->view.type == want->type ? OK : wrong_kind(io, v);
    case ORTC_VALUE_SPARSE: return want->kind == KIND_SPARSE && v->view.type == want->type ? OK : wrong_kind(io, v);
  }
  return wrong_kind(io, v);
}

status session_check_symbols(const ortc_session *s, const feed *feeds) {
  const symbol_dim *first = NULL;
  for (const symbol_dim *k = s->symbols, *end = k + s->symbol_count; k < end; ++k) {
    const tensor *view = feeds[k->input].view;
    if (!view) continue;
    if (!first || first->symbol != k->symbol) {
      first = k;
      continue;
    }
    int64_t expected = feeds[first->input].view->dims[first->at], given = view->dims[k->at];
    if (given == expected) continue;
    return ERROR(INVALID_ARGUMENT, "the model calls dim %d of input '%s' and dim %d of input '%s' both '%s', but they are %lld and %lld; they must be equal",
                 first->at, s->feed_io[first->input]->info.name, k->at, s->feed_io[k->input]->info.name, model_symbol_name(s->model, k->symbol),
                 (long long)expected, (long long)given);
  }
  return OK;
}
