// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/notify.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/printable.hpp"

namespace iqd {
namespace {

constexpr std::size_t kLongestStatus = 1000;  // systemd reads 4096 bytes of a message

/// The variable's value; removes the variable.
std::string take(const char* variable) {
  const char* value = std::getenv(variable);
  std::string text = value ? value : "";
  ::unsetenv(variable);
  return text;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> watchdog_of(std::string_view microseconds, std::string_view pid) {
  constexpr std::int64_t kMost = INT64_MAX / 1000;
  const auto value = number_in(microseconds);
  if (!value || *value <= 0 || *value > kMost) return std::nullopt;
  if (!pid.empty() && number_in(pid) != ::getpid()) return std::nullopt;
  return *value * 1000;
}

}  // namespace

Notify::Notify() {
  const std::string name = take("NOTIFY_SOCKET");
  watchdog_ns_ = watchdog_of(take("WATCHDOG_USEC"), take("WATCHDOG_PID"));
  if (name.empty()) return;
  const bool is_abstract = name[0] == '@';
  if ((name[0] != '/' && !is_abstract) || name.size() < 2 || name.size() >= sizeof address_.sun_path) {
    log::warn("NOTIFY_SOCKET={}: not the address of a local socket; systemd will not be notified", name);
    return;
  }
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, name.data(), name.size());
  if (is_abstract) address_.sun_path[0] = '\0';
  // The address's size gives the length of an abstract name; a path ends with a zero byte.
  address_size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1));
  file_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file_ < 0)
    log::warn("NOTIFY_SOCKET: cannot open a socket ({}); systemd will not be notified", std::strerror(errno));
}

Notify::~Notify() {
  if (file_ >= 0) ::close(file_);
}

void Notify::status(std::string_view text) {
  // systemd drops a whole text that is not UTF-8, so no character may be cut in two.
  std::string line = utf8_start(text, kLongestStatus);
  std::replace(line.begin(), line.end(), '\n', ' ');
  send("STATUS=" + line, Loss::allowed);
}

void Notify::reloading() {
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", steady_ns() / 1000), Loss::never);
}

void Notify::send(std::string_view message, Loss loss) {
  if (file_ < 0) return;
  const std::string all = kept_ + std::string(message) + '\n';
  const auto* to = reinterpret_cast<const sockaddr*>(&address_);
  if (::sendto(file_, all.data(), all.size(), MSG_NOSIGNAL, to, address_size_) >= 0)
    kept_.clear();
  else if (errno == EAGAIN && loss == Loss::never)
    kept_ = all;
}

}  // namespace iqd
