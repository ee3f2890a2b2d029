// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "daemon/http/http_access.hpp"
#include "daemon/http/http_routes.hpp"
#include "daemon/http/http_waiting.hpp"
#include "net/descriptors.hpp"

struct mg_connection;
struct mg_context;

namespace iqd {

/// Serves HTTP on `monitor: listen` by threads of its own, of which there are few: who is slow loses its place to
/// others who call, and keeps nobody waiting. A change is waited for, so while a door is closed its service has to go
/// on answering.
class HttpDoor {
 public:
  /// Throws SetupError where the port cannot be had, UsageError where address or token are wrong.
  HttpDoor(Service& service, const Spec& spec);
  ~HttpDoor();
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

  /// Where it listens, with the port that it got.
  const ListenAddress& address() const noexcept { return address_; }

 private:
  int serve(mg_connection* connection);
  HttpAnswer answer(mg_connection* connection, bool& has_unread_body);

  Service& service_;
  PlanView plans_;
  ListenAddress address_;
  HttpAccess access_;
  HttpWaiting waiting_;
  mg_context* server_ = nullptr;
  std::optional<net::ControlPort> port_;
};

}  // namespace iqd
