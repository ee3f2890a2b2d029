// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <memory>
#include <string>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "config/fields.hpp"
#include "radio/zmq/header.hpp"
#include "radio/zmq/socket.hpp"

namespace iqd::radio::zmq {

enum class SourceKind { pull, sub };
std::span<const std::string_view> enum_names(SourceKind);
enum class SampleFormat { cf32, sc16 };
std::span<const std::string_view> enum_names(SampleFormat);

struct SourceSettings {
  Endpoint endpoint;
  SourceKind kind = SourceKind::sub;
  std::string topic;
  double rate_hz = 0;
  double frequency_hz = 0;
  std::int64_t channels = 1;
  SampleFormat element = SampleFormat::cf32;

  Element type() const { return element == SampleFormat::sc16 ? Element::sc16 : Element::cf32; }
};

/// One frame of a message.
class Frame {
 public:
  Frame() { ::zmq_msg_init(&message_); }
  ~Frame() { ::zmq_msg_close(&message_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  bool receive(void* socket) { return ::zmq_msg_recv(&message_, socket, 0) >= 0; }
  bool more() const { return ::zmq_msg_more(&message_) != 0; }
  std::size_t size() const { return ::zmq_msg_size(&message_); }
  const char* data() { return static_cast<const char*>(::zmq_msg_data(&message_)); }

 private:
  zmq_msg_t message_;
};

/// Samples from messages in iqd's own wire format. Messages that are none, or that do not hold what the configuration
/// says, are counted and left out; what is missing between two that were taken becomes `lost`.
class ZmqSource final : public Source {
 public:
  explicit ZmqSource(const SourceSettings& settings);
  StreamInfo info() const override;
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;

  /// Messages that were left out.
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  enum class Fetched { message, nothing, restarted, failed };
  Fetched fetch();
  bool fetch_frames(bool& complete);
  bool refuse(std::string_view why);
  bool accept();
  Fetched follow(const Header& header);
  Received deliver(std::span<std::byte* const> into, std::int64_t most);

  SourceSettings settings_;
  Socket socket_;
  Frame head_;
  Frame payload_;
  Header header_;
  Layout layout_;
  std::int64_t done_ = 0;  // samples of the message that were delivered
  std::int64_t lost_ = 0;  // before its first
  bool begun_ = false;
  std::int64_t expected_ = 0;  // source index of the next message
  std::uint64_t refused_ = 0;
  log::RateLimit limit_;
};

class ZmqSourceOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  StreamInfo describe(const Section& section) const override;
  std::unique_ptr<Source> open() const override { return std::make_unique<ZmqSource>(settings_); }

 private:
  SourceSettings settings_;
};

}  // namespace iqd::radio::zmq
