// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/http/http_access.hpp"
#include "daemon/http/http_live.hpp"
#include "daemon/http/http_routes.hpp"
#include "daemon/http/http_waiting.hpp"
#include "net/descriptors.hpp"

struct mg_connection;
struct mg_context;

namespace iqd {

/// Serves HTTP on `monitor: listen` with a few threads of its own. When they are all taken, the client that waits
/// longest is disconnected. Requests for changes wait for the service, so it must keep answering while this is
/// destroyed.
class HttpDoor {
 public:
  /// Throws SetupError if it cannot listen on the port, UsageError if address or token are invalid.
  HttpDoor(Service& service, const Spec& spec);
  ~HttpDoor();
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

  /// Where it listens, with the actual port.
  const ListenAddress& address() const noexcept { return address_; }
  /// The viewers of the live page leave; the rest is served as before. Call it as soon as iqd stops.
  void close_live();

 private:
  void start(std::size_t threads);
  int serve(mg_connection* connection);
  bool is_viewer(mg_connection* connection) const;
  std::optional<HttpAnswer> refuse_live(mg_connection* connection) const;
  void show_live(mg_connection* connection) noexcept;
  HttpAnswer answer(mg_connection* connection, bool& has_unread_body);

  Service& service_;
  PlanView plans_;
  ListenAddress address_;
  HttpAccess access_;
  const std::string recordings_;    // their folder
  std::unique_ptr<HttpLive> live_;  // null: there is no page
  HttpWaiting waiting_;
  mg_context* server_ = nullptr;
  std::optional<net::ControlPort> port_;
};

}  // namespace iqd
