/* Kernels that move elements, by their width alone, for C. Each call enqueues one launch and returns a cudaError_t. All offsets, strides and
 * blocks count elements. Indices are int32 or int64 in device memory; negative ones count from the end. What is then still out of range is a
 * fault (fault.h), and taken as the nearest index that is valid. */
#ifndef ORTCORE_KERNELS_CUDA_MOVEMENT_H
#define ORTCORE_KERNELS_CUDA_MOVEMENT_H

#include <ortcore/kernels/cuda/fault.h>
#include <ortcore/base/dtype.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_MOVE_RANK = 32, CUDA_MOVE_PARTS = 64 };        /* Tile sees each of 16 axes as two */

/* `count` elements of `width` bytes (1, 2, 4, 8 or 16). `value` is the element that a map may name instead of one of `from`. */
typedef struct cuda_move {
  void *to;
  const void *from;
  int64_t count;
  int32_t width;
  uint8_t value[16];
} cuda_move;

/* to[to_offset + i . to_strides] = from[from_offset + i . from_strides] */
typedef struct cuda_strided {
  int32_t rank;
  int64_t to_offset, from_offset;
  int64_t dims[CUDA_MOVE_RANK], to_strides[CUDA_MOVE_RANK], from_strides[CUDA_MOVE_RANK];
} cuda_strided;
int cuda_copy_strided(void *to, const void *from, int width, const cuda_strided *how, void *stream);

/* Matrices of `rows` rows that lie side by side in a wide one (Concat, Split): part i has columns[i] columns. */
typedef struct cuda_parts {
  int32_t count, width;
  bool join;                                               /* the parts are read and the wide matrix is written; else the other way */
  int64_t rows;
  void *wide;
  int64_t stride, first;                                   /* of the wide matrix: its columns, and the one where part 0 begins */
  void *parts[CUDA_MOVE_PARTS];
  int64_t columns[CUDA_MOVE_PARTS];
} cuda_parts;
int cuda_move_parts(const cuda_parts *p, void *stream);

int cuda_fill(const cuda_move *m, void *stream);           /* `value` everywhere */

typedef struct cuda_indices {
  const void *data;
  bool wide;                                               /* int64, else int32 */
  cuda_fault_place fault;
} cuda_indices;

/* to[o, i, b] = from[o, index[i], b] */
typedef struct cuda_gather { cuda_indices indices; int64_t n, count, block; } cuda_gather;
int cuda_gather_blocks(const cuda_move *m, const cuda_gather *g, void *stream);

/* Element j = (j0, j1, ...) of dims meets that of the other tensor with j[axis] replaced by index[j]. */
typedef struct cuda_by_index {
  cuda_indices indices;
  int32_t rank, axis;
  int64_t n, dims[CUDA_MOVE_RANK], strides[CUDA_MOVE_RANK];   /* dims of the indices, strides of the indexed tensor */
} cuda_by_index;
int cuda_gather_elements(const cuda_move *m, const cuda_by_index *g, void *stream);

/* Tuple t of `coordinates` indices names a block; tuples are in batches of per_batch. */
typedef struct cuda_nd {
  cuda_indices indices;
  int32_t coordinates;
  int64_t per_batch, batch_stride, block, dims[CUDA_MOVE_RANK], strides[CUDA_MOVE_RANK];
} cuda_nd;
int cuda_gather_nd(const cuda_move *m, const cuda_nd *g, void *stream);

/* Updates m->from go to the places in m->to that indices name; m->count is the number of updates. `how` is a `combine`; `type` matters
 * unless it is 0 (replace). Places may repeat: the sum is then in any order, and of replacements one stays. */
int cuda_scatter_elements(const cuda_move *m, const cuda_by_index *s, int how, dtype type, void *stream);
int cuda_scatter_nd(const cuda_move *m, const cuda_nd *s, int how, dtype type, void *stream);

/* Axis d of the result, see pad_axis; mode is a pad_mode. */
typedef struct cuda_pad {
  int32_t mode, rank;
  int64_t before[CUDA_MOVE_RANK], first[CUDA_MOVE_RANK], n[CUDA_MOVE_RANK], out[CUDA_MOVE_RANK], strides[CUDA_MOVE_RANK];
} cuda_pad;
int cuda_move_padded(const cuda_move *m, const cuda_pad *p, void *stream);

typedef struct cuda_triangle { bool upper; int64_t rows, columns, diagonal; } cuda_triangle;
int cuda_move_triangle(const cuda_move *m, const cuda_triangle *t, void *stream);   /* the rest is `value` */

/* [time, batch, block] or [batch, time, block], each sample reversed up to its length. */
typedef struct cuda_reverse { cuda_indices lengths; bool batch_first; int64_t steps, samples, block; } cuda_reverse;
int cuda_move_reversed(const cuda_move *m, const cuda_reverse *r, void *stream);

/* m->from is [off, on]; element (o, d, i) is on where indices[o, i] is d. */
typedef struct cuda_onehot { const void *indices; dtype type; int64_t depth, inner; } cuda_onehot;
int cuda_move_onehot(const cuda_move *m, const cuda_onehot *o, void *stream);

/* ---- Made of nothing ---- */

/* Element i is start + i * delta: integers in 64 bits, which wrap; floats in double. */
typedef struct cuda_range { void *to; dtype type; int64_t count, start, delta; double float_start, float_delta; } cuda_range;
int cuda_make_range(const cuda_range *r, void *stream);
/* Ones where column - row is `shift`, else zeros. */
int cuda_make_eye(void *to, dtype type, int64_t rows, int64_t columns, int64_t shift, void *stream);

#ifdef __cplusplus
}
#endif
#endif
