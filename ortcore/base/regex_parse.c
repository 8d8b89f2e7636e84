/* Patterns into trees: a recursive descent over alternatives, branches, repeats and atoms. */
#include <ortcore/base/regex_tree.h>

#include <ortcore/base/utf8.h>
#include <string.h>

enum { MAX_DEPTH = 200, MAX_COUNT = 1000 };

typedef struct parser {
  const char *text;
  size_t bytes, at;
  zone *memory;
  int depth;
  bool fold, multiline, dot_all;
  range *buffer;                                           /* the set that is being read */
  int ranges;
} parser;

status regex_error(const char *pattern, size_t bytes, size_t at, const char *what) {
  return ERROR(INVALID_ARGUMENT, "pattern '%.*s', at byte %zu: %s", (int)(bytes < 200 ? bytes : 200), pattern, at, what);
}

static status fail(const parser *p, const char *what) { return regex_error(p->text, p->bytes, p->at, what); }

static bool peek_is(const parser *p, const char *word) {
  size_t n = strlen(word);
  return p->bytes - p->at >= n && memcmp(p->text + p->at, word, n) == 0;
}

static bool accept(parser *p, const char *word) {
  if (!peek_is(p, word)) return false;
  p->at += strlen(word);
  return true;
}

static uint32_t next_char(parser *p) {
  uint32_t c;
  p->at += utf8_decode(p->text + p->at, p->bytes - p->at, &c);
  return c;
}

static status make(parser *p, node_kind kind, tree *child, tree **out) {
  tree *t = ZONE_NEW(p->memory, tree);
  if (!t) return status_out_of_memory();
  *t = (tree){.kind = kind, .child = child, .last = child};
  *out = t;
  return OK;
}

static void add_child(tree *t, tree *child) {
  if (t->last) t->last->next = child;
  else t->child = child;
  t->last = child;
}

static void set_add(parser *p, uint32_t low, uint32_t high) {
  p->buffer[p->ranges++] = (range){low, high};
  if (!p->fold) return;
  for (uint32_t shift = 'A'; shift <= 'a'; shift += 32) {  /* the letters in it, in the other case */
    uint32_t first = low > shift ? low : shift, last = high < shift + 25 ? high : shift + 25;
    if (first <= last) p->buffer[p->ranges++] = (range){first ^ 32, last ^ 32};
  }
}

/* Everything that is not in the ranges from `from` on. */
static void set_invert(parser *p, int from) {
  uint32_t next = 0;
  int n = p->ranges;
  for (;;) {                                               /* the smallest code point >= next that is outside, and where outside ends */
    bool moved = true;
    while (moved) {
      moved = false;
      for (int i = from; i < n; ++i)
        if (p->buffer[i].low <= next && p->buffer[i].high >= next) next = p->buffer[i].high + 1, moved = true;
    }
    if (next > 0x10ffff) break;
    uint32_t end = 0x10ffff;
    for (int i = from; i < n; ++i)
      if (p->buffer[i].low > next && p->buffer[i].low - 1 < end) end = p->buffer[i].low - 1;
    p->buffer[p->ranges++] = (range){next, end};
    next = end + 1;
  }
  memmove(p->buffer + from, p->buffer + n, (size_t)(p->ranges - n) * sizeof(range));
  p->ranges -= n - from;
}

static status set_finish(parser *p, tree **out) {
  TRY(make(p, NODE_SET, NULL, out));
  (*out)->ranges = p->ranges;
  (*out)->set = zone_copy(p->memory, p->buffer, (size_t)p->ranges * sizeof(range));
  return (*out)->set ? OK : status_out_of_memory();
}

/* A class by letter (d w s, capital: the opposite); false if there is none of that letter. */
static bool add_class(parser *p, char letter) {
  int from = p->ranges;
  switch (letter | 32) {
    case 'd': set_add(p, '0', '9'); break;
    case 'w': set_add(p, '0', '9'), set_add(p, 'A', 'Z'), set_add(p, '_', '_'), set_add(p, 'a', 'z'); break;
    case 's': set_add(p, '\t', '\n'), set_add(p, '\f', '\r'), set_add(p, ' ', ' '); break;
    default: return false;
  }
  if (!(letter & 32)) set_invert(p, from);
  return true;
}

/* [:name:] inside brackets. */
static status add_named_class(parser *p) {
  static const struct { const char *name; range ranges[4]; } classes[] = {
    {"alnum:]", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}}, {"alpha:]", {{'A', 'Z'}, {'a', 'z'}}}, {"ascii:]", {{0, 127}}},
    {"blank:]", {{'\t', '\t'}, {' ', ' '}}}, {"cntrl:]", {{0, 31}, {127, 127}}}, {"digit:]", {{'0', '9'}}}, {"graph:]", {{'!', '~'}}},
    {"lower:]", {{'a', 'z'}}}, {"print:]", {{' ', '~'}}},
    {"punct:]", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}}, {"space:]", {{'\t', '\r'}, {' ', ' '}}}, {"upper:]", {{'A', 'Z'}}},
    {"word:]", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}}, {"xdigit:]", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  bool invert = accept(p, "^");
  int from = p->ranges;
  for (size_t i = 0; i < sizeof classes / sizeof *classes; ++i) {
    if (!accept(p, classes[i].name)) continue;
    for (int r = 0; r < 4 && classes[i].ranges[r].high; ++r) set_add(p, classes[i].ranges[r].low, classes[i].ranges[r].high);
    if (invert) set_invert(p, from);
    return OK;
  }
  return fail(p, "unknown class name; known are [:alpha:], [:digit:], [:alnum:], [:space:] and the others of POSIX");
}

/* The code point of an escape that stands for one character, after the backslash. */
static status parse_escaped(parser *p, uint32_t *out) {
  static const char letters[] = "nrtfva", codes[] = "\n\r\t\f\v\a";
  if (p->at == p->bytes) return fail(p, "the pattern ends with a backslash");
  uint32_t c = next_char(p);
  const char *letter = c < 0x80 ? strchr(letters, (int)c) : NULL;
  if (letter && *letter) {
    *out = (uint8_t)codes[letter - letters];
    return OK;
  }
  if (c == 'x') {
    bool braces = accept(p, "{");
    uint32_t code = 0;
    int digits = 0;
    for (; p->at < p->bytes && digits < (braces ? 6 : 2); ++digits, ++p->at) {
      char d = p->text[p->at];
      int v = d >= '0' && d <= '9' ? d - '0' : (d | 32) >= 'a' && (d | 32) <= 'f' ? (d | 32) - 'a' + 10 : -1;
      if (v < 0) break;
      code = code * 16 + (uint32_t)v;
    }
    if (digits == 0 || (braces && !accept(p, "}")) || code > 0x10ffff)
      return fail(p, "\\x takes two hex digits, or some in braces up to 10FFFF");
    *out = code;
    return OK;
  }
  if (c < 0x80 && ((c | 32) >= 'a' && (c | 32) <= 'z'))
    return fail(p, c == 'p' || c == 'P' ? "Unicode classes \\p are not supported; write the ranges in brackets" : "unknown escape");
  if (c >= '0' && c <= '9') return fail(p, "back references and octal escapes are not supported");
  *out = c;
  return OK;
}

/* [...], after the bracket. */
static status parse_brackets(parser *p, tree **out) {
  bool invert = accept(p, "^");
  p->ranges = 0;
  for (bool first = true; first || !peek_is(p, "]"); first = false) {
    if (p->at == p->bytes) return fail(p, "a bracket [ is not closed");
    if (accept(p, "[:")) {
      TRY(add_named_class(p));
      continue;
    }
    if (peek_is(p, "\\") && p->at + 1 < p->bytes && add_class(p, p->text[p->at + 1])) {
      p->at += 2;
      continue;
    }
    uint32_t low, high;
    if (accept(p, "\\")) TRY(parse_escaped(p, &low));
    else low = next_char(p);
    high = low;
    if (peek_is(p, "-") && !peek_is(p, "-]") && p->at + 1 < p->bytes) {
      ++p->at;
      if (accept(p, "\\")) TRY(parse_escaped(p, &high));
      else high = next_char(p);
    }
    if (high < low) return fail(p, "a range in brackets runs backwards");
    set_add(p, low, high);
  }
  accept(p, "]");
  if (invert) set_invert(p, 0);
  return set_finish(p, out);
}

static status parse_alternatives(parser *p, tree **out);

/* (?flags) and (?flags: ...), after "(?"; *out_group is false for the first form, whose flags hold to the end of the enclosing group. */
static status parse_flags(parser *p, bool *out_group) {
  for (bool on = true; p->at < p->bytes;) {
    char c = p->text[p->at++];
    if (c == ')' || c == ':') {
      *out_group = c == ':';
      return OK;
    }
    if (c == '-') on = false;
    else if (c == 'i') p->fold = on;
    else if (c == 'm') p->multiline = on;
    else if (c == 's') p->dot_all = on;
    else if (c != 'U') break;
  }
  return fail(p, "after (? come flags out of i, m, s, U, a colon, or P<name>; look-around is not supported");
}

/* A group, after its parenthesis. */
static status parse_group(parser *p, tree **out) {
  bool fold = p->fold, multiline = p->multiline, dot_all = p->dot_all, group = true;
  if (accept(p, "?P<") || (peek_is(p, "?<") && !peek_is(p, "?<=") && !peek_is(p, "?<!") && accept(p, "?<"))) {
    while (p->at < p->bytes && p->text[p->at] != '>') ++p->at;
    if (!accept(p, ">")) return fail(p, "a group's name is not closed");
  } else if (accept(p, "?")) {
    TRY(parse_flags(p, &group));
  }
  if (!group) return make(p, NODE_EMPTY, NULL, out);
  if (++p->depth > MAX_DEPTH) return fail(p, "groups are nested too deeply");
  TRY(parse_alternatives(p, out));
  --p->depth;
  if (!accept(p, ")")) return fail(p, "a parenthesis ( is not closed");
  p->fold = fold, p->multiline = multiline, p->dot_all = dot_all;
  return OK;
}

static status make_assert(parser *p, char what, tree **out) {
  TRY(make(p, NODE_ASSERT, NULL, out));
  (*out)->what = what;
  return OK;
}

static status make_char(parser *p, uint32_t c, tree **out) {
  p->ranges = 0;
  set_add(p, c, c);
  return set_finish(p, out);
}

static status parse_atom(parser *p, tree **out) {
  uint32_t c;
  p->ranges = 0;
  if (accept(p, "(")) return parse_group(p, out);
  if (accept(p, "[")) return parse_brackets(p, out);
  if (accept(p, "^")) return make_assert(p, p->multiline ? '[' : '^', out);
  if (accept(p, "$")) return make_assert(p, p->multiline ? ']' : '$', out);
  if (accept(p, "\\A")) return make_assert(p, '^', out);
  if (accept(p, "\\z")) return make_assert(p, '$', out);
  if (accept(p, "\\b")) return make_assert(p, 'b', out);
  if (accept(p, "\\B")) return make_assert(p, 'B', out);
  if (accept(p, ".")) {
    p->buffer[p->ranges++] = (range){0, p->dot_all ? 0x10ffff : '\n' - 1};
    if (!p->dot_all) p->buffer[p->ranges++] = (range){'\n' + 1, 0x10ffff};
    return set_finish(p, out);
  }
  if (accept(p, "\\Q")) {
    TRY(make(p, NODE_CONCAT, NULL, out));
    while (p->at < p->bytes && !accept(p, "\\E")) {
      tree *next;
      TRY(make_char(p, next_char(p), &next));
      add_child(*out, next);
    }
    return OK;
  }
  if (peek_is(p, "*") || peek_is(p, "+") || peek_is(p, "?")) return fail(p, "there is nothing to repeat");
  if (peek_is(p, "\\") && p->at + 1 < p->bytes && add_class(p, p->text[p->at + 1])) {
    p->at += 2;
    return set_finish(p, out);
  }
  if (accept(p, "\\")) TRY(parse_escaped(p, &c));
  else c = next_char(p);
  return make_char(p, c, out);
}

/* {n}, {n,}, {n,m}: false, and nothing read, if it is not one of them (then the brace is an ordinary character). */
static bool parse_counts(parser *p, int *low, int *high) {
  size_t at = p->at + 1, digits = 0;
  int value[2] = {0, -1}, n = 0;
  if (!peek_is(p, "{")) return false;
  for (; at < p->bytes; ++at) {
    char c = p->text[at];
    if (c >= '0' && c <= '9') {
      if (value[n] < 0) value[n] = 0;
      if (value[n] <= MAX_COUNT) value[n] = value[n] * 10 + (c - '0');
      ++digits;
    } else if (c == ',' && n == 0 && digits) {
      n = 1;
    } else break;
  }
  if (at == p->bytes || p->text[at] != '}' || digits == 0) return false;
  p->at = at + 1;
  *low = value[0];
  *high = n ? value[1] : value[0];
  return true;
}

static status parse_repeats(parser *p, tree **out) {
  TRY(parse_atom(p, out));
  for (int nested = 0;; ++nested) {
    int low, high;
    if (accept(p, "*")) low = 0, high = -1;
    else if (accept(p, "+")) low = 1, high = -1;
    else if (accept(p, "?")) low = 0, high = 1;
    else if (!parse_counts(p, &low, &high)) return OK;
    if (low > MAX_COUNT || high > MAX_COUNT || (high >= 0 && high < low))
      return fail(p, "a repeat count is at most 1000, and the second no less than the first");
    if (nested == 8) return fail(p, "too many repeats of repeats");
    accept(p, "?");                                        /* lazy: matches the same texts */
    TRY(make(p, NODE_REPEAT, *out, out));
    (*out)->low = low, (*out)->high = high;
  }
}

static status parse_alternatives(parser *p, tree **out) {
  tree *branch, *next;
  TRY(make(p, NODE_ALTERNATE, NULL, out));
  do {
    TRY(make(p, NODE_CONCAT, NULL, &branch));
    while (p->at < p->bytes && !peek_is(p, "|") && !peek_is(p, ")")) {
      TRY(parse_repeats(p, &next));
      add_child(branch, next);
    }
    add_child(*out, branch);
  } while (accept(p, "|"));
  return OK;
}

status regex_parse(const char *pattern, size_t bytes, zone *memory, tree **out) {
  parser p = {.text = pattern, .bytes = bytes, .memory = memory, .buffer = ZONE_ARRAY(memory, 12 * bytes + 64, range)};
  if (!p.buffer) return status_out_of_memory();
  TRY(parse_alternatives(&p, out));
  return p.at < bytes ? fail(&p, "a parenthesis ) was not opened") : OK;
}
