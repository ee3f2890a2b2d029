// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/event_file.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace iqd {

EventFile::EventFile() : file_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (file_ < 0) throw SetupError(fmt::format("cannot create an eventfd: {}", std::strerror(errno)));
}

EventFile::~EventFile() {
  ::close(file_);
}

void EventFile::set() const noexcept {
  ::eventfd_write(file_, 1);
}

bool EventFile::take() const noexcept {
  eventfd_t count = 0;
  return ::eventfd_read(file_, &count) == 0;
}

}  // namespace iqd
