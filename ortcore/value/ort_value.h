/* Values as the API hands them about: counted, of one kind each, immutable but for the contents of tensors. */
#ifndef ORTCORE_VALUE_ORT_VALUE_H
#define ORTCORE_VALUE_ORT_VALUE_H

#include <ortcore/value/buffer.h>
#include <ortcore/value/string.h>
#include <ortcore/value/tensor.h>

struct ortc_value {
  _Atomic int64_t references;
  ortc_value_kind kind;
  tensor view;                                             /* TENSOR: the data; SPARSE: type and dense dims; SEQUENCE: type only */
  buffer *memory;                                          /* TENSOR: what view.data lies in; NULL only without elements */
  int64_t item_count, item_capacity;                       /* SEQUENCE */
  ortc_value **items;
  ortc_value *keys, *values;                               /* MAP; SPARSE keeps its values in `values` */
  ortc_sparse_format format;                               /* SPARSE */
  ortc_value *indices, *outer;
};

/* A tensor value over `view`, whose data lies in `memory` (retained; NULL only without elements). */
status ort_value_from_tensor(const tensor *view, buffer *memory, ortc_value **out) MUST_CHECK;
status ort_value_create_tensor(ortc_allocator *allocator, dtype type, int rank, const int64_t *dims, ortc_value **out) MUST_CHECK;
ortc_value *ort_value_retain(ortc_value *v);
void ort_value_release(ortc_value *v);
/* Sequences are immutable; these make new ones that share the items (O(n) pointers, no data). */
status ort_value_create_sequence(dtype type, int64_t count, ortc_value *const *items, ortc_value **out) MUST_CHECK;
/* Consumes one reference to `sequence` and gives one to a sequence with `item` (retained) at `position` (0..count). When the caller's
 * was the only reference the items are not copied: appending in a loop costs amortised O(1). */
status ort_value_insert_item(ortc_value *sequence, int64_t position, ortc_value *item, ortc_value **out) MUST_CHECK;
status ort_value_create_map(ortc_value *keys, ortc_value *values, ortc_value **out) MUST_CHECK;
ortc_value *ort_value_none(void);
/* Values, indices and outer offsets are checked against the dense shape. outer is NULL unless the format is CSR. */
status ort_value_create_sparse(ortc_sparse_format format, int rank, const int64_t *dims, ortc_value *values, ortc_value *indices, ortc_value *outer,
                               ortc_value **out) MUST_CHECK;

/* Does the test say yes to any tensor in it, whatever holds that? The first yes ends the search. */
bool ort_value_any(const ortc_value *v, bool (*test)(const ortc_value *tensor, const void *context), const void *context);
bool ort_value_lies_in(const ortc_value *v, const void *begin, const void *end);   /* any byte of it? v may be NULL */

/* Deep: nothing is shared but immutable strings. A read-only value's clone may be written. */
status ort_value_clone(const ortc_value *v, ortc_value **out) MUST_CHECK;
/* Between tensors of one type and number of elements. */
status ort_value_copy_into(const ortc_value *from, ortc_value *to, ortc_stream *on) MUST_CHECK;   /* on NULL: complete when it returns */
status ort_value_reshape(ortc_value *v, int rank, const int64_t *dims, ortc_value **out) MUST_CHECK;
const char *ort_value_kind_name(const ortc_value *v);      /* "a tensor", for messages; NULL is "NULL" */
/* "tensor(float)", "seq(map(int64,tensor(float)))"; the length without the NUL, as snprintf. */
size_t ort_value_format_type(const ortc_value *v, char *text, size_t capacity);

#endif
