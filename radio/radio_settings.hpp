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

/// What all radios have in common, whichever way the samples go.
struct RadioSettings {
  std::string args;
  std::vector<std::int64_t> channels{0};
  double rate_hz = 0;
  std::optional<double> frequency_hz;
  std::optional<double> gain_db;
  std::optional<double> power_dbm;  // of drivers that have such a key
  std::string antenna;
  std::optional<double> bandwidth_hz;
  StringMap stream_args;
  bool accept_rate = false;
  Permitted permitted;  // of a transmitter

  /// A receiver must be given its rate, and can be retuned while it runs.
  void fields(FieldVisitor& visitor, std::string_view args_help, bool receives);
  void check(const Section& section) const;
  /// Each channel, which one stream can have: `soapy 'driver=iqdsim,serial=1' receive channel 0`.
  std::vector<std::string> claims(std::string_view driver, bool receives) const;
  RadioRequest request() const;
  /// Whether a granted rate will do: it is the asked one to 1 ppm, or any may be.
  bool accepts(double granted_hz) const;
  /// What a transmitter is asked for, at its rate: that is how wide it is, unless its filter is narrower.
  Emission emission(double at_rate_hz) const;
  /// What to tell the operator where it will not.
  std::string refusal(std::int64_t channel, double granted_hz) const;
};

/// Two rates are the same when they differ by no more than 1 ppm.
bool same_rate(double a_hz, double b_hz) noexcept;

enum class Format { sc16, cf32 };
std::span<const std::string_view> enum_names(Format);

/// What only a receiver has.
struct Reception {
  Format format = Format::sc16;
  bool resample = false;
  std::string calibration;  // a file

  void fields(FieldVisitor& visitor);
  Element element() const { return format == Format::cf32 ? Element::cf32 : Element::sc16; }
  /// The stream as it is asked for; what is wrong goes to the section.
  StreamInfo describe(const RadioSettings& settings, const Section& section) const;
};

/// What only a transmitter has: when samples leave.
struct Timing {
  bool timed = false;  // at their own time stamp and `delay_s`, else as soon as they come
  double delay_s = 0.1;

  void fields(FieldVisitor& visitor);
  /// When the first sample of a message leaves, with `timed`.
  std::int64_t leaves_ns(const Message& message) const noexcept;
};

/// Whether a port can be transmitted: a stream `[n]` or `[channel][n]` of sc16 or cf32, as many channels as the
/// radio's, at its rate; and whether what is asked is permitted.
void check_transmitted(const PortFormat& format, const RadioSettings& settings, const Section& section);

}  // namespace iqd::radio
