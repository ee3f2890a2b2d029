// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "radio/soapy-modules/warp/packet.hpp"
#include "radio/soapy-modules/warp/udp.hpp"

namespace iqd::warp {

/// Switches a transmitter off when nobody is in control any more: a process of its own, which says some last words to
/// the nodes when this one has ended, however it did, or gives no sign of life for too long.
///
/// It is another program, `warp_guard` beside the module, since a copy of a process with a GPU's memory is no small
/// thing.
class Guard {
 public:
  struct Words {
    sockaddr_in to;
    Bytes packet;
  };
  /// Throws std::runtime_error where it cannot be started.
  Guard(const std::vector<Words>& last, std::int64_t patience_ns);
  /// Lets it act, unless it was dismissed.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// A sign of life. False: it did not come in time, and the transmitter is off.
  bool alive() noexcept;
  /// What had to be switched off is.
  void dismiss() noexcept;

 private:
  void send(const void* bytes, std::size_t size);
  int socket_;
  pid_t process_ = 0;
  std::int64_t told_every_ns_;
  std::int64_t told_ns_ = 0;
};

}  // namespace iqd::warp
