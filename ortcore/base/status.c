#include <ortcore/base/mem.h>
#include <ortcore/base/status.h>

#include <stdio.h>
#include <string.h>

/* The one status that needs no memory. It is never freed, and nothing is ever added to it in place. */
static ortc_status out_of_memory = {.code = ORTC_OUT_OF_MEMORY, .message = "out of memory"};

status status_out_of_memory(void) {
  size_t bytes = mem_refused_bytes();
  return bytes ? ERROR(OUT_OF_MEMORY, "out of memory: %zu bytes were asked for, and the system refused them", bytes) : &out_of_memory;
}

void status_release(status s) {
  if (!s || s == &out_of_memory) return;
  mem_free(s->message);
  mem_free(s->node);
  mem_free(s);
}

/* Takes over `message` and `node`; NULL as message means that there was no memory for it. */
static status status_new(ortc_status_code code, char *message, char *node) {
  ortc_status *s = message ? mem_alloc(sizeof *s) : NULL;
  if (!s) {
    mem_free(message);
    mem_free(node);
    return &out_of_memory;
  }
  *s = (ortc_status){.code = code, .message = message, .node = node};
  return s;
}

/* The formatted text with `tail` behind it, in memory of its own; NULL without memory. */
__attribute__((nonnull(1, 2)))
static char *format_text(const char *tail, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  size_t head = length > 0 ? (size_t)length : 0, rest = strlen(tail) + 1;
  char *text = mem_alloc(head + rest);
  if (text) {
    vsnprintf(text, head + 1, format, again);
    memcpy(text + head, tail, rest);
  }
  va_end(again);
  return text;
}

status status_vmake(ortc_status_code code, const char *format, va_list arguments) { return status_new(code, format_text("", format, arguments), NULL); }

status status_make(ortc_status_code code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  status s = status_vmake(code, format, arguments);
  va_end(arguments);
  return s;
}

/* A status without memory for its context stays what it was: the context is worth less than the cause. */
status status_vcontext(status s, const char *format, va_list arguments) {
  if (!s) return OK;
  char *head = format_text(": ", format, arguments);
  if (!head) return s;
  size_t head_bytes = strlen(head), tail_bytes = strlen(s->message) + 1;
  char *message = mem_realloc(head, head_bytes + tail_bytes);
  if (!message) {
    mem_free(head);
    return s;
  }
  memcpy(message + head_bytes, s->message, tail_bytes);
  if (s == &out_of_memory) return status_new(s->code, message, NULL);
  mem_free(s->message);
  s->message = message;
  return s;
}

status status_context(status s, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  s = status_vcontext(s, format, arguments);
  va_end(arguments);
  return s;
}

status status_at_node(status s, const char *node) {
  if (!s || s->node) return s;
  char *copy = mem_strdup(node);
  if (!copy) return s;
  if (s == &out_of_memory) return status_new(s->code, mem_strdup(s->message), copy);
  s->node = copy;
  return s;
}
