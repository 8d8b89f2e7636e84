/* Back to a healthy, idle emulator, for the next test of a process. */
#ifndef EMULATOR_RUNTIME_RESET_H
#define EMULATOR_RUNTIME_RESET_H

namespace emulator {

void reset_everything();

}  // namespace emulator

#endif
