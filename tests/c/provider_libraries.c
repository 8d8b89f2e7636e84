/* How NVIDIA's libraries are found, and what is said where they cannot be used. The answer is found once a process, so there is a run for each:
 *   provider_libraries off|missing|old|incomplete|found   (ORTCORE_CUDA_LIBRARIES names the folder of the fake one, or is "off") */
#include "check.h"

#include <ortcore/provider/cuda/gpu.h>

int main(int count, char **arguments) {
  const char *wanted = count > 1 ? arguments[1] : "missing", *why_not = NULL;
  const struct { const char *name, *part; } refusals[] = {
    {"off", "ORTCORE_CUDA_LIBRARIES is 'off'"}, {"missing", "libcublasLt.so.13 cannot be opened"}, {"old", "its version is 110000 and 120000 or newer is needed"},
    {"incomplete", "has no function cublasLtGetStatusName"}, {"found", NULL}};
  const cublas_functions *blas = cuda_cublas(&why_not);
  const char *text = why_not ? why_not : "";
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
    if (strcmp(refusals[i].name, wanted) != 0) continue;
    if (refusals[i].part) CHECKF(!blas && strstr(text, refusals[i].part), "%s", text);
    else CHECKF(blas && !why_not && blas->version() == 130000, "%s", text);
    if (!blas && strcmp(wanted, "off") != 0) CHECKF(strstr(text, "nvidia-cublas"), "%s", text);
  }
  CHECK(cuda_cublas(NULL) == blas);
  CHECK(!cuda_cudnn(&text) && strstr(text, "cuDNN is not used"));
  gpu g = {.lock = PTHREAD_MUTEX_INITIALIZER};
  cublas_handle handle;
  if (!blas) CHECK_ERROR(cuda_cublas_handle(&g.base, &handle), EP_FAIL, "cuBLASLt is not used");
  return check_result();
}
