/* One code point at a time. Bytes that are not UTF-8 decode to U+FFFD, one byte each. */
#ifndef ORTCORE_BASE_UTF8_H
#define ORTCORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UTF8_INVALID 0xfffdu

/* Decodes at text[0..bytes), bytes > 0; returns how many bytes it took. */
static inline size_t utf8_decode(const char *text, size_t bytes, uint32_t *out) {
  const uint8_t *s = (const uint8_t *)text;
  uint32_t c = s[0];
  size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  *out = n == 1 ? c : UTF8_INVALID;
  if (n <= 1 || n > bytes) return 1;
  c &= 0x7fu >> n;
  for (size_t i = 1; i < n; ++i) {
    if ((s[i] & 0xc0) != 0x80) return 1;
    c = c << 6 | (s[i] & 0x3f);
  }
  if ((n == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) || (n == 4 && (c < 0x10000 || c > 0x10ffff))) return 1;
  *out = c;
  return n;
}

/* All of a text that ends with a 0 byte is UTF-8. */
static inline bool utf8_is_valid(const char *text) {
  for (size_t left = strlen(text), n; left; text += n, left -= n) {
    uint32_t c;
    n = utf8_decode(text, left, &c);
    if (c == UTF8_INVALID && n == 1) return false;
  }
  return true;
}

/* Writes 1 to 4 bytes and returns how many. */
static inline size_t utf8_encode(uint32_t c, char *out) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = n - 1; i > 0; --i, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
  out[0] = (char)((0xf00u >> n & 0xff) | c);
  return n;
}

#endif
