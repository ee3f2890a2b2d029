// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/mirror_ring.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/integer.hpp"

namespace iqd {
namespace {

/// More than the address space of any process.
constexpr std::size_t kMostBytes = std::size_t{1} << 56;

[[noreturn]] void fail(const char* call, std::size_t bytes) {
  throw SetupError(fmt::format("sample ring: {} of {:.1f} MB failed: {}; a smaller block or fewer lanes need less",
                               call, static_cast<double>(bytes) / 1e6, std::strerror(errno)));
}

}  // namespace

std::size_t MirrorRing::page_bytes() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

MirrorRing::MirrorRing(std::size_t rows, std::size_t row_bytes) : rows_(rows), row_bytes_(row_bytes) {
  assert(rows > 0 && row_bytes > 0);
  const std::size_t physical = bounded_product(rows, row_bytes);
  if (physical > kMostBytes) {
    errno = ENOMEM;
    fail("mmap", physical);
  }
  assert(row_bytes % page_bytes() == 0);
  const int file = ::memfd_create("iqd-ring", MFD_CLOEXEC);
  if (file < 0) fail("memfd_create", physical);
  if (::ftruncate(file, static_cast<off_t>(physical)) != 0) {
    ::close(file);
    fail("ftruncate", physical);
  }
  // Reserve the whole range first, so that the pieces are contiguous whatever the process maps meanwhile.
  void* range = ::mmap(nullptr, 2 * physical, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  bool mapped = range != MAP_FAILED;
  for (std::size_t piece = 0; mapped && piece < 2 * rows; ++piece) {
    void* where = static_cast<std::byte*>(range) + piece * row_bytes;
    const auto from = static_cast<off_t>((piece / 2) * row_bytes);
    mapped = ::mmap(where, row_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, from) == where;
  }
  const int error = errno;
  ::close(file);
  if (!mapped) {
    if (range != MAP_FAILED) ::munmap(range, 2 * physical);
    errno = error;
    fail("mmap", physical);
  }
  base_ = static_cast<std::byte*>(range);
}

MirrorRing::~MirrorRing() {
  ::munmap(base_, 2 * rows_ * row_bytes_);
}

}  // namespace iqd
