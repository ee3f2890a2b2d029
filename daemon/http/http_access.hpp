// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// `monitor: listen`, parsed.
struct ListenAddress {
  std::string host;  // 127.0.0.1
  int port = 0;      // 0: any free port
  bool is_loopback = false;

  std::string text() const { return host + ":" + std::to_string(port); }
};
/// Returns nothing unless it is an IPv4 address and a port. Host names are refused, since their address may change;
/// `localhost` is 127.0.0.1.
std::optional<ListenAddress> parse_listen(std::string_view text);

/// The secret in a file. Throws UsageError if it is missing, too short, or readable by others.
std::string read_token(const std::string& path);

/// Adds what is wrong with `monitor` to the file's problems. Reads the token, opens no port.
void check_monitor(const Spec& spec);

/// Takes the same time for any `given`, so that its duration does not reveal `secret`.
bool is_secret(std::string_view given, std::string_view secret) noexcept;

/// Headers of an HTTP request that show its origin; null if missing.
struct Caller {
  const char* host = nullptr;
  const char* origin = nullptr;
  const char* authorization = nullptr;
};

/// Why nobody may change anything.
inline constexpr std::string_view kNoToken =
    "without a token, nothing can be changed over this port: set `monitor: token`";

/// Decides which requests are allowed. A page in a browser on this machine is assumed hostile: the Host header reveals
/// DNS rebinding, the Origin header a cross-site request.
class HttpAccess {
 public:
  HttpAccess(bool is_loopback, std::string token) : is_loopback_(is_loopback), token_(std::move(token)) {}
  struct Refusal {
    int status;
    std::string why;
  };
  std::optional<Refusal> refuse(const Caller& caller) const;
  /// For a request that changes something, after `refuse`.
  std::optional<Refusal> refuse_change(const Caller& caller) const;
  /// For a WebSocket, after `refuse`. Browsers let the pages of any site read one, so only our own page may.
  std::optional<Refusal> refuse_socket(const Caller& caller) const;
  enum class Changes : std::uint8_t { free, with_token, never };
  /// Who may change something.
  Changes changes() const noexcept;

 private:
  bool is_loopback_;
  std::string token_;  // empty: none is required
};

}  // namespace iqd
