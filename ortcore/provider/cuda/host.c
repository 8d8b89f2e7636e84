/* What the core's pure sources, which are compiled into the plugin too, ask of the layers below them: forwarded to the core that opened the
 * plugin, so that there is one heap, one log and one kind of status. */
#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/provider/cuda/plugin.h>
#include <stdio.h>

status status_make(ortc_status_code code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  status s = plugin_host->make_status(code, format, arguments);
  va_end(arguments);
  return s;
}

status status_context(status s, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  s = plugin_host->add_context(s, format, arguments);
  va_end(arguments);
  return s;
}

status status_at_node(status s, const char *node) { return plugin_host->at_node(s, node); }
status status_out_of_memory(void) { return plugin_host->out_of_memory(); }
void status_release(status s) { plugin_host->release_status(s); }

bool log_enabled(ortc_severity severity) { return plugin_host->log_enabled(severity); }

void log_write(ortc_severity severity, const char *logid, const char *location, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  plugin_host->log(severity, logid, location, "%s", text);
}

void *mem_alloc(size_t bytes) { return plugin_host->alloc(bytes); }
void *mem_calloc(size_t count, size_t size) { return plugin_host->calloc(count, size); }
void *mem_realloc(void *data, size_t bytes) { return plugin_host->realloc(data, bytes); }
void mem_free(void *data) { plugin_host->free(data); }
