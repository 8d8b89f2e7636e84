/* String elements: a string tensor's data is an array of `rcstr *`, each a counted reference to immutable text; NULL is "".
 * Kernels that only move elements may move the pointers by width and then call rcstr_retain_n on the output. */
#ifndef ORTCORE_VALUE_STRING_H
#define ORTCORE_VALUE_STRING_H

#include <stddef.h>
#include <stdint.h>

typedef struct rcstr { _Atomic int64_t references; size_t bytes; char text[]; } rcstr;   /* text is NUL-terminated as well */

rcstr *rcstr_create(const char *text, size_t bytes);       /* NULL without memory; "" gives an object too */
rcstr *rcstr_retain(rcstr *s);
void rcstr_release(rcstr *s);
void rcstr_retain_n(rcstr *const *items, int64_t n);
void rcstr_release_n(rcstr **items, int64_t n);            /* and sets them to NULL */
static inline const char *rcstr_text(const rcstr *s) { return s ? s->text : ""; }
static inline size_t rcstr_bytes(const rcstr *s) { return s ? s->bytes : 0; }

#endif
