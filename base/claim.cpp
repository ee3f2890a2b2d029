// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/claim.hpp"

#include <charconv>
#include <filesystem>
#include <optional>

namespace iqd {
namespace {

struct TcpAddress {
  std::string_view host;
  int port = 0;  // 0: the system chooses
};

std::optional<TcpAddress> tcp_address(std::string_view text) {
  constexpr std::string_view kTcp = "tcp://";
  const auto colon = text.rfind(':');
  if (!text.starts_with(kTcp) || colon < kTcp.size()) return std::nullopt;
  TcpAddress address{text.substr(kTcp.size(), colon - kTcp.size())};
  const std::string_view port = text.substr(colon + 1);
  if (port != "*" && std::from_chars(port.data(), port.data() + port.size(), address.port).ptr != text.end())
    return std::nullopt;
  if (address.host == "localhost" || address.host == "lo") address.host = "127.0.0.1";
  if (address.host == "*") address.host = "0.0.0.0";
  return address;
}

std::string normal_path(std::string_view text) {
  constexpr std::string_view kIpc = "ipc://";
  if (text.starts_with(kIpc)) text.remove_prefix(kIpc.size());
  std::error_code ignored;
  return std::filesystem::absolute(text, ignored).lexically_normal().string();
}

}  // namespace

bool overlap(const Claim& a, const Claim& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Claim::Kind::radio) return a.what == b.what;
  if (a.kind == Claim::Kind::file) return normal_path(a.what) == normal_path(b.what);
  const auto one = tcp_address(a.what), other = tcp_address(b.what);
  if (!one || !other) return one.has_value() == other.has_value() && normal_path(a.what) == normal_path(b.what);
  if (one->port == 0 || one->port != other->port) return false;
  return one->host == other->host || one->host == "0.0.0.0" || other->host == "0.0.0.0";
}

}  // namespace iqd
