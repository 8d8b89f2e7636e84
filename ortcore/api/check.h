/* What every exported function does first. */
#ifndef ORTCORE_API_CHECK_H
#define ORTCORE_API_CHECK_H

#include <limits.h>
#include <ortcore/base/status.h>

/* Returns INVALID_ARGUMENT that names the function and the parameter. Out parameters come first, and are set to NULL or zero next. */
#define NEEDS(parameter) \
  do { if (!(parameter)) return ERROR(INVALID_ARGUMENT, "%s: the parameter '%s' must not be NULL", __func__, #parameter); } while (0)

/* The same for an array that may be NULL when it has no elements. */
#define NEEDS_ARRAY(parameter, count) \
  do { if (!(parameter) && (count) != 0) return ERROR(INVALID_ARGUMENT, "%s: the parameter '%s' must not be NULL unless '%s' is 0", __func__, #parameter, #count); } while (0)

/* Ranks come as size_t; what does not fit an int is refused like any other that is too high. */
static inline int rank_of(size_t rank) { return rank <= INT_MAX ? (int)rank : INT_MAX; }

#endif
