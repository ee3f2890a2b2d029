// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/plan_view.hpp"
#include "daemon/http/service.hpp"
#include "daemon/live/live_hub.hpp"

namespace iqd {

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string_view type = "application/json";
  std::string header{};  // more header lines, each with its \r\n
  std::string_view policy = "default-src 'none'; frame-ancestors 'none'";
  std::string_view cache = "no-store";
  std::string file{};  // sent instead of the body
};
/// `{"problems": […]}`
HttpAnswer refusal(int status, const std::vector<std::string>& problems);
/// What became of a change.
HttpAnswer changed_answer(const ChangeReport& report);

/// Headers of a request that change the answer; empty if missing.
struct HttpHeaders {
  std::string_view accept;
  std::string_view if_none_match;
};

/// What a route needs to answer.
struct HttpCall {
  Service& service;
  PlanView& plans;
  const live::LiveHub* viewers;         // of the live page; null if there is no page
  std::vector<std::string_view> names;  // the part of the path for each `*`
  std::string_view body;
  HttpHeaders headers;
  std::string_view from;        // the caller's address
  std::string_view recordings;  // their folder; empty: there is none
};

/// One kind of request. GET serves HEAD as well; all other methods change what runs.
struct HttpRoute {
  std::string_view method;
  std::string_view path;  // `*` matches any one part
  std::string_view meaning;
  HttpAnswer (*answer)(const HttpCall& call);

  bool changes() const noexcept { return method != "GET"; }
};
std::span<const HttpRoute> http_routes();

/// The route for a request; `names` gets the parts of the path that match `*`. Null if there is none; `answer` then has
/// the refusal.
const HttpRoute* find_route(std::string_view method, std::string_view path, std::vector<std::string_view>& names,
                            HttpAnswer& answer);

}  // namespace iqd
