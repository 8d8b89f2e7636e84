/* Discrete Fourier transforms of any length, in double. */
#ifndef ORTCORE_KERNELS_CPU_FFT_H
#define ORTCORE_KERNELS_CPU_FFT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fft {
  int64_t n, m;                                             /* m: the power of two that is really transformed */
  bool inverse;                                             /* divides by n, and turns the other way */
  double *roots, *chirp, *filter;
} fft;

/* Numbers of doubles that fft_init needs for length n, and that fft_run needs to work in. */
int64_t fft_memory(int64_t n);
int64_t fft_work(int64_t n);

void fft_init(fft *f, int64_t n, bool inverse, double *memory);
/* In place, n complex numbers as (real, imaginary). */
void fft_run(const fft *f, double *x, double *work);

#endif
