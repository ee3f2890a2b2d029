// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/claim.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace iqd::warp {

/// An abstract socket name, without a file, which only one socket of the host can bind.
Claim::Claim(const Node& node) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "warp: cannot make a socket");
  const std::string name = "iqd-warp-" + text_of(node.options().address);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size) == 0) return;
  const int error = errno;
  ::close(fd_);
  if (error != EADDRINUSE) throw std::system_error(error, std::generic_category(), "warp: cannot claim " + node.name());
  throw std::runtime_error("warp: " + node.name() +
                           " is in use by another program on this host, or by this one under other arguments; stop "
                           "that or use another node");
}

Claim::~Claim() {
  ::close(fd_);
}

}  // namespace iqd::warp
