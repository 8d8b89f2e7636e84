/* A pattern is parsed into a tree, the tree becomes a small program, and matching runs the program's threads side by side
 * (Thompson's method). Repetitions with counts repeat their part of the program, so programs are limited in size. */
#include <ortcore/base/regex_tree.h>

#include <ortcore/base/utf8.h>
#include <string.h>

enum { MAX_INSTRUCTIONS = 20000 };

typedef enum opcode { OP_SET, OP_ASSERT, OP_SPLIT, OP_JUMP, OP_MATCH } opcode;

typedef struct instruction {
  opcode op;
  char what;
  int32_t x, y;                                            /* targets of SPLIT and JUMP; SET: number of ranges in x */
  const range *set;
} instruction;

struct regex { int32_t count; instruction *program; };

/* ---- The program ---- */

typedef struct compiler {
  instruction *program;                                    /* NULL: only count */
  int32_t count;
} compiler;

static bool is_full(const compiler *c) { return c->count > MAX_INSTRUCTIONS; }

static int32_t emit(compiler *c, instruction i) {
  if (is_full(c)) return c->count;
  if (c->program) c->program[c->count] = i;
  return c->count++;
}

/* Points every instruction of a list, linked through y and ended by -1, to the next one emitted. */
static void patch(compiler *c, int32_t list) {
  for (int32_t next; c->program && list >= 0; list = next) {
    next = c->program[list].y;
    if (c->program[list].op == OP_JUMP) c->program[list].x = c->count;
    c->program[list].y = c->count;
  }
}

static void emit_tree(compiler *c, const tree *t);

static void emit_alternatives(compiler *c, const tree *t) {
  int32_t ends = -1;
  for (const tree *branch = t->child; branch; branch = branch->next) {
    if (!branch->next) {
      emit_tree(c, branch);
      break;
    }
    int32_t split = emit(c, (instruction){.op = OP_SPLIT, .x = c->count + 1, .y = -1});
    emit_tree(c, branch);
    ends = emit(c, (instruction){.op = OP_JUMP, .y = ends});
    patch(c, split);
  }
  patch(c, ends);
}

static void emit_repeat(compiler *c, const tree *t) {
  int32_t ends = -1;
  for (int i = 0; i < t->low && !is_full(c); ++i) emit_tree(c, t->child);
  if (t->high < 0) {
    int32_t split = emit(c, (instruction){.op = OP_SPLIT, .x = c->count + 1, .y = -1});
    emit_tree(c, t->child);
    emit(c, (instruction){.op = OP_JUMP, .x = split});
    patch(c, split);
  }
  for (int i = t->low; i < t->high && !is_full(c); ++i) {
    ends = emit(c, (instruction){.op = OP_SPLIT, .x = c->count + 1, .y = ends});
    emit_tree(c, t->child);
  }
  patch(c, ends);
}

static void emit_tree(compiler *c, const tree *t) {
  switch (t->kind) {
    case NODE_EMPTY: break;
    case NODE_SET: emit(c, (instruction){.op = OP_SET, .x = t->ranges, .set = t->set}); break;
    case NODE_ASSERT: emit(c, (instruction){.op = OP_ASSERT, .what = t->what}); break;
    case NODE_CONCAT:
      for (const tree *child = t->child; child && !is_full(c); child = child->next) emit_tree(c, child);
      break;
    case NODE_ALTERNATE: emit_alternatives(c, t); break;
    case NODE_REPEAT: emit_repeat(c, t); break;
  }
}

status regex_compile(const char *pattern, size_t bytes, zone *memory, regex **out) {
  tree *t;
  *out = NULL;
  TRY(regex_parse(pattern, bytes, memory, &t));
  compiler c = {NULL, 0};
  emit_tree(&c, t);
  emit(&c, (instruction){.op = OP_MATCH});
  if (is_full(&c)) return regex_error(pattern, bytes, bytes, "the pattern is too large once its repeats are written out");
  regex *r = ZONE_NEW(memory, regex);
  c = (compiler){ZONE_ARRAY(memory, c.count, instruction), 0};
  if (!r || !c.program) return status_out_of_memory();
  emit_tree(&c, t);
  emit(&c, (instruction){.op = OP_MATCH});
  *r = (regex){c.count, c.program};
  *out = r;
  return OK;
}

/* ---- Matching ---- */

/* A list of threads that wait for the next character, each where in the program and where its match began; earlier beginnings first. */
typedef struct thread { int32_t at; size_t begin; } thread;
typedef struct thread_list { thread *threads; int32_t count; } thread_list;

typedef struct matcher {
  const regex *r;
  const char *text;
  size_t bytes;
  int32_t *mark;                                           /* position (modulo 2^31) at which an instruction was last reached, plus 1 */
  int32_t *stack;
  bool found;
  size_t begin, end;
} matcher;

size_t regex_memory(const regex *r) { return (size_t)r->count * (2 * sizeof(thread) + 3 * sizeof(int32_t)) + 64; }

static bool is_word(uint32_t c) { return (c >= '0' && c <= '9') || c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

static bool holds(const matcher *m, char what, size_t at) {
  bool before = at > 0 && is_word((uint8_t)m->text[at - 1]), after = at < m->bytes && is_word((uint8_t)m->text[at]);
  switch (what) {
    case '^': return at == 0;
    case '$': return at == m->bytes;
    case '[': return at == 0 || m->text[at - 1] == '\n';
    case ']': return at == m->bytes || m->text[at] == '\n';
    case 'b': return before != after;
    default: return before == after;
  }
}

/* Follows jumps and splits from instruction `start`; threads stop at sets, and a match is noted. */
static void add_thread(matcher *m, thread_list *list, int32_t start, size_t begin, size_t at, int32_t stamp) {
  int32_t depth = 0;
  m->stack[depth++] = start;
  while (depth > 0) {
    int32_t i = m->stack[--depth];
    if (m->mark[i] == stamp) continue;
    m->mark[i] = stamp;
    const instruction *in = &m->r->program[i];
    switch (in->op) {
      case OP_SET: list->threads[list->count++] = (thread){i, begin}; break;
      case OP_ASSERT:
        if (holds(m, in->what, at)) m->stack[depth++] = i + 1;
        break;
      case OP_SPLIT:
        m->stack[depth++] = in->y;
        m->stack[depth++] = in->x;
        break;
      case OP_JUMP: m->stack[depth++] = in->x; break;
      case OP_MATCH:
        if (!m->found || begin <= m->begin) m->found = true, m->begin = begin, m->end = at;
        break;
    }
  }
}

static bool in_set(const instruction *in, uint32_t c) {
  for (int32_t i = 0; i < in->x; ++i)
    if (c >= in->set[i].low && c <= in->set[i].high) return true;
  return false;
}

/* Runs from `start`. Anchored: matches begin there only. */
static void run(matcher *m, size_t start, bool anchored, void *memory) {
  int32_t n = m->r->count, stamp = 1;
  thread_list now = {memory, 0}, next = {now.threads + n, 0};
  m->mark = (int32_t *)(next.threads + n);
  m->stack = m->mark + n;
  memset(m->mark, 0, (size_t)n * sizeof *m->mark);
  m->found = false;
  for (size_t at = start;; ++stamp) {
    if (stamp == INT32_MAX) {
      stamp = 1;
      memset(m->mark, 0, (size_t)n * sizeof *m->mark);
      for (int32_t i = 0; i < now.count; ++i) m->mark[now.threads[i].at] = stamp;
    }
    if (!m->found && (!anchored || at == start)) add_thread(m, &now, 0, at, at, stamp);
    if (at >= m->bytes || (now.count == 0 && (anchored || m->found))) return;
    uint32_t c;
    size_t after = at + utf8_decode(m->text + at, m->bytes - at, &c);
    next.count = 0;
    for (int32_t i = 0; i < now.count; ++i) {
      const thread *t = &now.threads[i];
      if (m->found && t->begin > m->begin) break;
      if (in_set(&m->r->program[t->at], c)) add_thread(m, &next, t->at + 1, t->begin, after, stamp + 1);
    }
    thread_list swap = now;
    now = next;
    next = swap;
    at = after;
  }
}

bool regex_full_match(const regex *r, const char *text, size_t bytes, void *memory) {
  matcher m = {.r = r, .text = text, .bytes = bytes};
  run(&m, 0, true, memory);
  return m.found && m.end == bytes;
}

bool regex_search(const regex *r, const char *text, size_t bytes, size_t start, size_t *out_begin, size_t *out_end, void *memory) {
  matcher m = {.r = r, .text = text, .bytes = bytes};
  run(&m, start, false, memory);
  *out_begin = m.begin;
  *out_end = m.end;
  return m.found;
}
