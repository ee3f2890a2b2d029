// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "net/binding.hpp"
#include "net/door.hpp"

namespace iqd::radio::zmq {

/// A socket's address, as configured.
struct Endpoint {
  std::string bind;
  std::string connect;
  net::Access access;

  const std::string& address() const { return bind.empty() ? connect : bind; }
};

/// One ZeroMQ socket. inproc:// sockets share a context, so that they can connect; any other has its own context, and a
/// door.
class Socket {
 public:
  /// Throws SetupError.
  Socket(int type, Endpoint endpoint);
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void set(int option, int value);
  void subscribe(const std::string& prefix);
  /// Call before `open`: a host that disappears silently counts as a peer that hung up, after at most 30 s. Not for
  /// subscribers that may stop reading.
  void notice_lost_hosts();
  /// Disconnects peers that announce a message of more than `message_bytes`. Throws a SetupError that says what to do.
  void open(std::int64_t message_bytes);
  /// For a ZMQ_XPUB socket, in its thread, now and then: unread subscriptions would pile up.
  void read_subscriptions();
  void* handle() const noexcept { return socket_.get(); }
  /// Null for inproc://, and before `open`.
  const net::Door* door() const noexcept { return door_.get(); }

 private:
  Endpoint endpoint_;
  net::Binding binding_;  // destroyed after the context, which closes the socket
  std::shared_ptr<void> context_;
  net::SocketHandle socket_;
  std::unique_ptr<net::Door> door_;
};

/// Size limit of messages from readers of a sink: subscriptions, or nothing.
inline constexpr std::int64_t kAnswerBytes = net::Subscriptions::kMessageBytes;

/// The error of the last call of libzmq.
std::string last_error();

}  // namespace iqd::radio::zmq
