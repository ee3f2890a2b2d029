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

std::shared_ptr<void> shared_context() {
  static std::mutex mutex;
  static std::weak_ptr<void> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<void> context = current.lock();
  if (!context) current = context = std::shared_ptr<void>(::zmq_ctx_new(), [](void* c) { ::zmq_ctx_term(c); });
  return context;
}

/// No block is larger. Without a limit a few odd bytes from a peer make libzmq ask for any amount of memory.
constexpr std::int64_t kMostReceived = std::int64_t{4} << 30;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool is_address(std::string_view a) {
  return starts_with(a, "tcp://") || starts_with(a, "ipc://") || starts_with(a, "inproc://");
}
bool is_local(std::string_view a) {
  return !starts_with(a, "tcp://") || starts_with(a, "tcp://127.") || starts_with(a, "tcp://localhost:") ||
         starts_with(a, "tcp://[::1]:");
}

}  // namespace

std::string last_error() {
  return ::zmq_strerror(::zmq_errno());
}

void Endpoint::fields(FieldVisitor& v) {
  v.field("bind", bind, {.help = "address to wait at for peers, e.g. tcp://127.0.0.1:5555"});
  v.field("connect", connect, {.help = "address of a peer that waits"});
  v.field("insecure", insecure,
          {.help = "talk to other hosts although nothing is encrypted and nobody is asked who they are"});
}

void Endpoint::check(const Section& section) const {
  if (bind.empty() == connect.empty())
    return section.problem("", "exactly one of `bind` and `connect` is needed, e.g. bind: \"tcp://127.0.0.1:5555\"");
  const std::string_view key = bind.empty() ? "connect" : "bind";
  if (!is_address(address()))
    return section.problem(key,
                           fmt::format("'{}' is no address; they begin with tcp://, ipc:// or inproc://", address()));
  if (!is_local(address()) && !insecure)
    section.problem(key, fmt::format("{} is open to other hosts, and this socket has no keys: use 127.0.0.1, or say "
                                     "`insecure: true`",
                                     address()));
}

Socket::Socket(int type) : context_(shared_context()), socket_(::zmq_socket(context_.get(), type)) {
  if (!socket_) throw SetupError("zmq: cannot make a socket: " + last_error());
  set(ZMQ_LINGER, 0);
  ::zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &kMostReceived, sizeof kMostReceived);
}

Socket::~Socket() {
  ::zmq_close(socket_);
}

void Socket::set(int option, int value) {
  if (::zmq_setsockopt(socket_, option, &value, sizeof value) != 0)
    throw SetupError("zmq: cannot set a socket option: " + last_error());
}

void Socket::subscribe(const std::string& prefix) {
  if (::zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, prefix.data(), prefix.size()) != 0)
    throw SetupError("zmq: cannot subscribe: " + last_error());
}

void Socket::open(const Endpoint& endpoint) {
  const bool bound = !endpoint.bind.empty();
  const char* address = endpoint.address().c_str();
  if ((bound ? ::zmq_bind(socket_, address) : ::zmq_connect(socket_, address)) == 0) return;
  const char* advice =
      ::zmq_errno() == EADDRINUSE ? "; another program is bound to it: stop that, or choose another" : "";
  throw SetupError(
      fmt::format("zmq: cannot {} {}: {}{}", bound ? "bind" : "connect to", address, last_error(), advice));
}

}  // namespace iqd::radio::zmq
