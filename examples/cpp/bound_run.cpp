// Runs a model on vectors that this program owns, and prints what came out. Outputs whose shape only the run can tell are left to the engine.
//
//     c++ -std=c++17 bound_run.cpp $(pkg-config --cflags --libs ortcore) -o bound_run
//     ./bound_run model.onnx [size of dynamic dims, default 1]
//
// The C ABI needs little in C++: a deleter for each handle, and one function that turns a status into an exception.
#include <ortcore.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Release {
  void operator()(ortc_session *p) const { ortc_session_release(p); }
  void operator()(ortc_binding *p) const { ortc_binding_release(p); }
  void operator()(ortc_value *p) const { ortc_value_release(p); }
  void operator()(ortc_status *p) const { ortc_status_release(p); }
};
template <class T> using Handle = std::unique_ptr<T, Release>;

class Error : public std::runtime_error {
 public:
  explicit Error(Handle<ortc_status> status) : std::runtime_error(ortc_status_get_message(status.get())), code_(ortc_status_get_code(status.get())) {}
  ortc_status_code code() const { return code_; }

 private:
  ortc_status_code code_;
};

void check(ortc_status *status) {
  if (status) throw Error(Handle<ortc_status>(status));
}

// Calls create(arguments..., &handle), the shape of every function of the ABI that makes something.
template <class T, class... Parameters, class... Arguments>
Handle<T> make(ortc_status *(*create)(Parameters...), Arguments &&...arguments) {
  T *made = nullptr;
  check(create(std::forward<Arguments>(arguments)..., &made));
  return Handle<T>(made);
}

// A tensor of float whose elements lie in a vector. The vector moves into the tensor's keeping and dies with its last reference.
Handle<ortc_value> tensor(std::vector<float> data, const std::vector<int64_t> &dims) {
  auto owned = std::make_unique<std::vector<float>>(std::move(data));
  auto release = [](void *vector) { delete static_cast<std::vector<float> *>(vector); };
  auto value = make<ortc_value>(ortc_value_create_borrowed, nullptr, ORTC_FLOAT, dims.size(), dims.data(), static_cast<void *>(owned->data()),
                                owned->size() * sizeof(float), static_cast<ortc_release_fn>(release), static_cast<void *>(owned.get()));
  owned.release();
  return value;
}

// The shape that the model gives, with `open_dim` for what it leaves open.
std::vector<int64_t> shape_of(const ortc_io_info &io, int64_t open_dim) {
  if (!io.is_tensor || !io.has_rank || io.element_type != ORTC_FLOAT) {
    throw std::runtime_error(std::string(io.name) + ": this program handles tensor(float) of known rank only, not " + io.type);
  }
  if (open_dim < 0) throw std::runtime_error("dims cannot be negative: " + std::to_string(open_dim));
  std::vector<int64_t> dims(io.dims, io.dims + io.rank);
  for (auto &dim : dims) dim = dim < 0 ? open_dim : dim;
  return dims;
}

size_t count_of(const std::vector<int64_t> &dims) {
  size_t count = 1;
  for (auto dim : dims) count *= static_cast<size_t>(dim);
  return count;
}

// Can this program make the memory before the run? It must know the shape: every dim is fixed, or named as a dim of the inputs is.
bool shape_is_known(const ortc_io_info &io) {
  if (!io.is_tensor || !io.has_rank || io.element_type != ORTC_FLOAT) return false;
  for (size_t i = 0; i < io.rank; ++i) {
    if (io.dims[i] < 0 && !io.symbols[i]) return false;
  }
  return true;
}

void print(const char *name, ortc_value *value) {
  char type[64];
  ortc_value_format_type(value, type, sizeof type);
  std::cout << name << ": " << type << " [";
  for (size_t i = 0; i < ortc_value_get_rank(value); ++i) std::cout << (i ? "," : "") << ortc_value_get_dims(value)[i];
  std::cout << "]";
  const int64_t count = ortc_value_get_count(value), shown = count < 8 ? count : 8;
  const void *data = ortc_value_get_data(value);
  for (int64_t i = 0; i < shown; ++i) {
    if (ortc_value_get_element_type(value) == ORTC_FLOAT) std::cout << ' ' << static_cast<const float *>(data)[i];
    if (ortc_value_get_element_type(value) == ORTC_INT64) std::cout << ' ' << static_cast<const int64_t *>(data)[i];
  }
  std::cout << (count > shown ? " ...\n" : "\n");
}

void run(const char *path, int64_t open_dim) {
  auto session = make<ortc_session>(ortc_session_create_from_file, path, nullptr);
  auto binding = make<ortc_binding>(ortc_binding_create, session.get());

  for (size_t i = 0; i < ortc_session_get_io_count(session.get(), ORTC_IO_INPUT); ++i) {
    const auto &io = *ortc_session_get_io(session.get(), ORTC_IO_INPUT, i);
    const auto dims = shape_of(io, open_dim);
    std::vector<float> data(count_of(dims));
    for (size_t j = 0; j < data.size(); ++j) data[j] = static_cast<float>(j) / 4;
    check(ortc_binding_bind_input(binding.get(), io.name, tensor(std::move(data), dims).get()));
  }
  for (size_t i = 0; i < ortc_session_get_io_count(session.get(), ORTC_IO_OUTPUT); ++i) {
    const auto &io = *ortc_session_get_io(session.get(), ORTC_IO_OUTPUT, i);
    if (!shape_is_known(io)) {
      check(ortc_binding_bind_output_device(binding.get(), io.name, &io.memory));
      continue;
    }
    const auto dims = shape_of(io, open_dim);
    check(ortc_binding_bind_output(binding.get(), io.name, tensor(std::vector<float>(count_of(dims)), dims).get()));
  }

  check(ortc_session_run_binding(session.get(), binding.get(), nullptr));

  for (size_t i = 0; i < ortc_binding_get_output_count(binding.get()); ++i) {
    auto value = make<ortc_value>(ortc_binding_get_output, binding.get(), i);
    print(ortc_binding_get_output_name(binding.get(), i), value.get());
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: " << argv[0] << " model.onnx [size of dynamic dims]\n";
    return 2;
  }
  try {
    run(argv[1], argc == 3 ? std::strtoll(argv[2], nullptr, 10) : 1);
  } catch (const Error &error) {
    std::cerr << argv[1] << ": " << ortc_status_code_name(error.code()) << ": " << error.what() << '\n';
    return 1;
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
