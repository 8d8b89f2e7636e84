/* Errors: `ortc_status *`, NULL is success. Whoever receives one returns it, handles it or releases it. */
#ifndef ORTCORE_BASE_STATUS_H
#define ORTCORE_BASE_STATUS_H

#include <ortcore.h>
#include <stdarg.h>

struct ortc_status {
  ortc_status_code code;
  char *message;
  char *node;                                              /* NULL: not of a node */
};
typedef ortc_status *status;

#define OK ((status)NULL)
#define NEVER_NULL __attribute__((returns_nonnull))
#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* Never returns NULL: without memory for the text it returns a static OUT_OF_MEMORY status. */
status status_make(ortc_status_code code, const char *format, ...) PRINTF_LIKE(2, 3) NEVER_NULL MUST_CHECK;
status status_vmake(ortc_status_code code, const char *format, va_list arguments) NEVER_NULL MUST_CHECK;
status status_out_of_memory(void) NEVER_NULL MUST_CHECK;   /* after an allocation by mem_alloc() and its like that failed: tells its size */
/* Puts "<text>: " in front of the message. NULL stays NULL. */
status status_context(status s, const char *format, ...) PRINTF_LIKE(2, 3) MUST_CHECK;
status status_vcontext(status s, const char *format, va_list arguments) MUST_CHECK;
/* Remembers the node (once: the innermost stays). NULL stays NULL. */
status status_at_node(status s, const char *node) MUST_CHECK;

void status_release(status s);                             /* NULL is fine */

#define TRY(expression) do { status try_status_ = (expression); if (try_status_) return try_status_; } while (0)
/* return ERROR(INVALID_ARGUMENT, "axis %d ...", axis); */
#define ERROR(code, ...) status_make(ORTC_##code, __VA_ARGS__)

#endif
