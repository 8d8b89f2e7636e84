/* Where elements come from and go to in images. GridSample: a thread for each place of the grid makes its taps along every axis once, and then walks through the channels. Places and
 * weights are doubles, as on the CPU. RoiAlign: a thread for each cell of each region and channel. */
#include <type_traits>

#include "common.cuh"
#include "sample.h"

using namespace ortcore;

namespace {

/* ---- GridSample ---- */

/* Back and forth between low and high. */
ON_GPU double reflect(double x, double low, double high) {
  double range = high - low;
  if (!(range > 0)) return low;
  double far = fmod(fabs(x - low), 2 * range);
  return low + (far > range ? 2 * range - far : far);
}

/* Element i of an axis as one that exists; -1: a zero. */
ON_GPU int tap_index(const sample_params &p, double i, int n) {
  double low = p.align_corners ? 0 : -0.5, high = p.align_corners ? n - 1.0 : n - 0.5;
  if (i >= 0 && i <= n - 1.0) return static_cast<int>(i);
  if (p.padding == PADDING_ZEROS) return -1;
  if (p.padding == PADDING_REFLECTION) i = trunc(reflect(i, low, high));
  return i > 0 ? (i < n - 1.0 ? static_cast<int>(i) : n - 1) : 0;
}

/* The cubic kernel with a = -0.75 at distance d >= 0. */
ON_GPU double cubic(double d) {
  const double a = -0.75;
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/* The taps of one axis; those that read a zero have the weight 0. */
template <int TAPS, class A> struct axis_taps { int index[TAPS]; A weight[TAPS]; };

/* For a normalised coordinate: -1 and 1 are the ends of the axis, or the centres of its end elements (align_corners). */
template <int TAPS, class A> ON_GPU axis_taps<TAPS, A> taps_of(const sample_params &p, double at, int n) {
  axis_taps<TAPS, A> t;
  double x = p.align_corners ? (at + 1) / 2 * (n - 1.0) : ((at + 1) * n - 1) / 2;
  double low = p.align_corners ? 0 : -0.5, high = p.align_corners ? n - 1.0 : n - 0.5;
  bool nowhere = !isfinite(x);
  if (TAPS == 1) x = rint(x);
  if (nowhere) {
    x = 0;
  } else if (!(x >= low && x <= high) && TAPS != 4) {       /* cubic pads each tap instead */
    if (p.padding == PADDING_BORDER) x = x > 0 ? (x < n - 1.0 ? x : n - 1.0) : 0;
    else if (p.padding == PADDING_REFLECTION) x = reflect(x, low, high);
  }
  double base = TAPS == 1 ? rint(x) : floor(x), rest = x - base;
#pragma unroll
  for (int i = 0; i < TAPS; ++i) {
    double weight = TAPS == 1 ? 1 : TAPS == 2 ? (i == 0 ? 1 - rest : rest) : cubic(fabs(rest - (i - 1)));
    int index = nowhere && p.padding == PADDING_ZEROS ? -1 : tap_index(p, base + (TAPS == 4 ? i - 1 : i), n);
    t.index[i] = index < 0 ? 0 : index;
    t.weight[i] = index < 0 ? A(0) : static_cast<A>(weight);
  }
  return t;
}

/* The weighted sum over the taps of axis D and of those after it. A zero weighs nothing even against infinity. */
template <int D, int AXES, int TAPS, class T, class A>
ON_GPU A sum_of(const axis_taps<TAPS, A> (&taps)[AXES], const int (&dims)[AXES], const T *x, int64_t offset) {
  if constexpr (D == AXES) {
    return load(x[offset]);
  } else {
    A sum = 0;
#pragma unroll
    for (int i = 0; i < TAPS; ++i)
      if (taps[D].weight[i] != 0) sum += taps[D].weight[i] * sum_of<D + 1>(taps, dims, x, offset * dims[D] + taps[D].index[i]);
    return sum;
  }
}

/* The grid has a float type of its own. */
ON_GPU double coordinate(dtype type, const void *grid, int64_t i) {
  switch (type) {
    case ORTC_DOUBLE: return static_cast<const double *>(grid)[i];
    case ORTC_FLOAT16: return load(static_cast<const __half *>(grid)[i]);
    case ORTC_BFLOAT16: return load(static_cast<const __nv_bfloat16 *>(grid)[i]);
    default: return static_cast<const float *>(grid)[i];
  }
}

template <int AXES> struct sample_job {
  sample_params how;
  dtype grid_type;
  int64_t batch, channels, places, image;
  int dims[AXES];
  const void *grid;
};

template <int AXES, int TAPS, class T> __global__ void __launch_bounds__(threads_per_block, 1) sample_kernel(sample_job<AXES> j, const T *x, T *y) {
  for (int64_t i = first_index(); i < j.batch * j.places; i += index_step()) {
    axis_taps<TAPS, computed_t<T>> taps[AXES];
    int dims[AXES];
    double at[AXES];
#pragma unroll
    for (int d = 0; d < AXES; ++d) at[d] = coordinate(j.grid_type, j.grid, i * AXES + d);
#pragma unroll
    for (int d = 0; d < AXES; ++d) {
      dims[d] = j.dims[d];
      taps[d] = taps_of<TAPS, computed_t<T>>(j.how, at[AXES - 1 - d], dims[d]);
    }
    int64_t sample = i / j.places, place = i % j.places;
    for (int64_t c = blockIdx.y; c < j.channels; c += gridDim.y)
      y[(sample * j.channels + c) * j.places + place] = store<T>(sum_of<0>(taps, dims, x + (sample * j.channels + c) * j.image, 0));
  }
}

template <int AXES, int TAPS, class T> int sample_launch(const cuda_grid_sample &g, const T *x, const void *grid, T *y, cudaStream_t stream) {
  sample_job<AXES> j = {g.how, g.grid_type, g.batch, g.channels, g.places, 1, {}, grid};
  for (int d = 0; d < AXES; ++d) {
    j.dims[d] = static_cast<int>(g.dims[d]);
    j.image *= g.dims[d];
  }
  /* Channels are divided among blocks only where the places are too few to fill a GPU. */
  int64_t eighths = (g.channels + 7) / 8;
  unsigned blocks = blocks_for(g.batch * g.places), parts = static_cast<unsigned>(blocks >= 512 ? 1 : eighths < 64 ? eighths : 64);
  sample_kernel<AXES, TAPS><<<dim3(blocks, parts), threads_per_block, 0, stream>>>(j, x, y);
  return cudaGetLastError();
}

template <int AXES, class T> int sample_mode_launch(const cuda_grid_sample &g, const T *x, const void *grid, T *y, cudaStream_t stream) {
  switch (g.how.mode) {
    case SAMPLE_NEAREST: return sample_launch<AXES, 1>(g, x, grid, y, stream);
    case SAMPLE_LINEAR: return sample_launch<AXES, 2>(g, x, grid, y, stream);
    default: return sample_launch<AXES, 4>(g, x, grid, y, stream);
  }
}

/* ---- RoiAlign ---- */

/* A sample lies between two elements of each axis. Outside of the image both weights are 0. */
template <class A> struct between { int64_t first, second; A before, after; };

template <class A> ON_GPU between<A> between_of(double x, int64_t n) {
  if (!(x >= -1 && x <= static_cast<double>(n))) return {0, 0, 0, 0};
  x = x < 0 ? 0 : x;
  int64_t first = static_cast<int64_t>(x);
  if (first >= n - 1) return {n - 1, n - 1, 1, 0};
  return {first, first + 1, static_cast<A>(1 - (x - static_cast<double>(first))), static_cast<A>(x - static_cast<double>(first))};
}

/* Sizes are rounded to what the regions are computed in: whether a size is a whole number decides how many samples there are. */
template <class A> struct side { A start, cell; int64_t samples; };

template <class A> ON_GPU side<A> side_of(const roi_params &p, A begin, A end, int64_t cells) {
  A shift = p.half_pixel ? A(0.5) : A(0), start = static_cast<A>(static_cast<double>(begin) * p.scale) - shift;
  A length = static_cast<A>(static_cast<double>(end) * p.scale) - shift - start;
  if (!p.half_pixel && length < 1) length = 1;
  A cell = length / static_cast<A>(cells);
  double n = p.ratio ? static_cast<double>(p.ratio) : ceil(static_cast<double>(cell));
  return {start, cell, n > 0 ? (n <= ROI_MOST_SAMPLES ? static_cast<int64_t>(n) : ROI_MOST_SAMPLES + 1) : 0};
}

template <class A> ON_GPU double sample_place(const side<A> &s, int64_t cell, int64_t i) {
  double start = s.start, size = s.cell;
  return start + static_cast<double>(cell) * size + (static_cast<double>(i) + 0.5) * size / static_cast<double>(s.samples);
}

/* `max` takes the largest weighted element, as the operator's first implementation did. */
template <class T, class A>
ON_GPU A cell_value(const cuda_roi_align &r, const T *plane, const side<A> &y, const side<A> &x, int64_t cell) {
  int64_t width = r.width, row = cell / r.how.width, column = cell % r.how.width;
  int64_t count = y.samples * x.samples;
  A sum = 0, most = count > 0 ? -INFINITY : 0;
  for (int64_t i = 0; i < y.samples; ++i) {
    between<A> v = between_of<A>(sample_place(y, row, i), r.height);
    for (int64_t j = 0; j < x.samples; ++j) {
      between<A> h = between_of<A>(sample_place(x, column, j), width);
      A parts[4] = {v.before * h.before * load(plane[v.first * width + h.first]), v.before * h.after * load(plane[v.first * width + h.second]),
                    v.after * h.before * load(plane[v.second * width + h.first]), v.after * h.after * load(plane[v.second * width + h.second])};
      sum += parts[0] + parts[1] + parts[2] + parts[3];
#pragma unroll
      for (int t = 0; t < 4; ++t) most = parts[t] > most ? parts[t] : most;
    }
  }
  return r.how.max ? most : sum / static_cast<A>(count > 0 ? count : 1);
}

template <class T>
__global__ void __launch_bounds__(threads_per_block, 1) roi_kernel(cuda_roi_align r, const T *x, const T *rois, const int64_t *batch, T *y, cuda_fault_place fault) {
  using A = computed_t<T>;
  int64_t cells = r.how.height * r.how.width;
  for (int64_t i = first_index(); i < r.regions * r.channels * cells; i += index_step()) {
    int64_t cell = i % cells, channel = i / cells % r.channels, region = i / cells / r.channels, image = batch[region];
    const T *box = rois + region * 4;
    side<A> along_x = side_of<A>(r.how, load(box[0]), load(box[2]), r.how.width);
    side<A> along_y = side_of<A>(r.how, load(box[1]), load(box[3]), r.how.height);
    bool there = image >= 0 && image < r.images, few = along_x.samples <= ROI_MOST_SAMPLES && along_y.samples <= ROI_MOST_SAMPLES;
    A value = 0;
    if (there && few) value = cell_value(r, x + (image * r.channels + channel) * r.height * r.width, along_y, along_x, cell);
    else tell_fault(fault, there ? GPU_FAULT_SAMPLES : GPU_FAULT_IMAGE);
    y[i] = store<T>(value);
  }
}

/* ---- AffineGrid and MaxUnpool ---- */

template <class T> __global__ void __launch_bounds__(threads_per_block) affine_kernel(cuda_affine_grid g, int64_t places, const T *theta, T *grid) {
  for (int64_t i = first_index(); i < g.batch * places; i += index_step()) {
    double at[4] = {0, 0, 0, 0};
    int64_t rest = i;
    for (int d = g.axes - 1; d >= 0; --d) {                /* x first, as the grid has it */
      double n = static_cast<double>(g.dims[d]), where = static_cast<double>(rest % g.dims[d]);
      rest /= g.dims[d];
      double x = g.align_corners ? (n > 1 ? -1 + 2 * where / (n - 1) : -1) : (2 * where + 1) / n - 1;
      int coordinate = g.axes - 1 - d;
      at[0] = coordinate == 0 ? x : at[0];
      at[1] = coordinate == 1 ? x : at[1];
      at[2] = coordinate == 2 ? x : at[2];
    }
    for (int row = 0; row < g.axes; ++row) {
      const T *from = theta + (rest * g.axes + row) * (g.axes + 1);
      double sum = load(from[g.axes]);
      sum += load(from[0]) * at[0] + load(from[1]) * at[1];
      if (g.axes == 3) sum += load(from[2]) * at[2];
      grid[i * g.axes + row] = store<T>(static_cast<computed_t<T>>(sum));
    }
  }
}

/* Indices count in the image that was pooled; a larger output has the same coordinates, a smaller one lacks some. */
template <class U>
__global__ void __launch_bounds__(threads_per_block) unpool_kernel(cuda_unpool u, int64_t size, const U *x, const int64_t *index, U *y, cuda_fault_place fault) {
  for (int64_t i = first_index(); i < u.count; i += index_step()) {
    int64_t place = index[i], to = 0, stride = 1;
    bool inside = place >= 0 && place < size;
    if (!inside) tell_fault(fault, GPU_FAULT_PLACE);
#pragma unroll 1
    for (int d = u.rank - 1; d >= 0; --d) {
      int64_t at = place % u.dims[d];
      place /= u.dims[d];
      inside = inside && at < u.out_dims[d];
      to += at * stride;
      stride *= u.out_dims[d];
    }
    if (inside) y[to] = x[i];
  }
}

}  // namespace

int cuda_grid_sample_run(const cuda_grid_sample *g, const void *x, const void *grid, void *y, void *stream) {
  if (g->batch == 0 || g->channels == 0 || g->places == 0) return cudaSuccess;
  return with_float(g->type, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T *from = static_cast<const T *>(x);
    T *to = static_cast<T *>(y);
    return g->axes == 2 ? sample_mode_launch<2>(*g, from, grid, to, as_stream(stream)) : sample_mode_launch<3>(*g, from, grid, to, as_stream(stream));
  });
}

int cuda_roi_align_run(const cuda_roi_align *r, const void *x, const void *rois, const int64_t *batch, void *y, const cuda_fault_place *fault, void *stream) {
  int64_t count = r->regions * r->channels * r->how.height * r->how.width;
  if (count == 0) return cudaSuccess;
  return with_float(r->type, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T *from = static_cast<const T *>(x), *boxes = static_cast<const T *>(rois);
    roi_kernel<<<blocks_for(count), threads_per_block, 0, as_stream(stream)>>>(*r, from, boxes, batch, static_cast<T *>(y), *fault);
    return cudaGetLastError();
  });
}

int cuda_affine_grid_run(const cuda_affine_grid *g, const void *theta, void *grid, void *stream) {
  int64_t places = 1;
  for (int d = 0; d < g->axes; ++d) places *= g->dims[d];
  if (g->batch * places == 0) return cudaSuccess;
  return with_float(g->type, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T *from = static_cast<const T *>(theta);
    affine_kernel<<<blocks_for(g->batch * places), threads_per_block, 0, as_stream(stream)>>>(*g, places, from, static_cast<T *>(grid));
    return cudaGetLastError();
  });
}

int cuda_unpool_run(const cuda_unpool *u, const void *x, const int64_t *index, void *y, const cuda_fault_place *fault, void *stream) {
  int64_t size = 1, out = 1;
  for (int d = 0; d < u->rank; ++d) {
    size *= u->dims[d];
    out *= u->out_dims[d];
  }
  if (out == 0) return cudaSuccess;
  cudaError_t error = cudaMemsetAsync(y, 0, static_cast<size_t>(out) * u->width, as_stream(stream));
  if (error || u->count == 0) return error;
  return with_width(u->width, [&](auto *unit) {
    using U = std::remove_pointer_t<decltype(unit)>;
    const U *from = static_cast<const U *>(x);
    unpool_kernel<<<blocks_for(u->count), threads_per_block, 0, as_stream(stream)>>>(*u, size, from, index, static_cast<U *>(y), *fault);
    return cudaGetLastError();
  });
}
