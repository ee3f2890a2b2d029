// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/radio_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <sstream>

namespace iqd {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void add_radio(const PipelineSpec& pipeline, const DriverEntry* driver, const std::optional<RadioRequest>& radio,
               std::vector<RadioUse>& all) {
  if (!driver || !radio) return;
  RadioUse use{pipeline.name, std::string(driver->name), device_args(radio->args), {}, 0, pipeline.realtime};
  use.hosts = hosts_in(use.args);
  use.bits_per_s = 8 * radio->wire_bytes * radio->rate_hz * static_cast<double>(radio->channels.size());
  all.push_back(std::move(use));
}

/// The host of `tcp://radio-host:55132`.
std::string host_of(std::string_view url) {
  if (const auto at = url.find("://"); at != url.npos) url.remove_prefix(at + 3);
  if (url.starts_with('[')) return std::string(url.substr(1, url.find(']') - 1));
  return std::string(url.substr(0, url.find(':')));
}

/// `addr`, `addr0`, `second_addr`; not `mgmt_addr`, which sends no samples.
bool is_address(std::string_view key) {
  while (!key.empty() && std::isdigit(static_cast<unsigned char>(key.back()))) key.remove_suffix(1);
  return key == "addr" || key == "second_addr" || key == "hostname";
}

/// Nodes are at 10.0.0.1 onwards unless `address` says otherwise; `/` separates several.
std::vector<std::string> hosts_of_warp(const std::map<std::string, std::string>& args) {
  const auto text = [&](const char* key, const char* otherwise) {
    const auto found = args.find(key);
    return found == args.end() ? std::string(otherwise) : found->second;
  };
  const std::string addresses = text("address", "");
  std::vector<std::string> hosts;
  std::istringstream parts(addresses.empty() ? text("node", "0") : addresses);
  for (std::string part; std::getline(parts, part, '/');)
    hosts.push_back(addresses.empty() ? fmt::format("10.0.0.{}", std::atoi(part.c_str()) + 1) : part);
  return hosts;
}

}  // namespace

std::string_view RadioUse::arg(const std::string& key) const {
  const auto found = args.find(key);
  return found == args.end() ? std::string_view() : found->second;
}

std::map<std::string, std::string> device_args(std::string_view text) {
  std::map<std::string, std::string> args;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = trim(part.substr(0, equals));
    if (!key.empty()) args[std::string(key)] = trim(part.substr(std::min(equals + 1, part.size())));
  }
  return args;
}

std::vector<std::string> hosts_in(const std::map<std::string, std::string>& args) {
  const auto driver = args.find("driver");
  if (driver != args.end() && driver->second == "warp") return hosts_of_warp(args);
  std::vector<std::string> hosts;
  for (const auto& [key, value] : args) {
    std::string host;
    if (is_address(key)) host = host_of(value);
    if (key == "remote") host = host_of(value);
    if (key == "uri" && value.starts_with("ip:")) host = value.substr(3);
    if (!host.empty() && std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<RadioUse> radios_in(const Spec& spec) {
  std::vector<RadioUse> all;
  for (const PipelineSpec& p : spec.pipelines) {
    if (p.source) add_radio(p, p.driver, p.source->radio(), all);
    for (const SinkSpec& s : p.sinks)
      if (s.options) add_radio(p, s.driver, s.options->radio(), all);
  }
  return all;
}

}  // namespace iqd
