// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "config/fields.hpp"
#include "radio/zmq/socket.hpp"

namespace iqd::radio::zmq {

/// What precedes the samples of a message. `by_kind`: nothing for req and rep, iqd's own header otherwise.
enum class Framing { by_kind, json, raw, gnuradio_tags };
std::span<const std::string_view> enum_names(Framing);

/// The addresses of a stream's sockets: one for all channels, or one per channel.
struct Endpoints {
  std::vector<std::string> bind;
  std::vector<std::string> connect;
  net::Access access;

  void fields(FieldVisitor& visitor);
  void check(const Section& section) const;
  std::size_t size() const { return bind.empty() ? connect.size() : bind.size(); }
  Endpoint operator[](std::size_t i) const;
  /// Those that are bound.
  Claims claims() const;
  std::string_view key() const { return bind.empty() ? "connect" : "bind"; }
};

/// Without headers each channel needs its own socket. Reports a mismatch to the section.
void check_channels(const Endpoints& endpoints, std::int64_t channels, const Section& section);
/// Checks that a topic has no spaces.
void check_topic(const std::string& topic, const Section& section);

enum class SourceKind { pull, sub, req };
std::span<const std::string_view> enum_names(SourceKind);
enum class SampleFormat { cf32, sc16, f32 };
std::span<const std::string_view> enum_names(SampleFormat);

/// A count that jumps further is implausible: then the number of missing samples is unknown.
inline constexpr double kMostMissingS = 3600;

/// How long opening a source waits for its first message, if only that says the rate.
inline constexpr double kFirstMessageS = 10;

struct SourceSettings {
  Endpoints endpoints;
  SourceKind kind = SourceKind::sub;
  Framing framing = Framing::by_kind;
  std::string topic;
  double rate_hz = 0;  // 0: from the first header
  std::optional<double> frequency_hz;
  std::int64_t channels = 1;
  SampleFormat element = SampleFormat::cf32;
  std::int64_t message_bytes = 0;  // 0: from the rate

  /// Size limit of a message: a peer that announces more is disconnected before memory is allocated.
  std::int64_t most_received() const;
  /// Length limit of the queue: ZeroMQ's default of 1000 messages would be gigabytes.
  int high_water() const;
  bool has_headers() const {
    return framing == Framing::json || (framing == Framing::by_kind && kind != SourceKind::req);
  }
  Element type() const;
  StreamInfo info() const;
};

enum class SinkKind { push, pub, rep };
std::span<const std::string_view> enum_names(SinkKind);

struct SinkSettings {
  Endpoints endpoints;
  SinkKind kind = SinkKind::push;
  Framing framing = Framing::by_kind;
  std::string topic;
  std::int64_t hwm_bytes = 64 << 20;
  std::optional<double> wait_s;
  double delay_s = 0;

  bool has_headers() const {
    return framing == Framing::json || (framing == Framing::by_kind && kind != SinkKind::rep);
  }
};

}  // namespace iqd::radio::zmq
