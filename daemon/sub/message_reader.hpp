// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/sub/message_view.hpp"
#include "radio/zmq/socket.hpp"

namespace iqd {

/// Where messages come from.
struct MessageOrigin {
  std::string endpoint;
  std::string topic;  // empty: all
  bool push = false;  // the publisher has `kind: push`
  bool bind = false;
  net::Access access;
};

/// Throws UsageError unless a publisher can have this address.
void require_endpoint(const std::string& endpoint);

/// A part of a message; libzmq owns its memory.
class MessageFrame {
 public:
  MessageFrame() { ::zmq_msg_init(&message_); }
  ~MessageFrame() { ::zmq_msg_close(&message_); }
  MessageFrame(const MessageFrame&) = delete;
  MessageFrame& operator=(const MessageFrame&) = delete;
  /// False if no message is waiting.
  bool receive(void* socket) { return ::zmq_msg_recv(&message_, socket, ZMQ_DONTWAIT) >= 0; }
  bool more() { return ::zmq_msg_more(&message_) != 0; }
  std::span<const std::byte> bytes() {
    return {static_cast<const std::byte*>(::zmq_msg_data(&message_)), ::zmq_msg_size(&message_)};
  }
  std::string_view text() { return {static_cast<const char*>(::zmq_msg_data(&message_)), bytes().size()}; }

 private:
  zmq_msg_t message_;
};

/// Receives messages and parses them. One thread.
class MessageReader {
 public:
  enum class Came : std::uint8_t { nothing, message, malformed };

  /// Connects or binds. Throws SetupError.
  explicit MessageReader(const MessageOrigin& origin);

  /// Takes a message if one is waiting. It stays valid until the next call.
  Came next();
  MessageView& message() noexcept { return *message_; }
  /// Of the last message, even if it is malformed.
  std::string_view topic() const noexcept { return topic_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// What is wrong with the last malformed message.
  const std::string& why() const noexcept { return why_; }

  /// Returns when a message is waiting, or after this time, but at most after a tenth of a second.
  void wait(std::int64_t most_ns);
  /// Also subscribes to all other topics, or stops that.
  void hear_all(bool all);
  const net::Door* door() const noexcept { return socket_.door(); }

 private:
  radio::zmq::Socket socket_;
  bool hears_all_ = false;
  std::optional<MessageFrame> head_, payload_;
  std::optional<MessageView> message_;
  std::string_view topic_;
  std::size_t bytes_ = 0;
  std::string why_;
};

}  // namespace iqd
