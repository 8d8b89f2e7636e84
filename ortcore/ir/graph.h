/* The graph: values in one array, nodes in topological order, subgraphs inside attributes. All memory is the model's zone. */
#ifndef ORTCORE_IR_GRAPH_H
#define ORTCORE_IR_GRAPH_H

#include <ortcore/base/strmap.h>
#include <ortcore/base/zone.h>
#include <ortcore/ir/fact.h>

typedef struct graph graph;
typedef struct model model;
typedef struct node node;
struct op_def;                                              /* ops/op.h; the IR only carries the pointers */
struct kernel_row;                                          /* provider/provider.h */

typedef enum attr_kind {                                    /* numbers of AttributeProto.AttributeType */
  ATTR_FLOAT = 1, ATTR_INT = 2, ATTR_STRING = 3, ATTR_TENSOR = 4, ATTR_GRAPH = 5, ATTR_FLOATS = 6, ATTR_INTS = 7, ATTR_STRINGS = 8,
  ATTR_TENSORS = 9, ATTR_GRAPHS = 10, ATTR_SPARSE_TENSOR = 11, ATTR_SPARSE_TENSORS = 12, ATTR_TYPE_PROTO = 13, ATTR_TYPE_PROTOS = 14
} attr_kind;

typedef struct text { const char *data; size_t bytes; } text;   /* data[bytes] is NUL */

typedef struct attr {
  const char *name;
  attr_kind kind;
  int64_t count;                                            /* of the list kinds, else 1 */
  union {
    float f; int64_t i; text s; tensor *t; graph *g; ortc_value *sparse; fact *type;
    const float *floats; const int64_t *ints; const text *strings; tensor **tensors;
  };
  buffer *memory;                                           /* TENSOR: what t->data lies in, held by the model; NULL: its zone */
} attr;

#define NO_VALUE (-1)

typedef struct node {
  const char *name;                                         /* "" is replaced by "<op>_<index>" when read */
  const char *op_type, *domain;                             /* domain "" is ai.onnx */
  int64_t opset;                                            /* version of its domain that the model imports */
  const struct op_def *op;                                  /* resolved by ops/registry */
  const struct kernel_row *kernel;                          /* of a device, where placement put it; NULL: it runs on the CPU */
  const char *placed_because;                               /* of nodes that do not run on the session's device, and of copies; else NULL */
  int32_t input_count, output_count;
  int32_t *inputs, *outputs;                                /* value ids of this graph; NO_VALUE where omitted */
  int32_t attr_count;
  attr *attrs;
  /* Outer values that its subgraphs use: value ids of *this* graph. graph.captures of each subgraph index into this list. */
  int32_t capture_count;
  int32_t *captures;
} node;

typedef struct value {
  const char *name;
  fact fact;
  const fact *declared;                                     /* what the model says of it; NULL: nothing. Inference checks it and fills gaps from it */
  int32_t producer;                                         /* node index, or -1 */
  bool is_input, is_output, is_initializer, is_capture;
  bool on_device;                                           /* it lies in the memory of the session's device, not of the host (plan/placement.h) */
  uint32_t assumed;                                         /* bit d: only the model says that dim d is fixed, inference does not; all bits: nor the rank */
  bool is_disputed;                                         /* inference contradicts the declared shape: dims that differ count as unknown */
  buffer *memory;                                           /* constants: what fact.value->data lies in (retained by the model) */
  const tensor *default_value;                              /* overridable initializers (inputs too): their fact has no value */
} value;

/* An outer value used inside a subgraph: `inner` is its value id here, `slot` its index in the captures of the node that owns the subgraph. */
typedef struct capture { int32_t inner, slot; } capture;

struct graph {
  model *owner;
  graph *parent;                                            /* NULL for the main graph */
  const char *name;
  zone *memory;                                             /* the model's */
  int32_t value_count, value_capacity; value *values;       /* pointers into it die when a value is added: keep ids */
  int32_t node_count, node_capacity; node **nodes;          /* topological order */
  int32_t input_count, *inputs;
  int32_t output_count, *outputs;
  int32_t capture_count; capture *captures;
};

typedef struct model {
  zone *memory;
  graph *main;
  int64_t ir_version;
  int32_t import_count; struct { const char *domain; int64_t version; } *imports;
  const char *producer_name, *producer_version, *domain, *description, *graph_description;
  int64_t version;                                          /* INT64_MAX if unset */
  int32_t metadata_count; const char **metadata_keys, **metadata_values;
  int32_t symbol_count, symbol_capacity; const char **symbols;   /* symbol s has dim value -2 - s */
  strmap symbol_ids;                                        /* name to s */
  int32_t denotation_count, denotation_capacity; struct { const char *name; int32_t input, axis; } *denotations;   /* of dims of inputs (value ids) of the main graph */
  int32_t buffer_count, buffer_capacity; buffer **buffers;  /* everything that constants lie in, the file mapping included */
} model;

status model_create(model **out) MUST_CHECK;
void model_release(model *m);
dim model_symbol(model *m, const char *name);               /* interned */
const char *model_symbol_name(const model *m, dim d);       /* NULL if d is not a symbol */
/* Dims with that symbol, or of inputs with that denotation, are `to` from now on. */
void model_override_dim(model *m, const char *symbol, int64_t to);
void model_override_denotation(model *m, const char *denotation, int64_t to);
int64_t model_opset(const model *m, const char *domain);    /* 0 if not imported */
status model_hold_buffer(model *m, buffer *b) MUST_CHECK;   /* takes the reference */
/* Constants that nothing reads lose their contents, and buffers in which no constant lies any more are released. */
status model_drop_unused(model *m) MUST_CHECK;

status graph_create(model *m, graph *parent, graph **out) MUST_CHECK;
/* name NULL: a fresh unique one. The new value has an unknown fact. */
status graph_add_value(graph *g, const char *name, int32_t *out_id) MUST_CHECK;
status graph_add_node(graph *g, const char *op_type, const char *domain, int32_t input_count, const int32_t *inputs,
                      int32_t output_count, const int32_t *outputs, node **out) MUST_CHECK;   /* appended; producers are set */
/* A constant; for a value that is an input too, the default (and what is declared of its shape stays). memory is retained by the model. `t` is copied into the zone, its data is not. */
status graph_set_constant(graph *g, int32_t id, const tensor *t, buffer *memory) MUST_CHECK;
/* Uses of each value by nodes (captures included) and as graph output: zone-free array of value_count ints, freed by the caller. */
int32_t *graph_count_uses(const graph *g);
/* Operand i of a node, counted over its inputs and then its captures. */
static inline int32_t node_operand(const node *n, int32_t i) { return i < n->input_count ? n->inputs[i] : n->captures[i - n->input_count]; }
int32_t graph_find_value(const graph *g, const char *name); /* NO_VALUE if there is none; looks through all values */
status graph_sort(graph *g) MUST_CHECK;                     /* topological; a cycle is INVALID_GRAPH */
void graph_compact(graph *g);                               /* drops NULL entries of nodes and renumbers producers */
status graph_verify(const graph *g) MUST_CHECK;             /* invariants of this header, for tests and after passes */
void graph_dump(const graph *g, void *stdio_file);

/* Attributes by name. The `or` forms give the fallback if absent; asking for another kind than stored is INVALID_GRAPH (attr_find + kind). */
const attr *attr_find(const node *n, const char *name);
int64_t attr_int_or(const node *n, const char *name, int64_t fallback);
float attr_float_or(const node *n, const char *name, float fallback);
text attr_string_or(const node *n, const char *name, const char *fallback);
/* NULL and *out_count = 0 if absent. */
const int64_t *attr_ints(const node *n, const char *name, int64_t *out_count);
const float *attr_floats(const node *n, const char *name, int64_t *out_count);
const text *attr_strings(const node *n, const char *name, int64_t *out_count);
const tensor *attr_tensor(const node *n, const char *name);
graph *attr_graph(const node *n, const char *name);
status node_set_attr_int(graph *g, node *n, const char *name, int64_t v) MUST_CHECK;
status node_set_attr_ints(graph *g, node *n, const char *name, int64_t count, const int64_t *v) MUST_CHECK;
status node_set_attr_float(graph *g, node *n, const char *name, float v) MUST_CHECK;
status node_set_attr_floats(graph *g, node *n, const char *name, int64_t count, const float *v) MUST_CHECK;
status node_set_attr_string(graph *g, node *n, const char *name, const char *v) MUST_CHECK;

#endif
