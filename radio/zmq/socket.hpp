// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "net/binding.hpp"
#include "net/door.hpp"

namespace iqd::radio::zmq {

/// Where a socket stands, as the configuration says it.
struct Endpoint {
  std::string bind;
  std::string connect;
  net::Access access;

  const std::string& address() const { return bind.empty() ? connect : bind; }
};

/// One ZeroMQ socket. Those at inproc:// share a context, so that they meet; any other has its own, and a door.
class Socket {
 public:
  /// Throws SetupError.
  Socket(int type, Endpoint endpoint);
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void set(int option, int value);
  void subscribe(const std::string& prefix);
  /// Before `open`: a host that vanishes without a word counts as a peer that hung up, after 30 s at most. Not for
  /// readers that may stop reading.
  void notice_lost_hosts();
  /// Peers that announce a message of more than `message_bytes` are disconnected. Throws a SetupError that says what to
  /// do.
  void open(std::int64_t message_bytes);
  /// Of a ZMQ_XPUB socket, in its thread, now and then: what readers ask for would pile up.
  void read_subscriptions();
  void* handle() const noexcept { return socket_.get(); }
  /// None at inproc://, and before `open`.
  const net::Door* door() const noexcept { return door_.get(); }

 private:
  Endpoint endpoint_;
  net::Binding binding_;  // goes after the context, with which the socket is closed
  std::shared_ptr<void> context_;
  net::SocketHandle socket_;
  std::unique_ptr<net::Door> door_;
};

/// What peers send that are sent to: subscriptions, or nothing.
inline constexpr std::int64_t kAnswerBytes = net::Subscriptions::kMessageBytes;

/// What went wrong in the last call of libzmq.
std::string last_error();

}  // namespace iqd::radio::zmq
