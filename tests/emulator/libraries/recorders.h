/* In the place of the provider's kernels: they remember what they were asked for. */
#ifndef TESTS_EMULATOR_LIBRARIES_RECORDERS_H
#define TESTS_EMULATOR_LIBRARIES_RECORDERS_H

#include <emulator/libraries/stand_ins.h>
#include <ortcore/kernels/cuda/conv.h>
#include <tests/emulator/runtime/test.h>

struct recorded {
  int products, convolutions;                               /* how many so far */
  cuda_product product;
  cuda_conv conv;
  cuda_operands operands;                                   /* of the last of either */
};
extern recorded last;

extern "C" void *emulated_library_function(const char *name);

/* The stand-ins as the provider finds them. */
cublas_functions cublas_table();
cudnn_functions cudnn_table();

#endif
