// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hosts/link_config.hpp"
#include "hosts/pool_options.hpp"

namespace iqd::hosts {

/// A stream of a NATS server, whose messages all have one subject.
struct StreamConfig {
  std::string stream;
  std::string subject;
  std::int64_t max_bytes = 256 << 20;
  double max_age_s = 0;  // 0: no limit
  Storage storage = Storage::memory;
  std::int64_t replicas = 1;
};

/// Stores messages: a header as text, and a payload. One thread.
class MessageStore {
 public:
  virtual ~MessageStore() = default;
  /// Returns when it is stored. False: the server has not stored it.
  virtual bool put(std::string_view head, std::span<const std::byte> payload) = 0;
};
/// Connects, and makes the stream. Throws SetupError, also if this build has no libnats.
std::unique_ptr<MessageStore> open_store(const LinkConfig& link, const StreamConfig& config);

/// Where a reader without a place in the stream begins.
enum class ReadFrom : std::uint8_t { now, first, last };
inline std::span<const std::string_view> enum_names(ReadFrom) {
  static constexpr std::string_view names[] = {"now", "first", "last"};
  return names;
}

/// Reads them in order. One thread.
class MessageFeed {
 public:
  virtual ~MessageFeed() = default;
  enum class Got : std::uint8_t { message, nothing, nonsense, failed };
  /// The next message, if one comes within this time. The one before has been used then.
  virtual Got next(int wait_ms) = 0;
  /// Of the last message.
  virtual std::string_view head() const noexcept = 0;
  virtual std::string_view payload() const noexcept = 0;
  virtual std::string trouble() const = 0;
};
/// `reader`: the name under which the server keeps its place. Throws SetupError, also if there is no such stream.
std::unique_ptr<MessageFeed> open_feed(const LinkConfig& link, const std::string& stream, const std::string& reader,
                                       ReadFrom from);

}  // namespace iqd::hosts
