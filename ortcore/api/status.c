#include <ortcore/base/status.h>

ortc_status_code ortc_status_get_code(const ortc_status *s) { return s ? s->code : ORTC_OK; }
const char *ortc_status_get_message(const ortc_status *s) { return s ? s->message : ""; }
const char *ortc_status_get_node(const ortc_status *s) { return s && s->node ? s->node : ""; }
void ortc_status_release(ortc_status *s) { status_release(s); }

const char *ortc_status_code_name(ortc_status_code code) {
  switch (code) {
    case ORTC_OK: return "OK";
#define NAME(name, number, python_class, python_base) case ORTC_##name: return #name;
    ORTC_STATUS_CODES(NAME)
#undef NAME
  }
  return "UNKNOWN";
}
