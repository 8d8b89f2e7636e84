/* Pinned host memory, and its protection while a copy of it is pending: who reads what will be overwritten, or writes what will be read, is
 * told so. Protection works on whole pages; what shares a page with other data is compared before and after instead, for writes. */
#ifndef EMULATOR_RUNTIME_PINNED_H
#define EMULATOR_RUNTIME_PINNED_H

#include <cstddef>
#include <cstdint>
#include <string>

#include <emulator/runtime/memory.h>

namespace emulator {

/* Pinned, registered or managed memory at that address; NULL if it is none. */
allocation *find_pinned(const void *p);
cudaError_t free_managed(void *p);

/* A copy of that memory is pending: it `writes` the memory or reads it. The number ends it again. */
uint64_t protect_pinned(const void *p, size_t bytes, bool writes, std::string by);
void unprotect_pinned(uint64_t number);

/* Lifts all protection while work runs, and puts it back. */
void open_pinned();
void close_pinned();

/* For the fault handler, which holds no lock: if that address is protected, opens its pages and tells what was pending. */
bool survive_pinned_access(uint64_t address, char *out_text, size_t capacity);

}  // namespace emulator

#endif
