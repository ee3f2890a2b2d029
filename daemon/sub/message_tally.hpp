// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "daemon/sub/message_view.hpp"

namespace iqd {

/// Counts received and missing messages of all topics. Each topic has its own numbers, so each is followed separately.
class MessageTally {
 public:
  struct Totals {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;  // payloads and headers
    std::uint64_t malformed = 0;
    std::uint64_t gap = 0;           // lost samples by the headers
    std::uint64_t lost = 0;          // messages that seq skipped and that did not arrive later
    std::uint64_t out_of_order = 0;  // seq went back
    std::uint64_t restarts = 0;      // seq restarted at 0 while time continued
    std::uint64_t topics = 0;
    double seconds = 0;  // from the first message to the last
    /// Of the messages after the first; 0 while there is only one.
    double bytes_per_second = 0;
    double messages_per_second = 0;
  };

  /// `bytes` of both frames; `now_ns` on the steady clock.
  void take(const MessageView& message, std::uint64_t bytes, std::int64_t now_ns);
  void take_malformed() noexcept { ++totals_.malformed; }
  Totals totals() const noexcept;

 private:
  struct Topic {
    bool started = false;
    std::uint64_t next = 0;
    std::int64_t newest_ns = 0;
    std::set<std::uint64_t> missing;
  };
  void follow(Topic& topic, const MessageView& message);

  std::map<std::string, Topic, std::less<>> topics_;
  Totals totals_;
  std::uint64_t first_bytes_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
};

}  // namespace iqd
