// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/message_tally.hpp"

#include <algorithm>

namespace iqd {
namespace {

// Bounds against a sender with invented topics and numbers: beyond them, messages are only counted.
constexpr std::size_t kMostTopics = 4096;
constexpr std::size_t kMostMissing = 4096;

}  // namespace

void MessageTally::take(const MessageView& m, std::uint64_t bytes, std::int64_t now_ns) {
  if (totals_.messages++ == 0) {
    first_ns_ = now_ns;
    first_bytes_ = bytes;
  }
  last_ns_ = now_ns;
  totals_.bytes += bytes;
  totals_.gap += static_cast<std::uint64_t>(m.gap);
  auto topic = topics_.find(m.topic);
  if (topic == topics_.end()) {
    if (topics_.size() >= kMostTopics) return;
    topic = topics_.emplace(m.topic, Topic{}).first;
  }
  if (m.seq) follow(topic->second, m);
}

void MessageTally::follow(Topic& topic, const MessageView& m) {
  const std::uint64_t seq = *m.seq;
  const std::int64_t time_ns = m.time_ns.value_or(0);
  const bool begins_anew = topic.started && seq == 0 && topic.next > 1 && time_ns > topic.newest_ns;
  if (begins_anew) ++totals_.restarts;
  if (!topic.started || begins_anew) {
    topic = {true, seq + 1, time_ns, {}};
    return;
  }
  topic.newest_ns = std::max(topic.newest_ns, time_ns);
  if (seq < topic.next) {
    ++totals_.out_of_order;
    totals_.lost -= topic.missing.erase(seq);
    return;
  }
  totals_.lost += seq - topic.next;
  const std::uint64_t followed = std::min<std::uint64_t>(seq - topic.next, kMostMissing);
  for (std::uint64_t s = seq - followed; s < seq; ++s) topic.missing.insert(topic.missing.end(), s);
  while (topic.missing.size() > kMostMissing) topic.missing.erase(topic.missing.begin());
  topic.next = seq + 1;
}

MessageTally::Totals MessageTally::totals() const noexcept {
  Totals t = totals_;
  t.topics = topics_.size();
  t.seconds = static_cast<double>(last_ns_ - first_ns_) / 1e9;
  if (t.seconds <= 0) return t;
  t.bytes_per_second = static_cast<double>(t.bytes - first_bytes_) / t.seconds;
  t.messages_per_second = static_cast<double>(t.messages - 1) / t.seconds;
  return t;
}

}  // namespace iqd
