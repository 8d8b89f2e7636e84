/* The plugin that was built with the core opens, lists kernels and answers for its devices; a library of another kind is refused.
 *   provider_plugin [path of libortcore_cuda.so] */
#include "check.h"

#include <ortcore/provider/provider.h>

static const char *plugin_path;
static char why_not[512];

static void test_known_names(void) {
  CHECK(provider_is_known("CPUExecutionProvider"));
  CHECK(provider_is_known("CUDAExecutionProvider"));
  CHECK(!provider_is_known("NoSuchExecutionProvider"));
}

static void test_the_cpu_comes_last(void) {
  const char *reason = NULL, *last = "";
  bool with_cuda = provider_cuda(&reason) != NULL;
  CHECK(with_cuda ? reason == NULL : reason && *reason);
  for (size_t i = 0; provider_available(i); ++i) last = provider_available(i);
  CHECK_TEXT(last, "CPUExecutionProvider");
  CHECK_TEXT(ortc_available_provider(0), with_cuda ? "CUDAExecutionProvider" : "CPUExecutionProvider");
}

static void test_what_is_no_plugin_is_refused(void) {
  CHECK(!provider_open("/no/such/plugin.so", why_not, sizeof why_not));
  CHECKF(strstr(why_not, "/no/such/plugin.so"), "the reason is \"%s\"", why_not);
  CHECK(!provider_open("libm.so.6", why_not, sizeof why_not));
  CHECKF(strstr(why_not, "not built from the same sources"), "the reason is \"%s\"", why_not);
}

static void test_the_plugin_of_this_build(void) {
  if (!plugin_path) return;
  const provider *p = provider_open(plugin_path, why_not, sizeof why_not);
  if (!CHECKF(p, "%s: %s", plugin_path, why_not)) return;
  CHECK_TEXT(p->name, "CUDAExecutionProvider");
  CHECK(p->families[0]);
  for (const kernel_row *const *family = p->families; *family; ++family) {
    for (const kernel_row *row = *family; row->op; ++row) {
      CHECKF(row->since > 0 && row->launch, "%s", row->op);
      CHECKF(op_find(row->domain ? row->domain : "", row->op, row->since), "the core has no %s at opset %d", row->op, row->since);
    }
  }
  const char *no_device = NULL;
  CHECK(p->device_count(&no_device) > 0 || (no_device && *no_device));
}

int main(int count, char **arguments) {
  if (count > 1) plugin_path = arguments[1];
  RUN(test_known_names);
  RUN(test_the_cpu_comes_last);
  RUN(test_what_is_no_plugin_is_refused);
  RUN(test_the_plugin_of_this_build);
  return check_result();
}
