/* Model files and files of external data in memory. */
#ifndef ORTCORE_ONNX_FILE_H
#define ORTCORE_ONNX_FILE_H

#include <ortcore/value/buffer.h>

/* The whole of a regular file, read-only; a large one is mapped if it may be. */
status file_open(const char *path, bool may_map, buffer **out) MUST_CHECK;
bool file_is_mapped(const buffer *b);
/* Of a buffer that is mapped: has the file been written since? */
status file_check(const buffer *b) MUST_CHECK;

#endif
