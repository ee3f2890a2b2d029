// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "net/endpoint.hpp"

namespace iqd::radio::zmq {
namespace {

bool is_address(std::string_view a) {
  return net::is_endpoint(a) || (a.starts_with("inproc://") && a.size() > 9);
}

}  // namespace

std::span<const std::string_view> enum_names(Framing) {
  static constexpr std::array<std::string_view, 4> kNames{"auto", "json", "raw", "gnuradio-tags"};
  return kNames;
}
std::span<const std::string_view> enum_names(SourceKind) {
  static constexpr std::array<std::string_view, 3> kNames{"pull", "sub", "req"};
  return kNames;
}
std::span<const std::string_view> enum_names(SinkKind) {
  static constexpr std::array<std::string_view, 3> kNames{"push", "pub", "rep"};
  return kNames;
}
std::span<const std::string_view> enum_names(SampleFormat) {
  static constexpr std::array<std::string_view, 3> kNames{"cf32", "sc16", "f32"};
  return kNames;
}

void Endpoints::fields(FieldVisitor& v) {
  v.field("bind", bind, {.help = "address to listen at, e.g. tcp://127.0.0.1:5555; without headers, one per channel"});
  v.field("connect", connect, {.help = "address of a peer that binds; without headers, one per channel"});
  access.fields(v);
}

void Endpoints::check(const Section& section) const {
  if (section.is_wrong("bind") || section.is_wrong("connect")) return;
  if (bind.empty() == connect.empty())
    return section.problem("", "needs exactly one of `bind` and `connect`, e.g. bind: \"tcp://127.0.0.1:5555\"");
  for (std::size_t i = 0; i < size(); ++i) {
    const std::string address = (*this)[i].address();
    if (!is_address(address))
      return section.problem(
          key(), fmt::format("'{}' is not an address such as tcp://host:port, ipc://path or inproc://name", address));
    access.check(address, !bind.empty(), section);
  }
}

Claims Endpoints::claims() const {
  Claims all;
  for (const std::string& address : bind) all.push_back({Claim::Kind::address, address, "bind"});
  return all;
}

Endpoint Endpoints::operator[](std::size_t i) const {
  return bind.empty() ? Endpoint{"", connect[i], access} : Endpoint{bind[i], "", access};
}

void check_channels(const Endpoints& endpoints, std::int64_t channels, const Section& section) {
  const auto addresses = static_cast<std::int64_t>(endpoints.size());
  if (addresses == 0 || addresses == channels) return;
  section.problem(endpoints.key(), fmt::format("{} address(es) for {} channel(s); without headers, each channel needs "
                                               "its own socket: give one address per channel, as a list",
                                               addresses, channels));
}

void check_topic(const std::string& topic, const Section& section) {
  const bool clean =
      std::all_of(topic.begin(), topic.end(), [](char c) { return static_cast<unsigned char>(c) > ' '; });
  if (!clean) section.problem("topic", fmt::format("'{}': a topic cannot contain spaces", topic));
}

Element SourceSettings::type() const {
  switch (element) {
    case SampleFormat::sc16: return Element::sc16;
    case SampleFormat::f32: return Element::f32;
    case SampleFormat::cf32: break;
  }
  return Element::cf32;
}

std::int64_t SourceSettings::most_received() const {
  constexpr std::int64_t kLeast = std::int64_t{1} << 20;
  constexpr std::int64_t kMost = std::int64_t{32} << 20;
  constexpr double kSeconds = 0.25;
  if (message_bytes > 0) return message_bytes;
  if (rate_hz <= 0) return kMost;
  const double bytes = kSeconds * rate_hz * static_cast<double>(channels) * static_cast<double>(size_of(type()));
  return std::clamp(static_cast<std::int64_t>(std::min(bytes, static_cast<double>(kMost))), kLeast, kMost);
}

int SourceSettings::high_water() const {
  constexpr std::int64_t kWaitingBytes = std::int64_t{64} << 20;
  return static_cast<int>(std::clamp<std::int64_t>(kWaitingBytes / most_received(), 2, 64));
}

StreamInfo SourceSettings::info() const {
  StreamInfo info;
  info.element = type();
  info.channels = static_cast<int>(channels);
  info.rate_hz = rate_hz;
  info.frequency_hz = frequency_hz.value_or(0);
  info.can_wait = true;
  info.from_peer = true;
  return info;
}

}  // namespace iqd::radio::zmq
