// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "radio/soapy-modules/warp/node/packet.hpp"
#include "radio/soapy-modules/warp/node/udp.hpp"

namespace iqd::warp {

/// Switches a transmitter off when its program has lost control: a separate process that sends last commands to the
/// nodes when this process has ended, however it ended, or was silent for too long.
/// It is a program of its own, `warp_guard` beside the module, because forking a process with GPU memory is expensive.
class Guard {
 public:
  struct Words {
    sockaddr_in to;
    Bytes packet;
  };
  /// Throws std::runtime_error if the guard cannot be started.
  Guard(const std::vector<Words>& last, std::int64_t patience_ns);
  /// Makes the guard act, unless it was dismissed.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Sends a sign of life. Returns false if it came too late: then the transmitter is off.
  bool alive() noexcept;
  /// Ends the guard without action: the transmitter is already off.
  void dismiss() noexcept;

 private:
  void send(const void* bytes, std::size_t size);
  int socket_;
  pid_t process_ = 0;
  std::int64_t told_every_ns_;
  std::int64_t told_ns_ = 0;
};

}  // namespace iqd::warp
