/* Axes of reductions: which dims they name, what is left of a shape, and which dims may be taken together. */
#include <ortcore/ops/params/reduce.h>

status reduce_known_axes(const node *n, const fact *input, integers *axes, bool *out_known) {
  bool present;
  TRY(integers_from_attr(n, "axes", axes, &present));
  *out_known = present || !input || integers_from_fact(input, axes);
  return OK;
}

status reduce_axes(const reduce_params *p, const tensor *input, integers *axes) {
  if (!p->axes_known) return integers_from_tensor(input, "axes", axes);
  *axes = p->axes;
  return OK;
}

status reduce_mark(const integers *given, int rank, bool noop, bool *reduced) {
  integers axes = *given;
  TRY(axes_normalise(&axes, rank, "axes"));
  for (int d = 0; d < rank; ++d) reduced[d] = !axes.count && !noop;
  for (int i = 0; i < axes.count; ++i) reduced[axes.at[i]] = true;
  return OK;
}

int reduced_shape(int rank, const int64_t *dims, const bool *reduced, bool keepdims, int64_t *out) {
  int to = 0;
  for (int d = 0; d < rank; ++d) {
    if (!reduced[d]) out[to++] = dims[d];
    else if (keepdims) out[to++] = 1;
  }
  return to;
}

int reduce_merge(int rank, const int64_t *dims, const bool *reduced, int64_t *groups, bool *is_reduced) {
  int count = 0;
  for (int d = 0; d < rank; ++d) {
    if (dims[d] == 1) continue;
    if (count && is_reduced[count - 1] == reduced[d]) {
      groups[count - 1] *= dims[d];
    } else {
      groups[count] = dims[d];
      is_reduced[count++] = reduced[d];
    }
  }
  return count;
}
