// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "daemon/call/http_exchange.hpp"
#include "daemon/call/monitor_address.hpp"
#include "daemon/command/command_line.hpp"

namespace iqd {

/// What all commands that ask a running iqd have in common.
struct MonitorOptions {
  std::string address;
  std::string token_file;
  std::string pipeline;
  bool as_json = false;
};
void add_monitor_options(Command command, MonitorOptions& options);

/// Calls a running iqd over HTTP, one connection for each request.
class MonitorClient {
 public:
  /// Throws UsageError if the address or the token's file is wrong.
  explicit MonitorClient(const MonitorOptions& options);

  /// Throws SetupError if nothing answers there.
  HttpReply ask(std::string_view method, const std::string& path, const std::string& body = {}) const;
  /// The JSON of the answer. Throws SetupError if the request is refused, with the reasons, one per line.
  nlohmann::json call(std::string_view method, const std::string& path, const std::string& body = {}) const;

  const MonitorAddress& address() const noexcept { return address_; }

 private:
  std::string refusal(const HttpReply& answer) const;

  MonitorAddress address_;
  std::string token_;
};

/// The path of a stage, or of all stages if its name is empty; of one pipeline, if it is named.
std::string path_of_stage(std::string_view pipeline, std::string_view stage);

}  // namespace iqd
