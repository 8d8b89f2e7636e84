#include <emulator/runtime/symbols.h>

#include <emulator/runtime/devices.h>

#include <cxxabi.h>

#include <cstdlib>
#include <unordered_map>

namespace emulator {

namespace {

struct variable_symbol {
  std::string name;
  const variable_image *image = nullptr;
};

/* Functions rather than variables: libraries' constructors call in before this file's own have run. */
std::unordered_map<const void *, kernel_symbol> &kernels() {
  static auto &table = *new std::unordered_map<const void *, kernel_symbol>;
  return table;
}

std::unordered_map<const void *, variable_symbol> &variables() {
  static auto &table = *new std::unordered_map<const void *, variable_symbol>;
  return table;
}

}  // namespace

kernel_symbol *find_kernel_symbol(const void *function) {
  auto found = kernels().find(function);
  if (found == kernels().end()) return nullptr;
  kernel_symbol &k = found->second;
  if (!k.image) {
    k.image = find_kernel(k.name.c_str());
    size_t limit = device_limits::shared_per_block, own = k.image ? k.image->static_shared : 0;
    k.most_dynamic_shared = limit > own ? limit - own : 0;
  }
  return &k;
}

std::string readable(const std::string &mangled) {
  int status = 0;
  char *text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : mangled;
  free(text);
  /* The parameters' types say less than they take room. */
  size_t arguments = result.rfind('(');
  return arguments == std::string::npos || arguments == 0 ? result : result.substr(0, arguments);
}

const variable_image *find_symbol(const void *host_variable) {
  auto found = variables().find(host_variable);
  if (found == variables().end()) return nullptr;
  if (!found->second.image) found->second.image = find_variable(found->second.name.c_str());
  return found->second.image;
}

const variable_image *find_symbol_at(const void *p) {
  const char *address = static_cast<const char *>(p);
  for (auto &[host, symbol] : variables()) {
    const variable_image *v = find_symbol(host);
    const char *start = v ? static_cast<const char *>(v->address) : nullptr;
    if (start && address >= start && address < start + v->bytes) return v;
  }
  return nullptr;
}

}  // namespace emulator

using namespace emulator;

/* What the host code that nvcc writes calls when a library is loaded: one handle for each object file, then its kernels and variables. */
extern "C" {
__attribute__((visibility("default"))) void **__cudaRegisterFatBinary(void *binary);
__attribute__((visibility("default"))) void __cudaRegisterFatBinaryEnd(void **handle);
__attribute__((visibility("default"))) void __cudaUnregisterFatBinary(void **handle);
__attribute__((visibility("default"))) char __cudaInitModule(void **handle);
__attribute__((visibility("default"))) void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
                                                                   uint3 *thread, uint3 *block, dim3 *block_dim, dim3 *grid_dim, int *warp);
__attribute__((visibility("default"))) void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern, size_t bytes,
                                                              int constant, int global);
}

void **__cudaRegisterFatBinary(void *binary) {
  static void *handle;
  handle = binary;
  return &handle;
}

void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
char __cudaInitModule(void **) { return 1; }

void __cudaRegisterFunction(void **, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
  kernels()[host] = {name, nullptr, 0};
}

void __cudaRegisterVar(void **, char *host, char *, const char *name, int, size_t, int, int) { variables()[host] = {name, nullptr}; }
