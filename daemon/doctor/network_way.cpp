// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>

#include <bit>
#include <charconv>
#include <sstream>

#include "daemon/doctor/radio_checks.hpp"
#include "daemon/doctor/sys_files.hpp"

namespace iqd {
namespace {

std::optional<std::uint32_t> address_word(const std::string& address) {
  in_addr word{};
  if (::inet_pton(AF_INET, address.c_str(), &word) != 1) return std::nullopt;
  return word.s_addr;
}

/// As a dotted IPv4 address; empty if the name is unknown.
std::string resolved(const std::string& host) {
  if (address_word(host)) return host;
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, text, sizeof text);
  ::freeaddrinfo(found);
  return text;
}

std::optional<std::uint32_t> hex_word(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string dotted(std::uint32_t word) {
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &word, text, sizeof text);
  return text;
}

/// The card that a radio is likely to be plugged into: one without a route, if there is one.
std::string likely_card(const std::filesystem::path& root, std::string_view table) {
  std::string likely = "IFACE";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root / "sys/class/net", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!std::filesystem::exists(entry.path() / "device", ignored)) continue;
    if (table.find(name + '\t') == table.npos && table.find(name + ' ') == table.npos) return name;
    if (likely == "IFACE") likely = name;
  }
  return likely;
}

/// A command that gives a card of this machine another address of the same network.
std::string address_command(const std::string& address, const std::filesystem::path& root, std::string_view table) {
  const std::string network = address.substr(0, address.rfind('.') + 1);
  return fmt::format("sudo ip addr add {}{}/24 dev {}  # for a directly connected radio; `ip -br link` lists the cards",
                     network, address == network + "1" ? "2" : "1", likely_card(root, table));
}

}  // namespace

std::optional<NetworkWay> way_to(std::string_view table, const std::string& address) {
  const auto wanted = address_word(address);
  if (!wanted) return std::nullopt;
  std::istringstream lines{std::string(table)};
  std::string line;
  std::getline(lines, line);  // the headings
  std::optional<NetworkWay> best;
  int best_bits = -1;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name, destination, gateway, flags, ref, use, metric, mask;
    words >> name >> destination >> gateway >> flags >> ref >> use >> metric >> mask;
    const auto to = hex_word(destination), by = hex_word(gateway), part = hex_word(mask);
    if (!to || !by || !part || (*wanted & *part) != *to || std::popcount(*part) <= best_bits) continue;
    best_bits = std::popcount(*part);
    best = NetworkWay{name, *by == 0 ? "" : dotted(*by)};
  }
  return best;
}

Finding check_way(const std::string& host, const std::filesystem::path& root, std::string& interface) {
  const std::string address = resolved(host);
  Finding f{"radio at " + host, "", Verdict::ok, ""};
  if (address.empty()) {
    f.found = "unknown host name";
    f.verdict = Verdict::bad;
    f.mend = fmt::format("getent hosts {0}  # if empty: use the IP address, or add `ADDRESS {0}` to /etc/hosts", host);
    return f;
  }
  const std::string table = text_of(root / "proc/net/route");
  const auto way = way_to(table, address);
  if (address.starts_with("127.") || (!way && table.empty())) {
    f.found = address.starts_with("127.") ? "on this machine" : "route not visible";
    return f;
  }
  if (!way) {
    f.found = "no route to this address";
    f.verdict = Verdict::bad;
    f.mend = address_command(address, root, table);
    return f;
  }
  interface = way->interface;
  f.found = fmt::format("via {}", interface);
  if (way->gateway.empty()) return f;
  f.found += fmt::format(", through the router {}: not in a network of this machine", way->gateway);
  f.verdict = Verdict::warn;
  f.mend = address_command(address, root, table);
  return f;
}

}  // namespace iqd
