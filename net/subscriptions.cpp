// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/subscriptions.hpp"

namespace iqd::net {

std::string_view Subscriptions::take(std::string_view message, std::int64_t now_ns) {
  if (now_ns - since_ns_ > 1'000'000'000) since_ns_ = now_ns, messages_ = 0;
  if (++messages_ > kMessagesASecond) return "more than 4096 messages a second";
  if (message.empty() || (message[0] != 0 && message[0] != 1)) return {};
  const std::string_view topic = message.substr(1);
  if (message[0] == 1) {
    if (held_.emplace(topic).second) bytes_ += topic.size();
  } else if (const auto found = held_.find(topic); found != held_.end()) {
    bytes_ -= topic.size();
    held_.erase(found);
  }
  if (held_.size() > kMost) return "more than 512 subscriptions";
  return bytes_ > kMostBytes ? "subscriptions of more than 8 KiB" : "";
}

}  // namespace iqd::net
