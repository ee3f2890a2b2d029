// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "config/fields.hpp"

namespace iqd::radio::zmq {

/// Where a socket stands, as the configuration says it.
struct Endpoint {
  std::string bind;
  std::string connect;
  bool insecure = false;

  void fields(FieldVisitor& visitor);
  void check(const Section& section) const;
  const std::string& address() const { return bind.empty() ? connect : bind; }
};

/// One ZeroMQ socket. All sockets of the process share a context, so that they meet over inproc:// as well.
class Socket {
 public:
  /// Throws SetupError.
  explicit Socket(int type);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void set(int option, int value);
  void subscribe(const std::string& prefix);
  /// Throws a SetupError that says what to do.
  void open(const Endpoint& endpoint);
  void* handle() const noexcept { return socket_; }

 private:
  std::shared_ptr<void> context_;
  void* socket_;
};

/// What went wrong in the last call of libzmq.
std::string last_error();

}  // namespace iqd::radio::zmq
