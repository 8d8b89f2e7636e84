/* The IR back to an ONNX file, weights included. Operators of the domain "ortcore" are written as they are: ortcore reads them again. */
#ifndef ORTCORE_ONNX_WRITE_H
#define ORTCORE_ONNX_WRITE_H

#include <ortcore/ir/graph.h>

/* output_names: of the main graph's outputs, as the model was read. A path that cannot be written is INVALID_ARGUMENT. */
status onnx_write_file(const model *m, const char *const *output_names, const char *path) MUST_CHECK;

#endif
