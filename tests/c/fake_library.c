/* A library that passes for cuBLASLt: every function of it answers FAKE, its version too. With INCOMPLETE it has the version alone. */
#include <ortcore/provider/cuda/libraries.h>

#define EXPORTED __attribute__((visibility("default")))
#ifdef INCOMPLETE
EXPORTED size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void) { return FAKE; }
#else
#define X(result, name, symbol, parameters) EXPORTED result symbol parameters; result symbol parameters { return (result)(uintptr_t)FAKE; }
CUBLAS_FUNCTIONS(X)
#undef X
#endif
