// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/topic_census.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.hpp"
#include "config/fields.hpp"

namespace iqd {
namespace {

// Against a sender with invented topics.
constexpr std::size_t kMostTopicsListed = 256;

std::string content_of(const MessageView& m) {
  const auto text = [&](const char* key) {
    const auto at = m.header.find(key);
    return at != m.header.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const std::string type = text("datatype");
  return fmt::format("{} {}  {}", type.empty() ? m.dtype : type, shape_text(m), text("port"));
}

std::string rate_text(double bytes_per_second) {
  if (bytes_per_second >= 1e6) return fmt::format("{:.1f} MB/s", bytes_per_second / 1e6);
  return fmt::format("{:.1f} kB/s", bytes_per_second / 1e3);
}

}  // namespace

void TopicCensus::take(std::string_view topic, std::size_t bytes, const MessageView* message) {
  auto at = topics_.find(topic);
  if (at == topics_.end()) {
    if (topics_.size() >= kMostTopicsListed) return;
    at = topics_.emplace(topic, Topic{}).first;
  }
  ++at->second.messages;
  at->second.bytes += bytes;
  at->second.content = message ? content_of(*message) : "in another framing than json";
}

std::vector<std::string> TopicCensus::lines(double seconds) const {
  std::size_t widest = 0;
  for (const auto& [name, topic] : topics_) widest = std::max(widest, name.size());
  std::vector<std::string> all;
  const double over = std::max(seconds, 1e-3);
  for (const auto& [name, topic] : topics_)
    all.push_back(fmt::format("  {:<{}}  {:8.1f} messages/s  {:>12}  {}", printable(name),
                              std::min<std::size_t>(widest, 40), static_cast<double>(topic.messages) / over,
                              rate_text(static_cast<double>(topic.bytes) / over), printable(topic.content)));
  return all;
}

std::string TopicCensus::nearest(std::string_view wanted) const {
  std::vector<std::string_view> names;
  for (const auto& [name, topic] : topics_) names.push_back(name);
  return printable(did_you_mean(wanted, names));
}

}  // namespace iqd
