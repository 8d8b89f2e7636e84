/* The kernels and module variables of all generated files, by name. */
#include <emulator/executor/executor.h>
#include <string>
#include <unordered_map>

namespace emulator {

namespace {

struct registry {
  std::unordered_map<std::string, const kernel_image *> kernels;
  std::unordered_map<std::string, const variable_image *> variables;
};

/* Made at the first registration: generated files register in no fixed order. */
registry &all() {
  static registry r;
  return r;
}

template <class T> const T *find(const std::unordered_map<std::string, const T *> &images, const char *name) {
  auto found = images.find(name);
  return found == images.end() ? nullptr : found->second;
}

}  // namespace

module_registration::module_registration(const kernel_image *kernels, unsigned kernel_count, const variable_image *variables, unsigned variable_count) {
  for (unsigned i = 0; i < kernel_count; ++i) all().kernels[kernels[i].name] = &kernels[i];
  for (unsigned i = 0; i < variable_count; ++i) all().variables[variables[i].name] = &variables[i];
}

const kernel_image *find_kernel(const char *name) { return find(all().kernels, name); }
const variable_image *find_variable(const char *name) { return find(all().variables, name); }

}  // namespace emulator
