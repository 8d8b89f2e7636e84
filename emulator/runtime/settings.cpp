#include <emulator/runtime/settings.h>

#include <emulator/executor/executor.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/reset.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emulator {

settings_table settings;

namespace {

uint64_t random_state = 1;

void apply_seed() {
  random_state = static_cast<uint64_t>(settings.seed) * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u;
  if (random_state == 0) random_state = 1;
  schedule orders[] = {schedule::backward, schedule::shuffled, schedule::forward};
  set_schedule(orders[settings.policy], static_cast<uint64_t>(settings.seed));
}

void apply_step_limit() { set_step_limit(static_cast<uint64_t>(settings.step_limit)); }
void apply_race_check() { watch_accesses(settings.race_check != 0); }

struct setting {
  const char *key;
  int64_t settings_table::*field;
  int64_t least, most;
  void (*apply)();                                          /* NULL: the number is all */
  const char *variable;                                     /* of the environment */
};

constexpr int64_t kAny = INT64_MAX;

const setting known[] = {
  {"seed", &settings_table::seed, INT64_MIN, kAny, apply_seed, "ORTCORE_EMULATION_SEED"},
  {"policy", &settings_table::policy, starve, eager, apply_seed, "ORTCORE_EMULATION_POLICY"},
  {"race_check", &settings_table::race_check, 0, 1, apply_race_check, "ORTCORE_EMULATION_RACE_CHECK"},
  {"verbose", &settings_table::verbose, 0, 1, nullptr, "ORTCORE_EMULATION_VERBOSE"},
  {"devices", &settings_table::devices, 0, kMostDevices, nullptr, "ORTCORE_EMULATION_DEVICES"},
  {"memory_bytes", &settings_table::memory_bytes, 0, int64_t{1} << 36, nullptr, "ORTCORE_EMULATION_MEMORY"},
  {"quarantine_bytes", &settings_table::quarantine_bytes, 0, kAny, nullptr, nullptr},
  {"poison_bytes", &settings_table::poison_bytes, 0, kAny, nullptr, nullptr},
  {"step_limit", &settings_table::step_limit, 0, kAny, apply_step_limit, nullptr},
  {"fail_allocation", &settings_table::fail_allocation, 0, kAny, nullptr, nullptr},
  {"fail_allocations_after", &settings_table::fail_allocations_after, -1, kAny, nullptr, nullptr},
  {"sticky_error_at_launch", &settings_table::sticky_error_at_launch, 0, kAny, nullptr, nullptr},
  {"driver_error", &settings_table::driver_error, 0, 10000, nullptr, nullptr},
};

/* A number, or the name of a policy. */
bool parse(const char *text, int64_t *out_value) {
  const char *policies[] = {"starve", "random", "eager"};
  for (int i = 0; i < 3; ++i) {
    if (strcmp(text, policies[i]) == 0) return *out_value = i, true;
  }
  char *end;
  *out_value = strtoll(text, &end, 0);
  return end != text && *end == '\0';
}

}  // namespace

uint64_t random_number() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

bool configure(const char *key, int64_t value, const char **out_why) {
  for (const setting &s : known) {
    if (strcmp(s.key, key) != 0) continue;
    *out_why = "the value is out of range";
    if (value < s.least || value > s.most) return false;
    settings.*s.field = value;
    if (s.apply) s.apply();
    return true;
  }
  if (strcmp(key, "sticky_error") == 0) return fail_current_device(static_cast<cudaError_t>(value), "injected by sticky_error"), true;
  if (strcmp(key, "device_lost") == 0) return lose_current_device(value != 0), true;
  if (strcmp(key, "reset") == 0) return reset_everything(), true;
  *out_why = "there is no such setting";
  return false;
}

void read_environment() {
  apply_seed();
  for (const setting &s : known) {
    const char *text = s.variable ? getenv(s.variable) : nullptr;
    if (!text || !*text) continue;
    int64_t value;
    const char *why = "it is not a number";
    if (!parse(text, &value) || !configure(s.key, value, &why)) {
      fprintf(stderr, "emulated GPU: %s=%s is ignored: %s\n", s.variable, text, why);
    }
  }
}

}  // namespace emulator
