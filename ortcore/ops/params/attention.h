/* What an Attention node says of the tensors of a run, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_ATTENTION_H
#define ORTCORE_OPS_PARAMS_ATTENTION_H

#include <ortcore/kernels/cpu/attention.h>
#include <ortcore/ops/op.h>

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_MASK, ATTENTION_PAST_KEY, ATTENTION_PAST_VALUE, ATTENTION_VALID };

/* Sizes of queries, keys or values, which come as [batch, heads, length, size], or as [batch, length, heads * size] with the heads in an
 * attribute. */
typedef struct heads { dim batch, heads, length, size; } heads;

status attention_heads(const node *n, int rank, const dim *dims, const char *attribute, const char *input, heads *out) MUST_CHECK;
/* Those of a run's Q, K and V, which fit each other. */
status attention_sizes(const kernel_ctx *k, heads *q, heads *key, heads *v) MUST_CHECK;
/* Where vectors of such a tensor lie. */
head_view attention_view(int rank, const heads *h, void *data);
/* past, if it is there, has the batch, heads and size of h. */
status attention_check_past(const tensor *past, const char *name, const heads *h) MUST_CHECK;
/* Everything but type and views, from the sizes (past keys included in key and v), attributes and inputs. Contents of inputs are not read. */
status attention_describe(const kernel_ctx *k, const heads *q, const heads *key, const heads *v, attention *a) MUST_CHECK;
static inline const tensor *attention_in(const kernel_ctx *k, int i) { return i < k->in_count ? k->in[i] : NULL; }

#endif
