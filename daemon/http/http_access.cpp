// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_access.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "daemon/http/page_check.hpp"

namespace iqd {
namespace {

constexpr std::size_t kShortest = 16;
constexpr std::size_t kLongest = 1024;

/// Whether a browser says that a page of another site sends this.
bool is_from_elsewhere(const Caller& caller) {
  if (!caller.origin) return false;
  const std::string_view origin = caller.origin;
  const std::size_t scheme = origin.find("://");
  return !caller.host || scheme == origin.npos || origin.substr(scheme + 3) != caller.host;
}

/// `host:port`, `[host]:port` or the host alone, as in a URL.
std::string_view host_of(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != authority.npos && authority.find(']', colon) == authority.npos;
  return has_port ? authority.substr(0, colon) : authority;
}

/// Whether a literal address is on loopback; empty if the host is a name.
std::optional<bool> loopback_of(std::string_view host) {
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  const std::string plain(bracketed ? host.substr(1, host.size() - 2) : host);
  in_addr v4{};
  if (!bracketed && ::inet_pton(AF_INET, plain.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (bracketed && ::inet_pton(AF_INET6, plain.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6) != 0;
  return std::nullopt;
}

struct File {
  explicit File(const std::string& path) : number(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (number >= 0) ::close(number);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int number;
};

}  // namespace

std::optional<ListenAddress> parse_listen(std::string_view text) {
  const std::string_view host = host_of(text);
  if (host.size() + 1 >= text.size()) return std::nullopt;
  const std::string_view digits = text.substr(host.size() + 1);
  ListenAddress address{host == "localhost" ? "127.0.0.1" : std::string(host)};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  const std::optional<bool> loopback = loopback_of(address.host);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (!loopback || host.starts_with('[')) return std::nullopt;  // Debian's civetweb is built without IPv6
  if (address.port < 0 || address.port > 65535) return std::nullopt;
  address.is_loopback = *loopback;
  return address;
}

std::string read_token(const std::string& path) {
  const File file(path);
  if (file.number < 0) throw UsageError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  struct stat facts {};
  if (::fstat(file.number, &facts) != 0 || !S_ISREG(facts.st_mode))
    throw UsageError(fmt::format("{}: not a regular file", path));
  if (facts.st_mode & (S_IRWXG | S_IRWXO))
    throw UsageError(fmt::format("{}: other users can read the token (mode {:04o}): chmod 600 {}, and create a new one",
                                 path, facts.st_mode & 07777, path));
  std::array<char, kLongest + 2> bytes{};
  const ssize_t got = ::read(file.number, bytes.data(), bytes.size());
  if (got < 0) throw UsageError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  std::string_view token(bytes.data(), static_cast<std::size_t>(got));
  while (token.ends_with('\n') || token.ends_with('\r')) token.remove_suffix(1);
  const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (token.size() > kLongest || !std::all_of(token.begin(), token.end(), is_visible))
    throw UsageError(fmt::format("{}: a token is one line of at most {} visible ASCII characters", path, kLongest));
  if (token.size() < kShortest)
    throw UsageError(
        fmt::format("{}: a token of {} characters can be guessed, use at least {}: openssl rand -hex 32 "
                    "creates a good one",
                    path, token.size(), kShortest));
  return std::string(token);
}

void check_monitor(const Spec& spec) {
  if (!spec.monitor || spec.listen.empty()) return;
  const std::optional<ListenAddress> address = parse_listen(spec.listen);
  if (!address)
    spec.monitor->problem("listen",
                          fmt::format("'{}' is not an IPv4 address with a port, such as 127.0.0.1:9464", spec.listen));
  if (address && !address->is_loopback && spec.token_file.empty() && !spec.insecure)
    spec.monitor->problem("listen", fmt::format("'{}' can be reached from other machines: set `token` to a file with a "
                                                "token, or set `insecure: true`",
                                                spec.listen));
  check_page(spec);
  try {
    if (!spec.token_file.empty()) read_token(spec.token_file);
  } catch (const UsageError& e) {
    spec.monitor->problem("token", e.what());
  }
}

bool is_secret(std::string_view given, std::string_view secret) noexcept {
  unsigned differs = given.size() != secret.size();
  for (std::size_t i = 0; i < given.size(); ++i)
    differs |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(secret[i % secret.size()]);
  return differs == 0;
}

std::optional<HttpAccess::Refusal> HttpAccess::refuse(const Caller& caller) const {
  if (!is_loopback_ || !caller.host) return std::nullopt;
  const std::string_view host = host_of(caller.host);
  if (host == "localhost" || loopback_of(host)) return std::nullopt;
  return Refusal{421, "this port is on loopback: use its address or localhost"};
}

std::optional<HttpAccess::Refusal> HttpAccess::refuse_socket(const Caller& caller) const {
  if (is_from_elsewhere(caller)) return Refusal{403, "pages of other sites may not look"};
  return std::nullopt;
}

HttpAccess::Changes HttpAccess::changes() const noexcept {
  if (!token_.empty()) return Changes::with_token;
  return is_loopback_ ? Changes::free : Changes::never;
}

std::optional<HttpAccess::Refusal> HttpAccess::refuse_change(const Caller& caller) const {
  if (changes() == Changes::never) return Refusal{403, std::string(kNoToken)};
  if (is_from_elsewhere(caller)) return Refusal{403, "pages of other sites may not change anything"};
  if (token_.empty()) return std::nullopt;
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view authorization = caller.authorization ? caller.authorization : "";
  if (authorization.starts_with(kScheme) && is_secret(authorization.substr(kScheme.size()), token_))
    return std::nullopt;
  return Refusal{401, authorization.empty() ? "a token is required: Authorization: Bearer TOKEN" : "wrong token"};
}

}  // namespace iqd
