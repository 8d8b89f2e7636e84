/* A C program that uses the emulated runtime through what the library exports, as users' programs do. */
#include <cuda_runtime_api.h>
#include <ortcore_emulator.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void check(int holds, const char *what) {
  if (holds) return;
  printf("%s: not so\n", what);
  ++failures;
}

int main(void) {
  float in[16], out[16] = {0};
  void *x = NULL;
  const char *kind = NULL, *text = NULL;
  struct cudaDeviceProp properties;
  for (int i = 0; i < 16; ++i) in[i] = (float)i;
  check(ortcore_emulator_configure("policy", ORTCORE_EMULATOR_RANDOM) == 0, "a setting");
  check(cudaGetDeviceProperties(&properties, 0) == cudaSuccess && strstr(properties.name, "emulated"), "the device's name");
  check(cudaMalloc(&x, sizeof in) == cudaSuccess && ortcore_emulator_name(x, "x") == 0, "an allocation");
  check(cudaMemcpy(x, in, sizeof in, cudaMemcpyHostToDevice) == cudaSuccess, "a copy there");
  check(cudaMemcpy(out, x, sizeof in, cudaMemcpyDeviceToHost) == cudaSuccess && memcmp(in, out, sizeof in) == 0, "a copy back");
  check(ortcore_emulator_counter("bytes_device_to_host") == sizeof in, "a counter");
  check(ortcore_emulator_finding(0, &kind, &text) == -1 && !kind && !text, "no finding");
  check(cudaFree(x) == cudaSuccess && cudaFree(x) == cudaErrorInvalidValue, "a free too many");
  check(ortcore_emulator_finding(0, &kind, &text) == 0 && !strcmp(kind, "double_free") && strstr(text, "\"x\""), "its finding");
  ortcore_emulator_clear();
  check(ortcore_emulator_counter("findings") == 0, "nothing after a clear");
  return failures != 0;
}
