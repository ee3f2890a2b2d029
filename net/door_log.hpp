// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/log.hpp"

namespace iqd::net {

/// Logs which peers of a socket could not connect, and which were disconnected, since the peers get no reason. At most
/// one line of each kind per second. Any thread.
class DoorLog {
 public:
  /// `name` starts the lines.
  explicit DoorLog(std::string name) : name_(std::move(name)) {}
  const std::string& name() const noexcept { return name_; }
  void handshake_failed(std::string_view peer, std::string_view why) {
    if (std::uint64_t more = 0; failures_.allow(more))
      log::warn("{}: a handshake with {} failed: {}{}", name_, peer, why, log::more_times(more));
  }
  void disconnected(std::string_view peer, std::string_view what_it_sent) {
    if (std::uint64_t more = 0; disconnections_.allow(more))
      log::warn("{}: {} was disconnected: it sent {}{}", name_, peer, what_it_sent, log::more_times(more));
  }

 private:
  std::string name_;
  log::RateLimit failures_;
  log::RateLimit disconnections_;
};

}  // namespace iqd::net
