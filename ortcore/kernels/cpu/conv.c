#include "conv.h"
#include "gemm_i8.h"

#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>
#include <ortcore/base/threads.h>
#include <string.h>

#define PACK "conv_pack.h"
#include "gemm_types.h"

/* ---- Bytes ---------------------------------------------------------------------------------------------------------- */

/* One inner index (channel and tap) for `count` positions: a byte each, `step` bytes apart in the panel. Padding is the zero point. */
static void bytes_taps(const conv_image *m, const uint8_t *plane, int64_t tap, int64_t position, int64_t count, uint8_t flip, uint8_t *out,
                       uint8_t *row) {
  const window *w = m->w;
  int64_t kw = tap % w->kernel[2], kh = tap / w->kernel[2] % w->kernel[1], kd = tap / (w->kernel[2] * w->kernel[1]), step = m->strides.spatial[2];
  for (int64_t j = 0, p = position; j < count;) {
    int64_t ow = p % w->out[2], oh = p / w->out[2] % w->out[1], od = p / (w->out[2] * w->out[1]);
    int64_t length = w->out[2] - ow < count - j ? w->out[2] - ow : count - j;
    int64_t ih = m->tables[1][kh * w->out[1] + oh], id = m->tables[0][kd * w->out[0] + od];
    const int32_t *columns = m->tables[2] + kw * w->out[2] + ow;
    const uint8_t *line = plane + id * m->strides.spatial[0] + ih * m->strides.spatial[1];
    if (ih < 0 || id < 0) memset(row + j, m->zero_point, (size_t)length);
    else if (m->unit_step && columns[0] >= 0 && columns[length - 1] >= 0) memcpy(row + j, line + columns[0], (size_t)length);
    else for (int64_t i = 0; i < length; ++i) row[j + i] = columns[i] < 0 ? (uint8_t)m->zero_point : line[columns[i] * step];
    j += length, p += length;
  }
  for (int64_t j = 0; j < count; ++j) out[j * GEMM_I8_QUAD] = row[j] ^ flip;
}

static void bytes_pack(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int64_t inner, int64_t inners, bool left, int width,
                       uint8_t *out, int32_t *sums) {
  const conv_image *m = (const conv_image *)s;
  const uint8_t *image = (const uint8_t *)m->data + batch / m->groups * m->strides.batch + batch % m->groups * m->channels * m->strides.channel;
  uint8_t flip = s->is_signed == left ? 0x80 : 0, row[GEMM_I8_NR];
  int64_t taps = window_taps(m->w), quads = (inners + GEMM_I8_QUAD - 1) / GEMM_I8_QUAD;
  for (int64_t o = 0; o < outers; o += width) {
    uint8_t *panel = out + o * quads * GEMM_I8_QUAD;
    int64_t count = outers - o < width ? outers - o : width;
    for (int64_t i = 0; i < inners; ++i) {
      int64_t channel = (inner + i) / taps;
      uint8_t *to = panel + i / GEMM_I8_QUAD * width * GEMM_I8_QUAD + i % GEMM_I8_QUAD;
      bytes_taps(m, image + channel * m->strides.channel, (inner + i) % taps, outer + o, count, flip, to, row);
    }
    for (int64_t q = 0; q < quads; ++q)
      for (int64_t j = 0; j < count; ++j) {
        const uint8_t *four = panel + (q * width + j) * GEMM_I8_QUAD;
        for (int b = 0; b < GEMM_I8_QUAD; ++b) sums[o + j] += left ? four[b] : (int8_t)four[b];
      }
  }
}

static void bytes_zeros(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int32_t *out) {
  (void)batch, (void)outer;
  for (int64_t o = 0; o < outers; ++o) out[o] = ((const conv_image *)s)->zero_point;
}

bool conv_image_init(conv_image *image, dtype type) {
  *image = (conv_image){.side = {.pack_bytes = bytes_pack, .zeros = bytes_zeros, .is_signed = type == ORTC_INT8}, .groups = 1};
  switch (type) {
    case ORTC_FLOAT: image->side.pack = f32_pack; break;
    case ORTC_FLOAT16: image->side.pack = f16_pack; break;
    case ORTC_BFLOAT16: image->side.pack = bf16_pack; break;
    case ORTC_DOUBLE: image->side.pack = f64_pack; break;
    case ORTC_UINT8: image->side.pack = u8_pack; break;
    case ORTC_INT8: image->side.pack = i8_pack; break;
    default: return false;
  }
  return true;
}

/* ---- One channel a group ------------------------------------------------------------------------------------------ */

enum { ROW_CHUNK = 512 };

typedef struct depthwise_work {
  const conv_image *image;
  int64_t outs_per_group;
  const float *weights;
  const gemm_sink *sink;
} depthwise_work;

/* sum[j] += weight * (input under tap kw of output column ow + j). */
static inline void add_tap(const conv_image *m, const float *row, float weight, int64_t kw, int64_t ow, int64_t count, float *restrict sum) {
  const int32_t *columns = m->tables[2] + kw * m->w->out[2] + ow;
  int64_t begin = 0, end = count, step = m->strides.spatial[2];
  while (begin < end && columns[begin] < 0) ++begin;
  while (end > begin && columns[end - 1] < 0) --end;
  if (begin == end) return;
  const float *from = row + columns[begin] * step;
  int64_t stride = m->w->stride[2] * step;
  if (stride == 1) for (int64_t j = begin; j < end; ++j) sum[j] += weight * from[j - begin];
  else for (int64_t j = begin; j < end; ++j) sum[j] += weight * from[(j - begin) * stride];
}

/* One output row of one channel. */
MULTIVERSION
static void depthwise_row(const conv_image *m, const float *plane, const float *weights, int64_t od, int64_t oh, int64_t ow, int64_t count,
                          float *sum) {
  const window *w = m->w;
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t tap = 0; tap < window_taps(w); ++tap) {
    int64_t kw = tap % w->kernel[2], kh = tap / w->kernel[2] % w->kernel[1], kd = tap / (w->kernel[2] * w->kernel[1]);
    int64_t ih = m->tables[1][kh * w->out[1] + oh], id = m->tables[0][kd * w->out[0] + od];
    if (ih >= 0 && id >= 0) add_tap(m, plane + id * m->strides.spatial[0] + ih * m->strides.spatial[1], weights[tap], kw, ow, count, sum);
  }
}

static void depthwise_range(void *context, int64_t begin, int64_t end) {
  const depthwise_work *k = context;
  const conv_image *m = k->image;
  const window *w = m->w;
  float sum[ROW_CHUNK];
  for (int64_t i = begin; i < end; ++i) {
    int64_t row = i % k->outs_per_group, batch = i / k->outs_per_group, group = batch % m->groups;
    const float *plane = (const float *)m->data + batch / m->groups * m->strides.batch + group * m->strides.channel;
    const float *weights = k->weights + (group * k->outs_per_group + row) * window_taps(w);
    for (int64_t line = 0; line < w->out[0] * w->out[1]; ++line)
      for (int64_t ow = 0; ow < w->out[2]; ow += ROW_CHUNK) {
        int64_t count = w->out[2] - ow < ROW_CHUNK ? w->out[2] - ow : ROW_CHUNK;
        depthwise_row(m, plane, weights, line / w->out[1], line % w->out[1], ow, count, sum);
        k->sink->store(k->sink, batch, row, line * w->out[2] + ow, count, sum);
      }
  }
}

void conv_depthwise_f32(const conv_image *image, int64_t images, int64_t outs_per_group, const float *weights, const gemm_sink *sink, int threads) {
  depthwise_work work = {image, outs_per_group, weights, sink};
  int64_t grain = 1 + 20000 / (1 + window_out(image->w) * window_taps(image->w));
  parallel_for(threads, images * image->groups * outs_per_group, grain, depthwise_range, &work);
}

void conv_transposed_weights(const void *in, void *out, int width, int64_t groups, int64_t ins, int64_t outs, int64_t taps) {
  size_t bytes = (size_t)taps * (size_t)width;
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t o = 0; o < outs; ++o)
      for (int64_t i = 0; i < ins; ++i)
        memcpy((char *)out + (size_t)((g * outs + o) * ins + i) * bytes, (const char *)in + (size_t)((g * ins + i) * outs + o) * bytes, bytes);
}
