// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/replaced_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace iqd::radio {
namespace {

bool write_whole(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

bool ReplacedFile::prepare(const std::string& text) const {
  const int file = ::open(part().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool written = write_whole(file, text) && ::fsync(file) == 0;
  const int why = errno;
  ::close(file);
  if (!written) ::unlink(part().c_str());
  errno = why;
  return written;
}

bool ReplacedFile::commit() const {
  if (::rename(part().c_str(), path_.c_str()) == 0) return true;
  const int why = errno;
  ::unlink(part().c_str());
  errno = why;
  return false;
}

}  // namespace iqd::radio
