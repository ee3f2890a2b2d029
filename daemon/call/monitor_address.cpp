// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/call/monitor_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.hpp"

namespace iqd {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw UsageError(
      fmt::format("'{}' is not the address of a monitor: {}; use HOST:PORT, such as 127.0.0.1:9464", text, why));
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

int port_of(std::string_view digits, std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65535)
    refuse(text, fmt::format("'{}' is not a port (1 to 65535)", digits));
  return port;
}

}  // namespace

std::string MonitorAddress::text() const {
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

MonitorAddress parse_monitor_address(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("https://")) refuse(text, "a monitor has no TLS");
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.find_first_of("/ @?#") != rest.npos) refuse(text, "expected a host and a port");
  MonitorAddress address;
  if (is_number(rest)) {
    address.port = port_of(rest, text);
    return address;
  }
  const bool bracketed = rest.starts_with('[');
  const std::size_t end = bracketed ? rest.find(']') : rest.find(':');
  if (bracketed && end == rest.npos) refuse(text, "a bracket is missing");
  // Without brackets, several colons are an IPv6 address alone.
  if (!bracketed && end != rest.npos && rest.find(':', end + 1) != rest.npos) {
    address.host = rest;
    return address;
  }
  const std::string_view host = rest.substr(bracketed ? 1 : 0, bracketed ? end - 1 : end);
  if (!host.empty()) address.host = host;
  if (end == rest.npos) return address;
  rest.remove_prefix(end + (bracketed ? 1 : 0));
  if (!rest.empty() && rest.front() != ':') refuse(text, "expected a colon and a port behind the bracket");
  if (!rest.empty()) address.port = port_of(rest.substr(1), text);
  return address;
}

MonitorAddress monitor_address(const std::string& given) {
  if (!given.empty()) return parse_monitor_address(given);
  const char* set = std::getenv("IQD_MONITOR");
  return set && *set ? parse_monitor_address(set) : MonitorAddress();
}

}  // namespace iqd
