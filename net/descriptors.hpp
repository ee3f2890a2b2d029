// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <mutex>

namespace iqd::net {

/// Allows this program as many descriptors as the system lets it have, up to 65,536. At the start.
void raise_descriptor_limit() noexcept;

/// The numbers of descriptors are parted, so that nobody can take those of others. Those below this are for this
/// program alone: half of what it may have, and no more than the 1,024 that select(2) can take, which some drivers of
/// radios use.
int own_descriptors() noexcept;
/// So many from there on are for those who look at it and control it, if they come through `accept_control`: a quarter
/// of the rest, and no more than 512.
int control_descriptors() noexcept;
/// As accept4(2), for one that does not wait.
int accept_control(int listener, sockaddr* address, socklen_t* size, int flags);
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
