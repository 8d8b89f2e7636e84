/* Numbers to text and back, whatever the process's locale. */
#include <ortcore/kernels/cpu/convert.h>

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <ortcore/base/half.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 };

/* A decimal point is a point in this locale. */
static locale_t neutral;
static pthread_once_t neutral_once = PTHREAD_ONCE_INIT;
static void make_neutral(void) { neutral = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t enter_neutral(void) {
  pthread_once(&neutral_once, make_neutral);
  return neutral ? uselocale(neutral) : (locale_t)0;
}
static void leave_neutral(locale_t before) {
  if (before) uselocale(before);
}

static const char *special_text(double x) { return isnan(x) ? "NaN" : isinf(x) ? x < 0 ? "-INF" : "INF" : NULL; }

static int print_f32(char *text, size_t capacity, float x) {
  const char *special = special_text(x);
  if (special) return snprintf(text, capacity, "%s", special);
  int n = 0;
  for (int digits = 6; digits <= 9; ++digits) {
    n = snprintf(text, capacity, "%.*g", digits, (double)x);
    if (strtof(text, NULL) == x) break;
  }
  return n;
}

static int print_f64(char *text, size_t capacity, double x) {
  const char *special = special_text(x);
  if (special) return snprintf(text, capacity, "%s", special);
  int n = 0;
  for (int digits = 15; digits <= 17; ++digits) {
    n = snprintf(text, capacity, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
  return n;
}

/* Element i of a row: of doubles, floats, unsigned 64-bit integers, or signed ones. */
static int print_element(char *text, size_t capacity, dtype row, const void *data, int64_t i) {
  switch (row) {
    case ORTC_DOUBLE: return print_f64(text, capacity, ((const double *)data)[i]);
    case ORTC_FLOAT: return print_f32(text, capacity, ((const float *)data)[i]);
    case ORTC_UINT64: return snprintf(text, capacity, "%" PRIu64, ((const uint64_t *)data)[i]);
    default: return snprintf(text, capacity, "%" PRId64, ((const int64_t *)data)[i]);
  }
}

status convert_to_text(dtype from, const void *in, rcstr **out, int64_t count) {
  dtype native = convert_native(from), row = native == ORTC_DOUBLE || native == ORTC_UINT64 ? native : typeset_has(TS_FLOAT, native) ? ORTC_FLOAT : ORTC_INT64;
  convert_fn convert = convert_find(native, row);
  double loaded[BLOCK], wide[BLOCK];
  char text[40];
  locale_t before = enter_neutral();
  status s = OK;
  for (int64_t i = 0; i < count && !s; i += BLOCK) {
    int64_t n = count - i < BLOCK ? count - i : BLOCK;
    convert_load(from, in, i, n, loaded);
    convert(loaded, wide, n);
    for (int64_t j = 0; j < n && !s; ++j) {
      int bytes = print_element(text, sizeof text, row, wide, j);
      out[i + j] = rcstr_create(text, (size_t)bytes);
      if (!out[i + j]) s = status_out_of_memory();
    }
  }
  leave_neutral(before);
  return s;
}

/* The whole text must be a number, spaces around it aside. */
static bool is_rest_blank(const char *rest) { return rest[strspn(rest, " \t\r\n")] == 0; }

static bool parse_integer(const char *text, int64_t *out) {
  char *rest;
  errno = 0;
  *out = text[strspn(text, " \t\r\n")] == '-' ? strtoll(text, &rest, 10) : (int64_t)strtoull(text, &rest, 10);
  if (rest == text) return false;
  if (is_rest_blank(rest)) return true;
  double x = strtod(text, &rest);                          /* "100.5", "1e3": cut to an integer */
  *out = x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
  return is_rest_blank(rest);
}

static bool parse_float(const char *text, dtype row, double *out) {
  char *rest;
  *out = row == ORTC_FLOAT ? (double)strtof(text, &rest) : strtod(text, &rest);
  return rest != text && is_rest_blank(rest);
}

status convert_from_text(const conversion *c, rcstr *const *in, void *out, int64_t count) {
  dtype native = convert_native(c->to);
  bool is_float = typeset_has(TS_FLOAT, native) || native == ORTC_BOOL;
  double wide[BLOCK], converted[BLOCK];
  int64_t whole[BLOCK];
  bool to_small = native != ORTC_DOUBLE && is_float;
  convert_fn convert = convert_find(is_float ? ORTC_DOUBLE : ORTC_INT64, native);
  locale_t before = enter_neutral();
  status s = OK;
  for (int64_t i = 0; i < count && !s; i += BLOCK) {
    int64_t n = count - i < BLOCK ? count - i : BLOCK;
    for (int64_t j = 0; j < n && !s; ++j) {
      const char *text = rcstr_text(in[i + j]);
      bool right = is_float ? parse_float(text, to_small ? ORTC_FLOAT : ORTC_DOUBLE, &wide[j]) : parse_integer(text, &whole[j]);
      if (!right) s = ERROR(INVALID_ARGUMENT, "element %" PRId64 " is \"%.60s\", which is not a number that %s can hold", i + j, text, dtype_name(c->to));
    }
    if (s) break;
    convert(is_float ? (const void *)wide : whole, converted, n);
    convert_store(c, converted, out, i, n);
  }
  leave_neutral(before);
  return s;
}
