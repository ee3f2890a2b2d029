// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/outlet.hpp"

namespace iqd::testing {

/// A reader as in another program, with its own context.
class ZmqReader {
 public:
  /// `type`: ZMQ_SUB or ZMQ_PULL. `buffer`: messages and, roughly, bytes that it queues until it is read; 0: plenty.
  ZmqReader(int type, const std::string& endpoint, int buffer = 0, bool binds = false)
      : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
    set(ZMQ_LINGER, 0);
    if (buffer > 0) {
      set(ZMQ_RCVHWM, 1);
      set(ZMQ_RCVBUF, buffer);
    } else {
      set(ZMQ_RCVHWM, 0);
    }
    if (binds)
      zmq_bind(socket_, endpoint.c_str());
    else
      zmq_connect(socket_, endpoint.c_str());
  }
  ~ZmqReader() { close(); }
  void close() {
    if (socket_) zmq_close(socket_);
    if (context_) zmq_ctx_term(context_);
    socket_ = context_ = nullptr;
  }
  void subscribe(const std::string& topic) { zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, topic.data(), topic.size()); }
  void unsubscribe(const std::string& topic) { zmq_setsockopt(socket_, ZMQ_UNSUBSCRIBE, topic.data(), topic.size()); }

  /// The frames of the next message; none after a timeout.
  std::vector<std::string> receive(int timeout_ms = 5000) {
    set(ZMQ_RCVTIMEO, timeout_ms);
    std::vector<std::string> frames;
    for (int more = 1; more;) {
      zmq_msg_t m;
      zmq_msg_init(&m);
      if (zmq_msg_recv(&m, socket_, 0) < 0) {
        zmq_msg_close(&m);
        return {};
      }
      frames.emplace_back(static_cast<const char*>(zmq_msg_data(&m)), zmq_msg_size(&m));
      more = zmq_msg_more(&m);
      zmq_msg_close(&m);
    }
    return frames;
  }

 private:
  void set(int option, int value) { zmq_setsockopt(socket_, option, &value, sizeof value); }
  void* context_;
  void* socket_;
};

/// Leases that are in use.
struct LeaseCount {
  std::atomic<int> out{0};
  Lease take() {
    ++out;
    return Lease([](void* c, int) noexcept { --static_cast<LeaseCount*>(c)->out; }, this, 0);
  }
};

template <class Ready> bool soon(Ready&& ready, int most_ms = 5000) {
  for (int i = 0; i < most_ms; ++i) {
    if (ready()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ready();
}

}  // namespace iqd::testing
