// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/socket.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <cerrno>
#include <mutex>

#include "base/error.hpp"

namespace iqd::radio::zmq {
namespace {

bool is_inproc(std::string_view a) {
  return a.starts_with("inproc://");
}

std::shared_ptr<void> new_context() {
  return net::make_context();
}
std::shared_ptr<void> shared_context() {
  static std::mutex mutex;
  static std::weak_ptr<void> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<void> context = current.lock();
  if (!context) current = context = new_context();
  return context;
}

}  // namespace

std::string last_error() {
  return ::zmq_strerror(::zmq_errno());
}

Socket::Socket(int type, Endpoint endpoint)
    : endpoint_(std::move(endpoint)),
      context_(is_inproc(endpoint_.address()) ? shared_context() : new_context()),
      socket_(::zmq_socket(context_.get(), type)) {
  if (!socket_) throw SetupError("zmq: cannot create a socket: " + last_error());
  set(ZMQ_LINGER, 0);
}

void Socket::set(int option, int value) {
  if (::zmq_setsockopt(handle(), option, &value, sizeof value) != 0)
    throw SetupError("zmq: cannot set a socket option: " + last_error());
}

void Socket::subscribe(const std::string& prefix) {
  if (::zmq_setsockopt(handle(), ZMQ_SUBSCRIBE, prefix.data(), prefix.size()) != 0)
    throw SetupError("zmq: cannot subscribe: " + last_error());
}

void Socket::notice_lost_hosts() {
  set(ZMQ_TCP_KEEPALIVE, 1);
  set(ZMQ_TCP_KEEPALIVE_IDLE, 10);
  set(ZMQ_TCP_KEEPALIVE_INTVL, 5);
  set(ZMQ_TCP_KEEPALIVE_CNT, 4);
  set(ZMQ_TCP_MAXRT, 30'000);
}

void Socket::open(std::int64_t message_bytes) {
  const bool bound = !endpoint_.bind.empty();
  const std::string& address = endpoint_.address();
  if (!is_inproc(address))
    door_ = std::make_unique<net::Door>(context_.get(), socket_.get(), endpoint_.access, bound, "zmq: " + address,
                                        message_bytes);
  if ((bound ? binding_.bind(handle(), address) : ::zmq_connect(handle(), address.c_str())) == 0) return;
  const int why = ::zmq_errno();
  throw SetupError(fmt::format("zmq: cannot {} {}: {}{}", bound ? "bind" : "connect to", address, ::zmq_strerror(why),
                               net::what_to_do(why, address)));
}

void Socket::read_subscriptions() {
  if (door_) return door_->read_subscriptions([](std::string_view, bool) {});
  for (char text = 0; ::zmq_recv(handle(), &text, sizeof text, ZMQ_DONTWAIT) >= 0;) {
  }
}

}  // namespace iqd::radio::zmq
