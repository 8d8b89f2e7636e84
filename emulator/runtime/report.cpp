#include <emulator/runtime/report.h>

#include <emulator/runtime/settings.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>
#include <unordered_set>

namespace emulator {

counter_table counters;

namespace {

/* A program that is wrong in a loop would fill the memory with new texts. */
constexpr size_t kMostFindings = 10000;

struct finding {
  const char *kind;
  std::string text;
};

auto &findings = *new std::deque<finding>;                  /* a deque: texts that were lent stay where they are */
auto &texts_seen = *new std::unordered_set<std::string>;
int64_t race_count;

std::string vformatted(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(nullptr, 0, format, again);
  va_end(again);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  if (length > 0) vsnprintf(text.data(), text.size() + 1, format, arguments);
  return text;
}

}  // namespace

std::string formatted(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = vformatted(format, arguments);
  va_end(arguments);
  return text;
}

std::string bytes_text(size_t bytes) { return formatted("%zu byte%s", bytes, bytes == 1 ? "" : "s"); }

void report_text(const char *kind, const std::string &text) {
  if (findings.size() >= kMostFindings || !texts_seen.insert(text).second) return;
  findings.push_back({kind, text});
  if (strcmp(kind, "race") == 0 || strcmp(kind, "shared_race") == 0) ++race_count;
  if (settings.verbose) fprintf(stderr, "emulated GPU: %s: %s\n", kind, text.c_str());
}

void report(const char *kind, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  report_text(kind, vformatted(format, arguments));
  va_end(arguments);
}

int64_t counter_value(const char *name) {
  if (strcmp(name, "races") == 0) return race_count;
  if (strcmp(name, "findings") == 0) return static_cast<int64_t>(findings.size());
#define EMULATOR_COUNTER(counter) if (strcmp(name, #counter) == 0) return counters.counter;
  EMULATOR_COUNTERS(EMULATOR_COUNTER)
#undef EMULATOR_COUNTER
  return -1;
}

bool finding_at(size_t index, const char **out_kind, const char **out_text) {
  bool there = index < findings.size();
  *out_kind = there ? findings[index].kind : nullptr;
  *out_text = there ? findings[index].text.c_str() : nullptr;
  return there;
}

void clear_reports() {
  findings.clear();
  texts_seen.clear();
  race_count = 0;
  counter_table now;
  now.live_allocations = counters.live_allocations;
  now.live_bytes = now.peak_bytes = counters.live_bytes;
  now.pending = counters.pending;
  counters = now;
}

}  // namespace emulator
