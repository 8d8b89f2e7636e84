/* What the parts of the reader share. */
#ifndef ORTCORE_ONNX_READER_H
#define ORTCORE_ONNX_READER_H

#include <ortcore/onnx/read.h>
#include <ortcore/onnx/wire.h>

#define OMITTED (-2)                                         /* an optional parameter of a function that its caller left out */
#define MAX_DEPTH 64                                         /* of subgraphs within subgraphs, and of functions that call functions */

typedef struct function { const char *domain, *name, *overload; wire body; } function;

typedef struct reader {
  model *m;
  const read_options *options;
  buffer *bytes;                                             /* the model file */
  char *folder;                                              /* of external data, resolved; NULL until needed */
  const char *folder_given;
  int32_t mapped_count, mapped_capacity;
  read_file *mapped;                                         /* external files that are open */
  int32_t function_count;
  function *functions;
} reader;

/* Names visible while nodes are read. */
typedef struct scope {
  graph *g;
  strmap names;                                              /* name to value id in g */
  struct scope *parent;                                      /* of a subgraph: the graph around it; of a function's body: NULL */
  const node *caller;                                        /* in a function's body: the node, whose attributes its nodes refer to */
  const wire *defaults;                                      /* in a function's body: the FunctionProto, for default attributes */
  int32_t import_count;
  struct { const char *domain; int64_t version; } imports[32];   /* of a function; else the model's */
  int depth;
  const char *prefix;                                        /* of the names of a function's values; "" otherwise */
  int32_t capture_count, capture_capacity;
  struct { int32_t inner, outer; } *captures;
} scope;

status malformed(const char *what) MUST_CHECK;
char *wire_text(zone *z, const wire_field *f);               /* NUL-terminated copy; NULL without memory */
/* read_tensor.c: a TensorProto. *out_memory is lent by the model. */
status read_tensor(reader *r, wire w, tensor *out, buffer **out_memory, char **out_name) MUST_CHECK;
status read_sparse_tensor(reader *r, wire w, tensor *out, buffer **out_memory, char **out_name) MUST_CHECK;
/* read_external.c */
status external_data(reader *r, const char *location, int64_t offset, int64_t length, const char **out_data, size_t *out_bytes, buffer **out_memory) MUST_CHECK;
status map_file(const char *path, buffer **out) MUST_CHECK;
/* read_type.c */
status read_type(reader *r, wire w, fact *out) MUST_CHECK;
status read_value_info(reader *r, wire w, char **out_name, fact *out) MUST_CHECK;
/* read_graph.c */
status read_graph(reader *r, wire w, scope *parent, int depth, graph **out, scope *own) MUST_CHECK;
void scope_deinit(scope *s);
status scope_define(scope *s, const char *name, int32_t *out_id) MUST_CHECK;       /* a new value; a name in use is an error */
status scope_lookup(scope *s, const char *name, int32_t *out_id) MUST_CHECK;       /* NO_VALUE if unknown; captures as needed */
/* read_node.c, read_function.c */
status read_node(reader *r, scope *s, wire w) MUST_CHECK;
status inline_function(reader *r, scope *s, const function *f, const node *call) MUST_CHECK;
const function *find_function(const reader *r, const char *domain, const char *name, const char *overload);
int64_t scope_opset(const reader *r, const scope *s, const char *domain);

#endif
