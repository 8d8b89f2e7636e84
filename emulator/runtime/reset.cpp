#include <emulator/runtime/reset.h>

#include <emulator/runtime/api.h>
#include <emulator/runtime/capture.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/report.h>

namespace emulator {

void reset_everything() {
  end_all_captures();
  drop_all_work();
  forget_all_accesses();
  for (int i = 0; i < kMostDevices; ++i) {
    if (device *d = used_device(i)) d->failed = cudaSuccess;
  }
  settings.fail_allocation = 0;
  settings.fail_allocations_after = -1;
  settings.sticky_error_at_launch = 0;
  settings.driver_error = 0;
  this_thread.last_error = cudaSuccess;
  clear_reports();
}

}  // namespace emulator
