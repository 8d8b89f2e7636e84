/* Instructions that CUDA C++ has no name for: asynchronous copies to shared memory, matrices from there, products by tensor cores. */
#ifndef ORTCORE_KERNELS_CUDA_PTX_CUH
#define ORTCORE_KERNELS_CUDA_PTX_CUH

#include "common.cuh"

namespace ortcore {

/* From global to shared memory. Of the 16, 8 or 4 bytes only `bytes` are read; the others become zero. */
ON_GPU void copy_16(void *to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes) : "memory");
}
template <int size> ON_GPU void copy_element(void *to, const void *from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes), "n"(size) : "memory");
}
ON_GPU void copies_close() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/* Waits until at most `pending` of the groups closed by this thread are under way. */
template <int pending> ON_GPU void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory"); }

/* Four 8 x 8 matrices of halves from shared memory; each thread's address is a row of one of them. */
template <bool transposed> ON_GPU void load_matrices(const void *row, uint32_t (&out)[4]) {
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(at) : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(at) : "memory");
  }
}

/* c[16 x 8] += a[16 x 16] b[16 x 8], all in the registers of a warp. */
ON_GPU void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, __half) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
ON_GPU void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, __nv_bfloat16) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace ortcore

#endif
