#include <emulator/runtime/api.h>

#include <emulator/runtime/capture.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/fault.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/scheduler.h>
#include <emulator/runtime/settings.h>

#include <pthread.h>

namespace emulator {

std::mutex lock;
thread_local host_thread this_thread;

namespace {

bool initialised = false, driver_used = false, in_forked_child = false;

void before_fork() { lock.lock(); }
void after_fork() { lock.unlock(); }
/* The driver does not survive a fork; a process that has not used it yet may. */
void after_fork_in_child() {
  in_forked_child = driver_used;
  lock.unlock();
}

void initialise() {
  if (initialised) return;
  initialised = true;
  read_environment();
  install_fault_handler();
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

}  // namespace

call::call(const char *name, unsigned traits) : name(name), traits(traits) {
  lock.lock();
  initialise();
  collect_host_faults();
  refused = reason_to_refuse();
}

call::~call() {
  close_device_memory();
  lock.unlock();
}

cudaError_t call::reason_to_refuse() {
  if ((traits & driverless) == driverless) return cudaSuccess;
  if (in_forked_child) {
    report("fork", "%s in a child of the process that initialised CUDA: start the child with spawn, or fork before CUDA is used", name);
    return cudaErrorInitializationError;
  }
  if (this_thread.in_host_function) {
    report("host_function", "%s called from within a host function (cudaLaunchHostFunc), where no CUDA function may be called", name);
    return cudaErrorNotPermitted;
  }
  driver_used = true;
  if (settings.driver_error) return static_cast<cudaError_t>(settings.driver_error);
  if (traits & deviceless) return cudaSuccess;
  device *d = device_at(this_thread.device);
  if (!d) return settings.devices == 0 ? cudaErrorNoDevice : cudaErrorInvalidDevice;
  if (d->failed && !(traits & releasing)) return d->failed;
  return traits & unsafe_in_capture ? refuse_in_capture(name) : cudaSuccess;
}

/* Every function tells of errors of work that was enqueued before. */
cudaError_t call::finish(cudaError_t result) const {
  if (refused) result = refused;
  device *d = traits & deviceless || refused ? nullptr : used_device(this_thread.device);
  if (d && d->failed) result = d->failed;
  if (result != cudaSuccess) this_thread.last_error = result;
  return result;
}

}  // namespace emulator
