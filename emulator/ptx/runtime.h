/* All that the C++ which translate.py writes calls. It is included by every generated file, so it includes little itself. */
#ifndef EMULATOR_PTX_RUNTIME_H
#define EMULATOR_PTX_RUNTIME_H

#include <emulator/executor/matrix.h>
#include <emulator/ptx/halves.h>

#endif
