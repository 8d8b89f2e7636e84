/* ortcore_emulator.h. */
#include <emulator/include/ortcore_emulator.h>

#include <emulator/runtime/api.h>
#include <emulator/runtime/memory.h>
#include <emulator/runtime/pinned.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/settings.h>

#include <cstdio>

using namespace emulator;

/* These go through the same gate as CUDA's functions: for the lock, and so that the environment is read before it is overruled. */
int ortcore_emulator_configure(const char *key, int64_t value) {
  call gate("ortcore_emulator_configure", driverless);
  const char *why = "";
  if (key && configure(key, value, &why)) return 0;
  fprintf(stderr, "emulated GPU: setting %s = %lld is refused: %s\n", key ? key : "NULL", static_cast<long long>(value), why);
  return -1;
}

int64_t ortcore_emulator_counter(const char *name) {
  call gate("ortcore_emulator_counter", driverless);
  return name ? counter_value(name) : -1;
}

int ortcore_emulator_finding(size_t index, const char **out_kind, const char **out_text) {
  call gate("ortcore_emulator_finding", driverless);
  return finding_at(index, out_kind, out_text) ? 0 : -1;
}

void ortcore_emulator_clear() {
  call gate("ortcore_emulator_clear", driverless);
  clear_reports();
}

int ortcore_emulator_name(const void *pointer, const char *name) {
  call gate("ortcore_emulator_name", driverless);
  allocation *a = find_device_allocation(reinterpret_cast<uint64_t>(pointer));
  if (!a) a = find_pinned(pointer);
  if (!a || !name) return -1;
  a->name = name;
  return 0;
}
