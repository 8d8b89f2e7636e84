/* What the parts of the reader share. */
#ifndef ORTCORE_ONNX_READER_H
#define ORTCORE_ONNX_READER_H

#include <ortcore/onnx/read.h>
#include <ortcore/onnx/wire.h>

#define OMITTED (-2)                                         /* an optional parameter of a function that its caller left out */
#define MAX_DEPTH 24                                         /* of subgraphs within subgraphs, and of functions that call functions */
/* Functions that call functions can describe exponentially large graphs: bytes of all inlined bodies together, tensor data aside. */
#define MAX_INLINED_BYTES ((size_t)64 << 20)

typedef struct function {
  const char *domain, *name, *overload;
  wire body;
  bool active;                                               /* being inlined: a call from within is a recursion */
} function;

typedef struct import { const char *domain; int64_t version; } import;

typedef struct reader {
  model *m;
  const read_options *options;
  buffer *bytes;                                             /* the model file */
  const char *path, *folder_given;                           /* path: NULL for a model from memory */
  char *folders[2];                                          /* where external data may lie, resolved; NULL until needed */
  int32_t mapped_count, mapped_capacity;
  read_file *mapped;                                         /* external files that are open */
  int32_t function_count;
  function *functions;
  strmap function_ids;                                       /* function_key to index */
  size_t payload_bytes;                                      /* tensor data met so far */
  size_t inlined_bytes;
} reader;

/* Names visible while nodes are read. */
typedef struct scope {
  graph *g;
  strmap names;                                              /* name to value id in g */
  struct scope *parent;                                      /* of a subgraph: the graph around it; of a function's body: NULL */
  const node *caller;                                        /* in a function's body: the node, whose attributes its nodes refer to */
  const wire *defaults;                                      /* in a function's body: the FunctionProto, for default attributes */
  int32_t import_count;
  const import *imports;                                     /* of a function; else the model's hold */
  int depth;
  const char *prefix;                                        /* of the names of a function's values; "" otherwise */
  int32_t capture_count, capture_capacity;
  struct { int32_t inner, outer; } *captures;
} scope;

/* Subgraphs need their node, whose captures they extend. */
typedef struct node_builder { reader *r; scope *s; node *n; int32_t attr_capacity, capture_capacity; } node_builder;

status malformed(const char *what) MUST_CHECK;
status check_cancelled(const reader *r) MUST_CHECK;
status count_fields(wire w, uint32_t number, int32_t *out) MUST_CHECK;
char *wire_text(zone *z, const wire_field *f);               /* NUL-terminated copy; NULL without memory */
status read_import(reader *r, const wire_field *f, import *out) MUST_CHECK;
/* read_tensor.c: a TensorProto. *out_memory is lent by the model. */
status read_tensor(reader *r, wire w, tensor *out, buffer **out_memory, const char **out_name) MUST_CHECK;
status read_sparse_tensor(reader *r, wire w, tensor *out, buffer **out_memory, const char **out_name) MUST_CHECK;
/* read_external.c */
status external_data(reader *r, const char *location, int64_t offset, int64_t length, const char **out_data, size_t *out_bytes, buffer **out_memory) MUST_CHECK;
/* read_type.c */
status read_type(reader *r, wire w, fact *out) MUST_CHECK;
status read_value_info(reader *r, wire w, char **out_name, fact *out) MUST_CHECK;
/* read_scope.c */
void scope_init(scope *s, graph *g, scope *parent);
void scope_deinit(scope *s);
status scope_define(scope *s, const char *name, int32_t *out_id) MUST_CHECK;       /* a new value; a name in use is an error */
status scope_lookup(scope *s, const char *name, int32_t *out_id) MUST_CHECK;       /* NO_VALUE if unknown; captures as needed */
int64_t scope_opset(const reader *r, const scope *s, const char *domain);
/* read_graph.c */
status read_graph(reader *r, wire w, scope *parent, graph **out, scope *own) MUST_CHECK;
/* read_attribute.c, read_node.c, read_constant.c, read_function.c */
status read_attribute(node_builder *b, wire w) MUST_CHECK;
status read_node(reader *r, scope *s, wire w) MUST_CHECK;
status make_constant(reader *r, scope *s, const node *n) MUST_CHECK;
status index_functions(reader *r) MUST_CHECK;
function *find_function(const reader *r, const char *domain, const char *name, const char *overload);
status inline_function(reader *r, scope *s, function *f, const node *call) MUST_CHECK;

#endif
