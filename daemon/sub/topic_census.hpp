// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/sub/message_view.hpp"

namespace iqd {

/// Which topics a publisher has, and how much it sends on each.
class TopicCensus {
 public:
  /// `message` is null if it is malformed, or in another framing.
  void take(std::string_view topic, std::size_t bytes, const MessageView* message);
  bool empty() const noexcept { return topics_.empty(); }
  /// A line for each topic, with the rates of this time, the element type, the shape and the port.
  std::vector<std::string> lines(double seconds) const;
  /// ` (did you mean 'iq'?)`, or nothing.
  std::string nearest(std::string_view wanted) const;

 private:
  struct Topic {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::string content;  // of the last message
  };
  std::map<std::string, Topic, std::less<>> topics_;
};

}  // namespace iqd
