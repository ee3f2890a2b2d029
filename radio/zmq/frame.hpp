// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <cstddef>
#include <string_view>

namespace iqd::radio::zmq {

/// One frame of a message.
class Frame {
 public:
  Frame() { ::zmq_msg_init(&message_); }
  ~Frame() { ::zmq_msg_close(&message_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  bool receive(void* socket, int flags = 0) { return ::zmq_msg_recv(&message_, socket, flags) >= 0; }
  bool more() const { return ::zmq_msg_more(&message_) != 0; }
  std::size_t size() const { return ::zmq_msg_size(&message_); }
  const char* data() const { return static_cast<const char*>(::zmq_msg_data(const_cast<zmq_msg_t*>(&message_))); }
  std::string_view text() const { return {data(), size()}; }

 private:
  zmq_msg_t message_;
};

}  // namespace iqd::radio::zmq
