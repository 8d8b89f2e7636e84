#include <ortcore/kernels/cpu/broadcast.h>

#include <ortcore/base/threads.h>
#include <stdio.h>
#include <string.h>

enum {
  BLOCK_BYTES = 4096,                                      /* of an operand are prepared at a time */
  LONG_ROW = 64,                                           /* from here on a row is worth a kernel call of its own */
  OPERANDS = 3,
};

/* ---- Shapes ------------------------------------------------------------------------------------------------------------------- */

static status shapes_error(int count, const tensor *const *in) {
  char text[512], dims[DIMS_TEXT];
  size_t used = 0;
  for (int i = 0; i < count && used < sizeof text; ++i)
    if (in[i]) used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", dims_format(dims, sizeof dims, in[i]->rank, in[i]->dims));
  return ERROR(INVALID_ARGUMENT, "the shapes %s do not broadcast: counted from the last, dims must be equal or 1", text);
}

status broadcast_dims(int count, const tensor *const *in, int *out_rank, int64_t *dims) {
  int rank = 0;
  for (int i = 0; i < count; ++i)
    if (in[i] && in[i]->rank > rank) rank = in[i]->rank;
  for (int d = 0; d < rank; ++d) dims[d] = 1;
  for (int i = 0; i < count; ++i) {
    for (int d = 0; in[i] && d < in[i]->rank; ++d) {
      int64_t n = in[i]->dims[d], *to = &dims[rank - in[i]->rank + d];
      if (n == *to || n == 1) continue;
      if (*to != 1) return shapes_error(count, in);
      *to = n;
    }
  }
  *out_rank = rank;
  return OK;
}

void broadcast_shape(broadcast *b, int rank, const int64_t *dims) {
  b->rank = rank;
  memcpy(b->dims, dims, (size_t)rank * sizeof *dims);
}

void broadcast_operand(broadcast *b, int i, const tensor *t, convert_fn load) {
  operand *o = &b->in[i];
  *o = (operand){.data = t->data, .width = tensor_width(t), .load = load};
  int64_t stride = 1;
  for (int d = t->rank - 1; d >= 0; --d) {
    o->strides[b->rank - t->rank + d] = t->dims[d] == 1 ? 0 : stride;
    stride *= t->dims[d];
  }
}

/* Drops dims of 1 and merges neighbours that every operand walks in one stride. */
static void coalesce(broadcast *b) {
  int rank = 0;
  for (int d = 0; d < b->rank; ++d) {
    if (b->dims[d] == 1) continue;
    bool merges = rank > 0;
    for (int i = 0; i < b->count && merges; ++i) merges = b->in[i].strides[rank - 1] == b->in[i].strides[d] * b->dims[d];
    int to = merges ? rank - 1 : rank++;
    b->dims[to] = merges ? b->dims[to] * b->dims[d] : b->dims[d];
    for (int i = 0; i < b->count; ++i) b->in[i].strides[to] = b->in[i].strides[d];
  }
  b->rank = rank;
}

/* ---- Operands, a piece at a time ----------------------------------------------------------------------------------------------- */

static bool is_dense(const broadcast *b, const operand *o) { return b->rank == 0 || (b->rank == 1 && o->strides[0] == 1); }

/* Like is_dense, but in spite of other operands that kept dims apart. */
static bool follows_result(const broadcast *b, const operand *o) {
  int64_t stride = 1;
  for (int d = b->rank - 1; d >= 0; --d) {
    if (o->strides[d] != stride) return false;
    stride *= b->dims[d];
  }
  return true;
}

static bool is_scalar(const broadcast *b, const operand *o) {
  for (int d = 0; d < b->rank; ++d)
    if (o->strides[d]) return false;
  return true;
}

#define FILL(type) \
  do { \
    type value, *to = (type *)out; \
    memcpy(&value, from, sizeof value); \
    for (int64_t i = 0; i < n; ++i) memcpy(to + i, &value, sizeof value); \
  } while (0)

/* n copies of one element. */
static void fill(char *out, const char *from, int width, int64_t n) {
  typedef struct wide { uint64_t low, high; } wide;
  switch (width) {
    case 1: memset(out, *from, (size_t)n); break;
    case 2: FILL(uint16_t); break;
    case 4: FILL(uint32_t); break;
    case 8: FILL(uint64_t); break;
    default: FILL(wide);
  }
}

static void copy_run(char *out, const char *from, int width, int64_t stride, int64_t n) {
  if (stride == 1) memcpy(out, from, (size_t)(n * width));
  else if (stride == 0) fill(out, from, width, n);
  else for (int64_t i = 0; i < n; ++i) memcpy(out + i * width, from + i * stride * width, (size_t)width);
}

/* Elements [begin, begin + n) in the result's order, side by side. */
static void gather(const broadcast *b, const operand *o, int64_t begin, int64_t n, char *out) {
  int64_t index[MAX_RANK], offset = 0, rest = begin;
  int last = b->rank - 1;
  for (int d = last; d >= 0; --d) {
    index[d] = rest % b->dims[d];
    rest /= b->dims[d];
    offset += index[d] * o->strides[d];
  }
  while (n > 0) {
    int64_t run = b->dims[last] - index[last] < n ? b->dims[last] - index[last] : n;
    copy_run(out, o->data + offset * o->width, o->width, o->strides[last], run);
    out += run * o->width;
    n -= run;
    offset += run * o->strides[last];
    index[last] += run;
    for (int d = last; d > 0 && index[d] == b->dims[d]; --d) {
      offset += o->strides[d - 1] - index[d] * o->strides[d];
      index[d] = 0;
      ++index[d - 1];
    }
  }
}

/* Element `index` of the result's order, in the operand's memory. */
static const char *element_at(const broadcast *b, const operand *o, int64_t index) {
  int64_t offset = 0;
  for (int d = b->rank - 1; d >= 0; --d) {
    offset += index % b->dims[d] * o->strides[d];
    index /= b->dims[d];
  }
  return o->data + offset * o->width;
}

/* Where elements [begin, begin + n) lie side by side, as the kernel wants them: in place, or made in `block`. */
static const void *fetch(const broadcast *b, const operand *o, int64_t begin, int64_t n, char *block, char *raw) {
  const char *from;
  if (follows_result(b, o)) {
    from = o->data + begin * o->width;
  } else if (n == 1 || (b->rank > 1 && o->strides[b->rank - 1] == 1 && begin % b->dims[b->rank - 1] + n <= b->dims[b->rank - 1])) {
    from = element_at(b, o, begin);
  } else {
    char *to = o->load ? raw : block;
    gather(b, o, begin, n, to);
    from = to;
  }
  if (!o->load) return from;
  o->load(from, block, n);
  return block;
}

/* ---- The run ------------------------------------------------------------------------------------------------------------------- */

typedef struct work {
  const broadcast *b;
  int64_t row;                                             /* pieces end where rows of so many elements do; 0: rows do not matter */
  int64_t piece;                                           /* most elements at a time */
  unsigned repeated;                                       /* operands of which a piece sees one element, and the kernel takes it like that */
} work;

/* Operand i is one element all through a piece. */
static bool is_repeated(const broadcast *b, int64_t row, int i) {
  return row ? b->in[i].strides[b->rank - 1] == 0 : b->rank > 0 && is_scalar(b, &b->in[i]);
}

static bool accepts(const broadcast *b, unsigned repeated) { return repeated == 0 || (repeated < 32 && (b->kernel->accepts >> repeated & 1)); }

static unsigned repeated_operands(const broadcast *b, int64_t row) {
  unsigned repeated = 0;
  for (int i = 0; i < b->count && !b->fold; ++i) repeated |= (unsigned)is_repeated(b, row, i) << i;
  return accepts(b, repeated) ? repeated : 0;
}

/* Every operand is read where it lies: pieces need not fit into blocks. */
static bool reads_in_place(const work *w) {
  const broadcast *b = w->b;
  if (b->store) return false;
  for (int i = 0; i < b->count; ++i) {
    const operand *o = &b->in[i];
    if (!b->fold && w->repeated >> i & 1) continue;
    if (b->fold && is_repeated(b, w->row, i) && accepts(b, 2) && i > 0) continue;
    if (o->load || (!follows_result(b, o) && !(w->row && o->strides[b->rank - 1] == 1))) return false;
  }
  return true;
}

/* Elements of the widest type on the way that fit into a block. */
static int64_t block_elements(const broadcast *b) {
  int width = b->compute_width;
  for (int i = 0; i < b->count; ++i)
    if (b->in[i].width > width) width = b->in[i].width;
  return BLOCK_BYTES / width;
}

typedef struct blocks {
  _Alignas(64) char in[OPERANDS][BLOCK_BYTES], raw[BLOCK_BYTES], out[BLOCK_BYTES];
} blocks;

/* fn over two operands, then over the result and the third, and so on. */
static void fold_piece(const work *w, int64_t begin, int64_t n, blocks *s, void *out) {
  const broadcast *b = w->b;
  const void *x[2] = {fetch(b, &b->in[0], begin, n, s->in[0], s->raw), NULL};
  if (b->count == 1 && out != x[0]) memcpy(out, x[0], (size_t)(n * b->compute_width));
  for (int i = 1; i < b->count; ++i) {
    bool one = is_repeated(b, w->row, i) && accepts(b, 2);
    x[1] = fetch(b, &b->in[i], begin, one ? 1 : n, s->in[1], s->raw);
    b->kernel->fn(out, x, n, one ? 2 : 0, b->params);
    x[0] = out;
  }
}

static void run_pieces(void *context, int64_t begin, int64_t end) {
  const work *w = context;
  const broadcast *b = w->b;
  blocks s;
  const void *x[OPERANDS];
  bool fixed[OPERANDS] = {false};                          /* one element for all: made once */
  for (int i = 0; i < b->count && !b->fold; ++i) {
    if (!is_scalar(b, &b->in[i]) || is_dense(b, &b->in[i])) continue;
    fixed[i] = true;
    x[i] = fetch(b, &b->in[i], 0, w->repeated >> i & 1 ? 1 : end - begin < w->piece ? end - begin : w->piece, s.in[i], s.raw);
  }
  while (begin < end) {
    int64_t n = end - begin < w->piece ? end - begin : w->piece;
    if (w->row && n > w->row - begin % w->row) n = w->row - begin % w->row;
    char *place = b->out + begin * b->out_width, *out = b->store ? s.out : place;
    if (b->fold) {
      fold_piece(w, begin, n, &s, out);
    } else {
      for (int i = 0; i < b->count; ++i)
        if (!fixed[i]) x[i] = fetch(b, &b->in[i], begin, w->repeated >> i & 1 ? 1 : n, s.in[i], s.raw);
      b->kernel->fn(out, x, n, w->repeated, b->params);
    }
    if (b->finish) b->finish(out, (const void *[]){out}, n, 0, b->finish_params);
    if (b->store) b->store(out, place, n);
    begin += n;
  }
}

void broadcast_run(int threads, broadcast *b) {
  coalesce(b);
  int64_t total = dims_product(b->dims, 0, b->rank);
  if (total == 0) return;
  work w = {.b = b};
  if (b->rank > 1 && b->dims[b->rank - 1] >= LONG_ROW) w.row = b->dims[b->rank - 1];
  w.repeated = repeated_operands(b, w.row);
  w.piece = reads_in_place(&w) ? total : block_elements(b);
  if (total <= b->kernel->grain) run_pieces(&w, 0, total);
  else parallel_for(threads, total, b->kernel->grain, run_pieces, &w);
}
