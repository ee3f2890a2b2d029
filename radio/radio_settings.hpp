// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "config/fields.hpp"
#include "radio/permitted.hpp"

namespace iqd::radio {

/// Settings that all radios have in common, in both directions.
struct RadioSettings {
  std::string args;
  std::vector<std::int64_t> channels{0};
  double rate_hz = 0;
  std::optional<double> frequency_hz;
  std::optional<double> gain_db;
  std::optional<double> power_dbm;  // for drivers that have this key
  std::string antenna;
  std::optional<double> bandwidth_hz;
  StringMap stream_args;
  bool accept_rate = false;
  Permitted permitted;  // for a transmitter

  /// A receiver requires its rate, and can be retuned while it runs.
  void fields(FieldVisitor& visitor, std::string_view args_help, bool receives);
  void check(const Section& section) const;
  /// One text per channel, which only one stream may have: `soapy 'driver=iqdsim,serial=1' receive channel 0`.
  Claims claims(std::string_view driver, bool receives) const;
  RadioRequest request() const;
  /// Whether a granted rate is acceptable: it is within 1 ppm of the requested one, or any rate is accepted.
  bool accepts(double granted_hz) const;
  /// What a transmitter is asked for. Its bandwidth is its rate, unless its filter is narrower.
  Emission emission(double at_rate_hz) const;
  /// The message if the rate is not acceptable.
  std::string refusal(std::int64_t channel, double granted_hz) const;
};

/// Whether two rates differ by at most 1 ppm.
bool same_rate(double a_hz, double b_hz) noexcept;

enum class Format { sc16, cf32 };
std::span<const std::string_view> enum_names(Format);

/// Settings that only a receiver has.
struct Reception {
  Format format = Format::sc16;
  bool resample = false;
  std::string calibration;  // a file

  void fields(FieldVisitor& visitor);
  Element element() const { return format == Format::cf32 ? Element::cf32 : Element::sc16; }
  /// The radio's request, with what only a receiver requests.
  RadioRequest request(RadioRequest radio) const;
  /// The requested stream; reports problems to the section.
  StreamInfo describe(const RadioSettings& settings, const Section& section) const;
};

/// Settings that only a transmitter has: when samples leave.
struct Timing {
  bool timed = false;  // at their own time stamp plus `delay_s`, otherwise as soon as they arrive
  double delay_s = 0.1;

  void fields(FieldVisitor& visitor);
  /// When the first sample of a message leaves, with `timed`.
  std::int64_t leaves_ns(const Message& message) const noexcept;
  /// Throws SetupError if a radio with this clock cannot transmit with `timed`. `name` starts the message.
  void require_clock(const std::string& name, TimeSource time) const;
};

/// Checks whether a port can be transmitted: a stream `[n]` or `[channel][n]` of sc16 or cf32, with the radio's number
/// of channels and rate; and whether the requested values are permitted.
void check_transmitted(const PortFormat& format, const RadioSettings& settings, const Section& section);

}  // namespace iqd::radio
