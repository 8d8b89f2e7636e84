#include <math.h>
#include <ortcore/kernels/cpu/fft.h>
#include <string.h>

static int64_t transform_size(int64_t n) {
  int64_t m = 1, needed = (n & (n - 1)) == 0 ? n : 2 * n - 1;
  while (m < needed) m *= 2;
  return m;
}

int64_t fft_memory(int64_t n) {
  int64_t m = transform_size(n);
  return m + (m == n ? 0 : 2 * n + 2 * m);
}

int64_t fft_work(int64_t n) {
  int64_t m = transform_size(n);
  return m == n ? 0 : 2 * m;
}

/* x times the complex number (c, s), in place. */
static void turn(double *x, double c, double s) {
  double re = x[0] * c - x[1] * s;
  x[1] = x[0] * s + x[1] * c;
  x[0] = re;
}

/* m is a power of two; roots[k] = e^(-2 pi i k / m) for k < m/2; sign -1 conjugates them. */
static void power_of_two(double *x, int64_t m, const double *roots, double sign) {
  for (int64_t i = 1, j = 0; i < m; ++i) {
    int64_t bit = m >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    double swapped[2] = {x[2 * i], x[2 * i + 1]};
    memcpy(x + 2 * i, x + 2 * j, sizeof swapped);
    memcpy(x + 2 * j, swapped, sizeof swapped);
  }
  for (int64_t length = 2; length <= m; length *= 2)
    for (int64_t first = 0; first < m; first += length)
      for (int64_t k = 0; k < length / 2; ++k) {
        double *a = x + 2 * (first + k), *b = a + length;
        turn(b, roots[2 * (k * (m / length))], sign * roots[2 * (k * (m / length)) + 1]);
        double re = b[0], im = b[1];
        b[0] = a[0] - re;
        b[1] = a[1] - im;
        a[0] += re;
        a[1] += im;
      }
}

/* Lengths that are no powers of two become a convolution with a chirp, e^(i pi k^2 / n) (Bluestein's algorithm). */
void fft_init(fft *f, int64_t n, bool inverse, double *memory) {
  *f = (fft){.n = n, .m = transform_size(n), .inverse = inverse, .roots = memory};
  int64_t m = f->m;
  for (int64_t k = 0; k < m / 2; ++k) {
    f->roots[2 * k] = cos(-2 * M_PI * (double)k / (double)m);
    f->roots[2 * k + 1] = sin(-2 * M_PI * (double)k / (double)m);
  }
  if (m == n) return;
  f->chirp = memory + m;
  f->filter = f->chirp + 2 * n;
  memset(f->filter, 0, (size_t)(2 * m) * sizeof(double));
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) {   /* square = k^2 modulo 2n */
    double angle = (inverse ? 1 : -1) * M_PI * (double)square / (double)n;
    double *c = f->chirp + 2 * k, *ahead = f->filter + 2 * k, *behind = f->filter + 2 * ((m - k) % m);
    c[0] = cos(angle);
    c[1] = sin(angle);
    ahead[0] = behind[0] = c[0];
    ahead[1] = behind[1] = -c[1];
  }
  power_of_two(f->filter, m, f->roots, 1);
}

void fft_run(const fft *f, double *x, double *work) {
  int64_t n = f->n, m = f->m;
  if (m == n) {
    power_of_two(x, n, f->roots, f->inverse ? -1 : 1);
  } else {
    memset(work, 0, (size_t)(2 * m) * sizeof(double));
    memcpy(work, x, (size_t)(2 * n) * sizeof(double));
    for (int64_t k = 0; k < n; ++k) turn(work + 2 * k, f->chirp[2 * k], f->chirp[2 * k + 1]);
    power_of_two(work, m, f->roots, 1);
    for (int64_t k = 0; k < m; ++k) turn(work + 2 * k, f->filter[2 * k], f->filter[2 * k + 1]);
    power_of_two(work, m, f->roots, -1);
    for (int64_t k = 0; k < n; ++k) {
      x[2 * k] = work[2 * k] / (double)m;
      x[2 * k + 1] = work[2 * k + 1] / (double)m;
      turn(x + 2 * k, f->chirp[2 * k], f->chirp[2 * k + 1]);
    }
  }
  for (int64_t k = 0; f->inverse && k < 2 * n; ++k) x[k] /= (double)n;
}
