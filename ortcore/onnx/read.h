/* ONNX files to the IR. Weights stay where they are: in the file's mapping or bytes, or in the caller's bytes. */
#ifndef ORTCORE_ONNX_READ_H
#define ORTCORE_ONNX_READ_H

#include <ortcore/ir/graph.h>

typedef struct read_file { const char *name; buffer *data; } read_file;   /* stands in for an external data file */

typedef struct read_replacement { const char *name; const tensor *view; buffer *memory; } read_replacement;

typedef struct read_options {
  int32_t file_count;
  const read_file *files;
  int32_t replacement_count;
  const read_replacement *replacements;                      /* for initializers with external data, which is then not looked for */
  bool read_whole;                                           /* files are read into memory; otherwise large ones are mapped */
  const _Atomic bool *cancel;                                /* may be NULL */
} read_options;

#define ONNX_MIN_IR 3
#define ONNX_MAX_IR 14
#define ONNX_MIN_OPSET 1                                     /* most operators are defined since 7 */
#define ONNX_MAX_OPSET 28
#define ONNX_MAX_ML_OPSET 5

/* External data is found beside the file. */
status onnx_read_file(const char *path, const read_options *options, model **out) MUST_CHECK;
/* The model retains `bytes`. folder: where external data is; NULL: the current directory. */
status onnx_read_memory(buffer *bytes, const char *folder, const read_options *options, model **out) MUST_CHECK;

#endif
