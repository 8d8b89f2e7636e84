/* Regular expressions: what matches, where, and what is refused. */
#include "check.h"

#include <ortcore/base/regex.h>

static const struct { const char *pattern, *text; bool full; int begin, end; } matches[] = {   /* begin -1: found nowhere */
  {"", "", true, 0, 0}, {"", "a", false, 0, 0}, {"a", "a", true, 0, 1}, {"a", "ba", false, 1, 2}, {"a|bc", "xbc", false, 1, 3},
  {"a*", "aaa", true, 0, 3}, {"a+?", "aaa", true, 0, 3}, {"a{2,3}", "aaaa", false, 0, 3}, {"a{2}", "a", false, -1, 0}, {"a{,2", "a{,2", true, 0, 4},
  {"(ab)*c", "ababc", true, 0, 5}, {"(a*)*", "aaaa", true, 0, 4}, {"(a|ab)(c|bcd)", "abcd", true, 0, 4}, {"[^a-c]", "abcd", false, 3, 4},
  {"[]a]+", "a]a", true, 0, 3}, {"[a-]+", "a-", true, 0, 2}, {"[[:alpha:]_]+", "1ab_", false, 1, 4}, {"[^[:space:]]+", " ab ", false, 1, 3},
  {"\\d+", "a12b", false, 1, 3}, {"\\bfoo\\b", "a foo.", false, 2, 5}, {"\\bfoo\\b", "afoo", false, -1, 0}, {"^b", "ab", false, -1, 0},
  {"(?m)^b$", "a\nb\nc", false, 2, 3}, {".", "\n", false, -1, 0}, {"(?s).", "\n", true, 0, 1}, {"(?i)straSSE", "STRAsse", true, 0, 7},
  {"(?i:a)b", "Ab", true, 0, 2}, {"(?i:a)b", "AB", false, -1, 0}, {"\\x41\\x{20AC}", "A€", true, 0, 4}, {".", "€", true, 0, 3}, {"[à-ü]", "é", true, 0, 2},
  {"\\Qa.b\\E+", "a.bb", false, 0, 3}, {"(?P<name>a)(?<other>b)", "ab", true, 0, 2}, {"a\\.b", "a.b", true, 0, 3}, {"\xff", "\xff", true, 0, 1}};

static const struct { const char *pattern, *complaint; } refused[] = {
  {"(a", "not closed"}, {"a)", "not opened"}, {"[a", "not closed"}, {"*a", "nothing to repeat"}, {"a{1001}", "at most 1000"}, {"a{3,2}", "no less"},
  {"[b-a]", "backwards"}, {"\\1", "back references"}, {"(?=a)", "look-around"}, {"\\p{L}", "Unicode classes"}, {"\\", "ends with a backslash"},
  {"[[:foo:]]", "unknown class"}, {"\\x{110000}", "10FFFF"}, {"((a{1000}){1000}){1000}", "too large"}, {"a*********", "repeats of repeats"}};

static void test_matches(void) {
  for (size_t i = 0; i < sizeof matches / sizeof *matches; ++i) {
    zone *z = zone_create();
    regex *r;
    size_t bytes = strlen(matches[i].text), begin = 0, end = 0;
    if (CHECK_OK(regex_compile(matches[i].pattern, strlen(matches[i].pattern), z, &r))) {
      void *memory = malloc(regex_memory(r));
      CHECKF(regex_full_match(r, matches[i].text, bytes, memory) == matches[i].full, "pattern %s, text %s", matches[i].pattern, matches[i].text);
      bool found = regex_search(r, matches[i].text, bytes, 0, &begin, &end, memory);
      CHECKF(found == (matches[i].begin >= 0), "pattern %s, text %s", matches[i].pattern, matches[i].text);
      if (found) CHECKF((int)begin == matches[i].begin && (int)end == matches[i].end, "pattern %s, text %s: %zu to %zu", matches[i].pattern, matches[i].text, begin, end);
      free(memory);
    }
    zone_release(z);
  }
}

static void test_refused(void) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
    zone *z = zone_create();
    regex *r;
    CHECK_ERROR(regex_compile(refused[i].pattern, strlen(refused[i].pattern), z, &r), INVALID_ARGUMENT, refused[i].complaint);
    zone_release(z);
  }
}

/* A pattern that backtracking takes ages over. */
static void test_time(void) {
  enum { LENGTH = 100000 };
  const char *pattern = "(a*)*(a|aa)*(a?){50}b";
  char *text = malloc(LENGTH);
  memset(text, 'a', LENGTH);
  zone *z = zone_create();
  regex *r;
  if (CHECK_OK(regex_compile(pattern, strlen(pattern), z, &r))) {
    void *memory = malloc(regex_memory(r));
    CHECK(!regex_full_match(r, text, LENGTH, memory));
    text[LENGTH - 1] = 'b';
    CHECK(regex_full_match(r, text, LENGTH, memory));
    free(memory);
  }
  /* Parentheses as deep as they come are an error, not a stack overflow. */
  memset(text, '(', LENGTH);
  CHECK_ERROR(regex_compile(text, LENGTH, z, &r), INVALID_ARGUMENT, "nested too deeply");
  zone_release(z);
  free(text);
}

int main(void) {
  RUN(test_matches);
  RUN(test_refused);
  RUN(test_time);
  return check_result();
}
