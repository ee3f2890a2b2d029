// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// `monitor: listen`, taken apart.
struct ListenAddress {
  std::string host;  // 127.0.0.1
  int port = 0;      // 0: any that is free
  bool is_loopback = false;

  std::string text() const { return host + ":" + std::to_string(port); }
};
/// Nothing where it is not an IPv4 address and a port. Names are none, since what they stand for may change;
/// `localhost` is 127.0.0.1.
std::optional<ListenAddress> parse_listen(std::string_view text);

/// The secret in a file. Throws UsageError where it is missing, others may read it, or it is too short.
std::string read_token(const std::string& path);

/// What is wrong with the `monitor` of a file becomes problems of it. Reads the token, opens no port.
void check_monitor(const Spec& spec);

/// Takes as long whatever `given` is, so that its time tells nothing about `secret`.
bool is_secret(std::string_view given, std::string_view secret) noexcept;

/// What an HTTP request says of where it comes from; null where it does not.
struct Caller {
  const char* host = nullptr;
  const char* origin = nullptr;
  const char* authorization = nullptr;
};

/// Who may come in. Of a page in a browser on this machine it is held that it is hostile: one that had its own name
/// resolve to 127.0.0.1 is told by the Host that its request brings, one that sends a request to another site by the
/// Origin.
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

 private:
  bool is_loopback_;
  std::string token_;  // empty: none is asked for
};

}  // namespace iqd
