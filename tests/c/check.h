/* The whole test framework. A program is some functions and
 *
 *     int main(void) { RUN(test_this); RUN(test_that); return check_result(); }
 *
 * A check that fails prints where and what, is counted, and lets the test go on. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <ortcore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int check_failures, check_count;

__attribute__((format(printf, 4, 5), unused))
static bool check_that(bool holds, const char *file, int line, const char *format, ...) {
  ++check_count;
  if (holds) return true;
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  /* A broken loop need not print a million lines. */
  if (++check_failures == 50) {
    fprintf(stderr, "too many failures\n");
    _Exit(1);
  }
  return false;
}

#define CHECK(condition) check_that((condition), __FILE__, __LINE__, "%s", #condition)
/* With a message: CHECKF(a == b, "a is %d", a) */
#define CHECKF(condition, ...) check_that((condition), __FILE__, __LINE__, #condition ": " __VA_ARGS__)
#define CHECK_INT(actual, expected) \
  do { long long a_ = (long long)(actual), e_ = (long long)(expected); \
       check_that(a_ == e_, __FILE__, __LINE__, "%s is %lld, expected %lld", #actual, a_, e_); } while (0)
#define CHECK_TEXT(actual, expected) \
  do { const char *a_ = (actual), *e_ = (expected); \
       check_that(a_ && strcmp(a_, e_) == 0, __FILE__, __LINE__, "%s is \"%s\", expected \"%s\"", #actual, a_ ? a_ : "(NULL)", e_); } while (0)

/* Statuses: success, or the given code with `part` in the message. Both release what they are given. */
#define CHECK_OK(expression) check_status_((expression), ORTC_OK, "", __FILE__, __LINE__, #expression)
#define CHECK_ERROR(expression, code, part) check_status_((expression), ORTC_##code, (part), __FILE__, __LINE__, #expression)

__attribute__((unused))
static bool check_status_(ortc_status *s, ortc_status_code code, const char *part, const char *file, int line, const char *expression) {
  const char *message = ortc_status_get_message(s);
  bool right = ortc_status_get_code(s) == code && strstr(message, part);
  check_that(right, file, line, "%s gave %s \"%s\", expected %s with \"%s\"", expression, ortc_status_code_name(ortc_status_get_code(s)), message,
             ortc_status_code_name(code), part);
  ortc_status_release(s);
  return right;
}

/* Absurd sizes must come back as OUT_OF_MEMORY under the sanitizers as well, which would abort. */
#if defined(__SANITIZE_ADDRESS__)
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
#elif defined(__SANITIZE_THREAD__)
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }
#endif

#define RUN(test) \
  do { int before_ = check_failures; test(); if (check_failures > before_) fprintf(stderr, "FAILED: %s\n", #test); } while (0)

static int check_result(void) {
  fprintf(stderr, "%d checks, %d failed\n", check_count, check_failures);
  return check_failures > 0;
}

#endif
