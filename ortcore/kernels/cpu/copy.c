/* A strided copy is reduced to its fewest axes, then walked block by block; the two innermost axes are one call of a block loop, chosen for
 * how elements lie there: whole runs (memcpy), a transposition (tiles in registers), or anything else (element by element). */
#include <ortcore/kernels/cpu/copy.h>

#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_PER_THREAD = 512 << 10 };                     /* less is copied faster than a thread is woken */

#define WIDTH 1
#include <ortcore/kernels/cpu/copy_width.h>
#define WIDTH 2
#include <ortcore/kernels/cpu/copy_width.h>
#define WIDTH 4
#include <ortcore/kernels/cpu/copy_width.h>
#define WIDTH 8
#include <ortcore/kernels/cpu/copy_width.h>
#define WIDTH 16
#include <ortcore/kernels/cpu/copy_width.h>

typedef void (*block_fn)(char *to, const char *from, int64_t n1, int64_t to1, int64_t from1, int64_t n0, int64_t to0, int64_t from0);

/* Rows of n0 adjacent bytes. */
static void copy_rows(char *to, const char *from, int64_t n1, int64_t to1, int64_t from1, int64_t n0, int64_t to0, int64_t from0) {
  (void)to0, (void)from0;
  for (int64_t i = 0; i < n1; ++i) memcpy(to + i * to1, from + i * from1, (size_t)n0);
}

static block_fn elements_for(int64_t width) {
  switch (width) {
    case 1: return copy_elements_w1;
    case 2: return copy_elements_w2;
    case 4: return copy_elements_w4;
    case 8: return copy_elements_w8;
    default: return copy_elements_w16;
  }
}

static block_fn transposed_for(int64_t width) {
  switch (width) {
    case 1: return copy_transposed_w1;
    case 2: return copy_transposed_w2;
    case 4: return copy_transposed_w4;
    case 8: return copy_transposed_w8;
    default: return copy_elements_w16;
  }
}

typedef struct axis { int64_t n, to, from; } axis;         /* strides in bytes from plan_make on */

typedef struct plan {
  block_fn block;
  char *to;
  const char *from;
  int outer;                                               /* axes around the block */
  axis axes[COPY_MAX_RANK + 2];
  axis rows, columns;                                      /* the block */
  int64_t group;                                           /* rows that stay together when the work is divided */
} plan;

/* Drops axes of one element, brings the others into the order of `to`'s memory and merges neighbours that are one run on both sides; returns
 * how many are left. */
static int coalesce(const strided_copy *c, axis *axes) {
  int rank = 0, merged = 0;
  for (int i = 0; i < c->rank; ++i) {
    axis a = {c->dims[i], c->to_strides[i], c->from_strides[i]};
    if (a.n == 1) continue;
    int at = rank++;
    for (; at > 0 && llabs(axes[at - 1].to) < llabs(a.to); --at) axes[at] = axes[at - 1];
    axes[at] = a;
  }
  for (int i = 0; i < rank; ++i) {
    axis a = axes[i], *last = merged ? &axes[merged - 1] : NULL;
    if (last && last->to == a.to * a.n && last->from == a.from * a.n) *last = (axis){last->n * a.n, a.to, a.from};
    else axes[merged++] = a;
  }
  return merged;
}

/* Takes axis i out of the list. */
static axis axes_take(axis *axes, int *rank, int i) {
  axis taken = axes[i];
  memmove(axes + i, axes + i + 1, (size_t)(--*rank - i) * sizeof *axes);
  return taken;
}

static bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

static void plan_make(plan *p, const strided_copy *c, int rank) {
  int64_t width = c->bits / 8;
  for (int i = 0; i < rank; ++i) p->axes[i].to *= width, p->axes[i].from *= width;
  p->to = (char *)c->to + c->to_offset * width;
  p->from = (const char *)c->from + c->from_offset * width;
  p->group = 1;
  p->rows = p->columns = (axis){1, 0, 0};
  int64_t run = width;                                     /* bytes that are adjacent on both sides */
  if (rank && p->axes[rank - 1].to == width && p->axes[rank - 1].from == width) run = width * axes_take(p->axes, &rank, rank - 1).n;
  if (run > 16 || !is_power_of_two(run)) {
    p->block = copy_rows;
    p->columns.n = run;
    if (rank) p->rows = axes_take(p->axes, &rank, rank - 1);
  } else {                                                 /* a short run is one wide element */
    p->block = elements_for(run);
    if (rank) p->columns = axes_take(p->axes, &rank, rank - 1);
    int row = rank - 1;
    for (int i = 0; i < rank; ++i)
      if (p->axes[i].from == run && p->columns.to == run) row = i;
    if (row >= 0) p->rows = axes_take(p->axes, &rank, row);
    if (p->rows.from == run && p->columns.to == run && p->rows.n > 4 && p->columns.n > 4) {
      p->block = transposed_for(run);
      p->group = 64 / run;
    } else if (p->rows.n <= 4 && p->columns.n > p->rows.n) {
      axis swap = p->rows;                                 /* rows are what is divided among threads: let them be the longer axis */
      p->rows = p->columns;
      p->columns = swap;
    }
  }
  p->outer = rank;
}

/* Units [begin, end) of work: a unit is one group of rows of one block. */
static void plan_run(void *context, int64_t begin, int64_t end) {
  const plan *p = context;
  int64_t groups = (p->rows.n + p->group - 1) / p->group, index[COPY_MAX_RANK], rest = begin / groups;
  char *to = p->to;
  const char *from = p->from;
  for (int i = p->outer - 1; i >= 0; --i) {
    index[i] = rest % p->axes[i].n;
    rest /= p->axes[i].n;
    to += index[i] * p->axes[i].to;
    from += index[i] * p->axes[i].from;
  }
  for (int64_t first = begin % groups; begin < end; first = 0) {
    int64_t last = first + (end - begin) < groups ? first + (end - begin) : groups;
    int64_t row = first * p->group, row_end = last * p->group < p->rows.n ? last * p->group : p->rows.n;
    p->block(to + row * p->rows.to, from + row * p->rows.from, row_end - row, p->rows.to, p->rows.from, p->columns.n, p->columns.to,
             p->columns.from);
    begin += last - first;
    for (int i = p->outer - 1; i >= 0; --i) {
      to += p->axes[i].to;
      from += p->axes[i].from;
      if (++index[i] < p->axes[i].n) break;
      to -= p->axes[i].n * p->axes[i].to;
      from -= p->axes[i].n * p->axes[i].from;
      index[i] = 0;
    }
  }
}

/* Packed types: element by element, on one thread, because neighbours share bytes. */
static void copy_packed(const strided_copy *c, int rank, const axis *axes) {
  int64_t index[COPY_MAX_RANK] = {0}, to = c->to_offset, from = c->from_offset;
  for (;;) {
    packed_put(c->to, to, c->bits, packed_get(c->from, from, c->bits));
    int i = rank - 1;
    for (; i >= 0; --i) {
      to += axes[i].to;
      from += axes[i].from;
      if (++index[i] < axes[i].n) break;
      to -= axes[i].n * axes[i].to;
      from -= axes[i].n * axes[i].from;
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

void copy_strided(int threads, const strided_copy *c) {
  int64_t count = 1;
  for (int i = 0; i < c->rank; ++i) count *= c->dims[i];
  if (count == 0) return;
  plan p;
  int rank = coalesce(c, p.axes);
  if (c->bits < 8) {
    copy_packed(c, rank, p.axes);
    return;
  }
  int64_t bytes = count * (c->bits / 8);
  plan_make(&p, c, rank);
  if (p.block == copy_rows && p.outer == 0 && p.rows.n == 1) {
    copy_bytes(threads, p.to, p.from, (size_t)bytes);
    return;
  }
  int64_t units = (p.rows.n + p.group - 1) / p.group;
  for (int i = 0; i < p.outer; ++i) units *= p.axes[i].n;
  int64_t unit_bytes = bytes / units;
  if (bytes < 2 * BYTES_PER_THREAD) plan_run(&p, 0, units);
  else parallel_for(threads, units, BYTES_PER_THREAD / (unit_bytes + 1) + 1, plan_run, &p);
}

typedef struct span { char *to; const char *from; } span;

static void span_run(void *context, int64_t begin, int64_t end) {
  const span *s = context;
  memcpy(s->to + begin, s->from + begin, (size_t)(end - begin));
}

void copy_bytes(int threads, void *to, const void *from, size_t bytes) {
  if (bytes == 0) return;
  if (bytes < 2 * BYTES_PER_THREAD) memcpy(to, from, bytes);
  else parallel_for(threads, (int64_t)bytes, BYTES_PER_THREAD, span_run, &(span){to, from});
}

int64_t dense_strides(int rank, const int64_t *dims, int64_t *strides) {
  int64_t n = 1;
  for (int i = rank - 1; i >= 0; --i) {
    strides[i] = n;
    n *= dims[i];
  }
  return n;
}
