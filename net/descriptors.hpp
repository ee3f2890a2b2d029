// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace iqd::net {

/// Raises this program's descriptor limit to the system's maximum, up to 65,536. Call at the start.
void raise_descriptor_limit() noexcept;

/// Descriptor numbers are divided into shares that cannot take from each other. Numbers below this are for this program
/// itself: half of the limit, at most 1,024, which is the limit of select(2) that some radio drivers use.
int own_descriptors() noexcept;
/// The next share is for connections to the ControlPort, i.e. for monitoring and control: a quarter of the rest, at
/// most 512.
int control_descriptors() noexcept;
/// During its lifetime, this TCP port is the control port. One at a time. Its connections end when a peer has not
/// acknowledged for 10 s what was sent to it.
class ControlPort {
 public:
  /// `came` gets each connection, in the thread that accepts it, and its peer: `127.0.0.1 port 4242`.
  using Came = std::function<void(int file, std::string peer)>;
  ControlPort(int port, Came came);
  ~ControlPort();
  ControlPort(const ControlPort&) = delete;
  ControlPort& operator=(const ControlPort&) = delete;
};
/// The rest is for all other peers: `accept` and `accept4` are defined here for the whole process, including libraries.
/// If no descriptor is left, a connection is closed at once; it is counted, and the log names the peer.
std::uint64_t connections_refused() noexcept;

/// During its lifetime no connection is accepted, so that free descriptors stay free.
class FreeDescriptors {
 public:
  /// Throws SetupError if fewer than `count` are free.
  explicit FreeDescriptors(int count);

 private:
  std::unique_lock<std::mutex> gate_;
};

/// Throws SetupError if `count` threads cannot be started.
void require_threads(int count);

}  // namespace iqd::net
