// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace iqd::net {

/// Allows this program as many descriptors as the system lets it have, up to 65,536. At the start.
void raise_descriptor_limit() noexcept;

/// The numbers of descriptors are parted, so that nobody can take those of others. Those below this are for this
/// program alone: half of what it may have, and no more than the 1,024 that select(2) can take, which some drivers of
/// radios use.
int own_descriptors() noexcept;
/// So many from there on are for those who look at it and control it, who come to the port of a ControlPort: a quarter
/// of the rest, and no more than 512.
int control_descriptors() noexcept;
/// As long as this lives, that port of TCP is the control's. One at a time.
class ControlPort {
 public:
  /// `came` sees each connection, in the thread that accepts it, and who it is of: `127.0.0.1 port 4242`.
  using Came = std::function<void(int file, std::string peer)>;
  ControlPort(int port, Came came);
  ~ControlPort();
  ControlPort(const ControlPort&) = delete;
  ControlPort& operator=(const ControlPort&) = delete;
};
/// The rest is for all other peers: `accept` and `accept4` are defined here for the whole process, libraries included.
/// Where none is left a connection is closed at once. That is counted, and the log names the peer.
std::uint64_t connections_refused() noexcept;

/// As long as this lives nobody is let in, so that what was found free stays free.
class FreeDescriptors {
 public:
  /// Throws SetupError where fewer than `count` are free.
  explicit FreeDescriptors(int count);

 private:
  std::unique_lock<std::mutex> gate_;
};

/// Throws SetupError where so many threads cannot be started.
void require_threads(int count);

}  // namespace iqd::net
