// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/plan_view.hpp"
#include "daemon/http/service.hpp"

namespace iqd {

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string_view type = "application/json";
  std::string header{};  // one more line, with its end
};
/// `{"problems": […]}`
HttpAnswer refusal(int status, const std::vector<std::string>& problems);

/// What an answer is made of.
struct HttpCall {
  Service& service;
  PlanView& plans;
  std::vector<std::string_view> names;  // what stood in place of each `*`
  std::string_view body;
};

/// One thing that can be asked. GET serves HEAD as well; everything else changes what runs.
struct HttpRoute {
  std::string_view method;
  std::string_view path;  // `*` is any one part
  std::string_view meaning;
  HttpAnswer (*answer)(const HttpCall& call);

  bool changes() const noexcept { return method != "GET"; }
};
std::span<const HttpRoute> http_routes();

/// The route for a request, with the parts of the path that `*` stood for. Null where there is none; then `answer` says
/// so.
const HttpRoute* find_route(std::string_view method, std::string_view path, std::vector<std::string_view>& names,
                            HttpAnswer& answer);

}  // namespace iqd
