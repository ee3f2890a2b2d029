// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/endpoint.hpp"

#include <charconv>
#include <system_error>

namespace iqd::net {

bool is_endpoint(std::string_view text) noexcept {
  if (text.starts_with("ipc://")) return text.size() > 6;
  const auto colon = text.rfind(':');
  if (!text.starts_with("tcp://") || colon <= 6) return false;
  const std::string_view port = text.substr(colon + 1);
  if (port == "*") return true;
  int number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc() && end == port.data() + port.size() && number >= 1 && number <= 65535;
}

}  // namespace iqd::net
