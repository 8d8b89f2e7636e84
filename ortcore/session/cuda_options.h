/* The options of CUDAExecutionProvider: onnxruntime's names, checked when they are given, read when a session is made. */
#ifndef ORTCORE_SESSION_CUDA_OPTIONS_H
#define ORTCORE_SESSION_CUDA_OPTIONS_H

#include <ortcore/provider/cuda_options.h>
#include <ortcore/session/options.h>

/* Is that the name of an option, and that a value of it? The error names what there is. */
status cuda_option_check(const char *name, const char *value) MUST_CHECK;
/* What the options say together; those that are not given have their defaults. */
status cuda_options_read(const settings *given, cuda_options *out) MUST_CHECK;
/* Option `index` as it holds, given or by default. False out of range. */
bool cuda_option_at(size_t index, const settings *given, const char **out_name, const char **out_value);

#endif
