// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/shared_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace iqd {
namespace {

constexpr std::size_t kBytes = 8192;

TEST(SharedFile, AnotherMappingIsTheSameMemory) {
  const SharedFile file("test", kBytes, SharedFile::Other::may_write);
  void* const other = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.file(), 0);
  ASSERT_NE(other, MAP_FAILED);
  std::memset(file.data() + 100, 7, 1);
  EXPECT_EQ(static_cast<char*>(other)[100], 7);
  static_cast<char*>(other)[200] = 9;
  EXPECT_EQ(file.data()[200], std::byte{9});
  ::munmap(other, kBytes);
}

/// Else an access would raise SIGBUS.
TEST(SharedFile, NobodyCanChangeItsSize) {
  const SharedFile file("test", kBytes, SharedFile::Other::may_write);
  for (const off_t size : {off_t{0}, off_t{4096}, off_t{16384}}) {
    EXPECT_NE(::ftruncate(file.file(), size), 0);
    EXPECT_EQ(errno, EPERM);
  }
  EXPECT_NE(::fcntl(file.file(), F_ADD_SEALS, F_SEAL_WRITE), 0) << "seals are final";
}

TEST(SharedFile, WhoMayOnlyReadCannotWrite) {
  const SharedFile file("test", kBytes, SharedFile::Other::may_only_read);
  EXPECT_EQ(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.file(), 0), MAP_FAILED);
  EXPECT_LT(::pwrite(file.file(), "x", 1, 0), 0);
  void* const other = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file.file(), 0);
  ASSERT_NE(other, MAP_FAILED);
  EXPECT_NE(::mprotect(other, kBytes, PROT_READ | PROT_WRITE), 0);
  std::memset(file.data(), 5, 1);
  EXPECT_EQ(static_cast<char*>(other)[0], 5) << "the first mapping still writes";
  ::munmap(other, kBytes);
}

TEST(SharedFile, TooMuchIsRefused) {
  EXPECT_THROW(SharedFile("test", std::size_t{1} << 60, SharedFile::Other::may_write), SetupError);
}

}  // namespace
}  // namespace iqd
