// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace iqd::net {

/// The subscriptions of one reader of a publisher, and their limits. libzmq uses about 50 bytes for each character of a
/// subscription. When a reader leaves, it goes through the subscriptions of all readers in the publishing thread: 0.4
/// us for each character (EPYC, libzmq 4.3.4).
class Subscriptions {
 public:
  static constexpr std::size_t kMost = 512;
  static constexpr std::size_t kMostBytes = 8 << 10;
  /// Limit for all readers of a socket. The reader with the most is cut off first.
  static constexpr std::size_t kMostBytesOfAll = 128 << 10;
  /// Limit of a message.
  static constexpr std::int64_t kMessageBytes = 512;
  static constexpr int kMessagesASecond = 4096;

  /// Takes a message that arrived at `now_ns`. Returns the limit that this reader exceeds; empty: none.
  std::string_view take(std::string_view message, std::int64_t now_ns);
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::set<std::string, std::less<>> held_;
  std::size_t bytes_ = 0;
  std::int64_t since_ns_ = 0;
  int messages_ = 0;  // since then
};

}  // namespace iqd::net
