/* Session options and run options: settings by name, and the objects that a session takes along. */
#ifndef ORTCORE_SESSION_OPTIONS_H
#define ORTCORE_SESSION_OPTIONS_H

#include <ortcore/value/ort_value.h>

typedef struct setting { char *key, *value; } setting;
typedef struct settings { setting *items; size_t count; } settings;

status settings_set(settings *s, const char *key, const char *value) MUST_CHECK;   /* replaces */
const char *settings_get(const settings *s, const char *key);                      /* NULL if unset */
int64_t settings_get_int(const settings *s, const char *key, int64_t fallback);    /* fallback too if it is no number */
void settings_deinit(settings *s);
/* Is that a value of the setting `key`? Keys that mean nothing here may have any. The error says what is accepted. */
status session_setting_check(const char *key, const char *value) MUST_CHECK;
status run_setting_check(const char *key, const char *value) MUST_CHECK;

typedef struct dim_override { char *name; int64_t dim; bool by_denotation; } dim_override;
typedef struct initializer_override { char *name; ortc_value *value; bool external; } initializer_override;
typedef struct external_file { char *name; buffer *data; } external_file;
typedef struct provider_request { char *name; settings options; } provider_request;

struct ortc_session_options {
  settings config;
  size_t dim_count; dim_override *dims;
  size_t initializer_count; initializer_override *initializers;
  size_t file_count; external_file *files;
  size_t provider_count; provider_request *providers;
  _Atomic bool cancel;
};

struct ortc_run_options {
  settings config;
  _Atomic bool terminate;
};

ortc_session_options *session_options_create(void);         /* NULL without memory */
void session_options_release(ortc_session_options *o);
status session_options_add_dim(ortc_session_options *o, const char *name, int64_t dim, bool by_denotation) MUST_CHECK;
status session_options_add_initializer(ortc_session_options *o, const char *name, ortc_value *value, bool external) MUST_CHECK;
status session_options_add_file(ortc_session_options *o, const char *name, buffer *data) MUST_CHECK;   /* takes over the reference, also when it fails */
status session_options_add_provider(ortc_session_options *o, const char *name, provider_request **out) MUST_CHECK;
status session_options_copy(const ortc_session_options *from, ortc_session_options **out) MUST_CHECK;   /* NULL: the defaults */

ortc_run_options *run_options_create(void);
void run_options_release(ortc_run_options *o);

#endif
