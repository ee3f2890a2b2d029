// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/shared_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace iqd {
namespace {

#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 0x0010;
#endif

[[noreturn]] void no_memory(const char* call, std::size_t bytes) {
  throw SetupError(fmt::format("shared memory: {} of {:.1f} MB failed: {}", call, static_cast<double>(bytes) / 1e6,
                               std::strerror(errno)));
}

}  // namespace

SharedFile::SharedFile(const char* name, std::size_t bytes, Other other)
    : file_(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)), bytes_(bytes) {
  if (file() < 0) no_memory("memfd_create", bytes);
  if (::ftruncate(file(), static_cast<off_t>(bytes)) != 0) no_memory("ftruncate", bytes);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file(), 0);
  if (memory == MAP_FAILED) no_memory("mmap", bytes);
  data_ = static_cast<std::byte*>(memory);
  // Later mappings cannot write, nor can write(2); this one can. Linux before 5.1 does not have this seal.
  if (other == Other::may_only_read) ::fcntl(file(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
  if (::fcntl(file(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return;
  const int error = errno;
  ::munmap(memory, bytes);
  errno = error;
  no_memory("fcntl", bytes);
}

SharedFile::~SharedFile() {
  ::munmap(data_, bytes_);
}

}  // namespace iqd
