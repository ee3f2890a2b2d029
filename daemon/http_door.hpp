// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http_access.hpp"
#include "daemon/http_routes.hpp"

struct mg_connection;
struct mg_context;

namespace iqd {

/// Serves HTTP on `monitor: listen` by threads of its own, of which there are few: who is slow keeps others who call
/// waiting for seconds at most, and nothing else. A change is waited for, so while a door is closed its service has to
/// go on answering.
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
  mg_context* server_ = nullptr;
};

}  // namespace iqd
