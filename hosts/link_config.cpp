// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/link_config.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace iqd::hosts {
namespace {

constexpr std::string_view kPlain = "nats://", kEncrypted = "tls://";

std::string_view host_of(std::string_view server) {
  server.remove_prefix(server.starts_with(kPlain) ? kPlain.size() : kEncrypted.size());
  if (server.starts_with('[')) return server.substr(1, server.find(']') - 1);
  return server.substr(0, server.rfind(':'));
}

bool is_loopback(std::string_view host) {
  in_addr address{};  // a name may begin like an address
  const bool is_address = ::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
  return host == "localhost" || host == "::1" || (is_address && host.starts_with("127."));
}

}  // namespace

void LinkConfig::fields(FieldVisitor& v) {
  v.field("servers", servers,
          {.help = "NATS servers of one cluster, e.g. `tls://n1:4222`; `nats://` is not encrypted", .required = true});
  v.field("key", key, {.help = "file of this side's seed, from `iqd keygen --nkey`", .file = true});
  v.field("ca", ca, {.help = "file with the certificates that signed the servers'", .file = true});
  v.field("insecure", insecure, {.help = "allow servers on other hosts without encryption"});
}

void LinkConfig::check(const Section& section) const {
  if (servers.empty() && !section.is_wrong("servers") && section.has("servers"))
    section.problem("servers", "is empty: name at least one, e.g. `nats://127.0.0.1:4222`");
  for (const std::string& server : servers) {
    const bool is_plain = server.starts_with(kPlain);
    if ((!is_plain && !server.starts_with(kEncrypted)) || host_of(server).empty()) {
      section.problem("servers", fmt::format("'{}' is not an address such as tls://host:4222", server));
    } else if (server.find('@') != server.npos) {
      section.problem("servers", "has a password: use `key:`");
    } else if (is_plain && !insecure && !is_loopback(host_of(server))) {
      section.problem(
          "servers", fmt::format("'{}' is not encrypted and on another host: use tls://, or `insecure: true`", server));
    }
  }
  const auto is_tls = [](const std::string& server) { return server.starts_with(kEncrypted); };
  if (std::ranges::any_of(servers, is_tls) && !std::ranges::all_of(servers, is_tls))
    section.problem("servers", "mixes tls:// and nats://: a cluster is encrypted or not");
  if (!ca.empty() && !has_tls() && !servers.empty()) section.problem("ca", "is used with tls:// only");
}

bool LinkConfig::has_tls() const noexcept {
  return !servers.empty() && servers.front().starts_with(kEncrypted);
}

bool is_pool_name(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, is_plain);
}

}  // namespace iqd::hosts
