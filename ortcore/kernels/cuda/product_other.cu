/* Products of doubles and integers, through shared memory. Integers wrap, so signed and unsigned ones are the same. */
#include "product_routes.cuh"
#include "product_simt.cuh"

using namespace ortcore;

namespace {

template <class T> int run(const cuda_product &p, const cuda_operands &o, void *stream) {
  return multiply<simt_64<T>>(p, left_of<T>(p, o.a), right_of<T>(p, o.b), end_of<T, T>(p, o), stream);
}

}  // namespace

int ortcore::product_tiles_other(const cuda_product &p, const cuda_operands &o, void *stream) {
  switch (p.type) {
    case ORTC_DOUBLE: return run<double>(p, o, stream);
    case ORTC_INT32: case ORTC_UINT32: return run<uint32_t>(p, o, stream);
    case ORTC_INT64: case ORTC_UINT64: return run<uint64_t>(p, o, stream);
    default: return cudaErrorInvalidValue;
  }
}
