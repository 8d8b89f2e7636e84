/* What the emulator was told to do: ortcore_emulator_configure() and the environment. */
#ifndef EMULATOR_RUNTIME_SETTINGS_H
#define EMULATOR_RUNTIME_SETTINGS_H

#include <cstdint>

namespace emulator {

constexpr int kMostDevices = 8;

enum policy : int64_t { starve, random_order, eager };

struct settings_table {
  int64_t seed = 0;
  int64_t policy = starve;
  int64_t race_check = 0;
  int64_t verbose = 0;
  int64_t devices = 1;
  int64_t memory_bytes = int64_t{4} << 30;
  int64_t quarantine_bytes = int64_t{64} << 20;
  int64_t poison_bytes = int64_t{1} << 20;
  int64_t step_limit = 0;
  int64_t fail_allocation = 0;                              /* counts down to the one that fails */
  int64_t fail_allocations_after = -1;                      /* counts down, stays at 0 */
  int64_t sticky_error_at_launch = 0;
  int64_t driver_error = 0;
};
extern settings_table settings;

/* From the environment, before the first CUDA function does anything. */
void read_environment();
/* False: no such key, or not such a value; `out_why` says which. Applies what needs more than the number. */
bool configure(const char *key, int64_t value, const char **out_why);

/* Random numbers that the seed determines; the scheduler's choices. */
uint64_t random_number();

}  // namespace emulator

#endif
