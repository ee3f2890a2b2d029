// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/allocations.hpp"

#include <cstddef>

#include "tests/support/own_allocator.hpp"

namespace {
thread_local std::uint64_t calls = 0;
}

#if IQD_COUNTS
// glibc's own malloc functions; the program's malloc is interposed above them.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t n) {
  ++calls;
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) {
  ++calls;
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) {
  ++calls;
  return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) {
  ++calls;
  return __libc_memalign(alignment, n);
}
}
#endif

namespace iqd::conformance {

bool can_count_allocations() noexcept {
  return IQD_COUNTS == 1;
}
std::uint64_t allocations() noexcept {
  return calls;
}

}  // namespace iqd::conformance
