// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/radio_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "base/error.hpp"
#include "radio/plausible.hpp"

namespace iqd::radio {
namespace {

std::int64_t channels_of(const PortFormat& format) {
  return format.dims.size() == 2 ? format.dims[0].extent : 1;
}

bool is_stream(const PortFormat& format) {
  const bool shaped = format.dims.size() == 1 || (format.dims.size() == 2 && format.dims[0].name == "channel");
  return shaped && format.item_rate_hz > 0;
}

}  // namespace

void RadioSettings::fields(FieldVisitor& v, std::string_view args_help, bool receives) {
  v.field("args", args, {.help = args_help});
  v.field("channels", channels,
          {.help = "channels of the radio, in the order of the stream", .low = 0, .high = 1023, .shapes = receives});
  v.field("rate", rate_hz,
          {.help = receives ? "samples a second" : "samples a second; default: the port's rate",
           .unit = Unit::rate,
           .low = 1,
           .required = receives,
           .bare_low = kSlowestRadio});
  v.field("frequency", frequency_hz,
          {.help = "centre frequency; default: unchanged",
           .unit = Unit::hertz,
           .live = receives,
           .bare_low = kLowestRadio});
  v.field("gain", gain_db, {.help = "overall gain; default: unchanged", .unit = Unit::decibel, .live = receives});
  v.field("antenna", antenna, {.help = "name of the antenna port; default: unchanged", .live = receives});
  v.field("bandwidth", bandwidth_hz,
          {.help = "bandwidth of the analogue filter; default: unchanged",
           .unit = Unit::hertz,
           .live = receives,
           .bare_low = kSlowestRadio});
  v.field("stream_args", stream_args, {.help = "stream arguments for the driver"});
  v.field("accept_rate", accept_rate, {.help = "accept any rate that the radio grants"});
  if (!receives) permitted.fields(v);
}

void RadioSettings::check(const Section& section) const {
  if (channels.empty()) section.problem("channels", "needs at least one channel, e.g. [0]");
  auto sorted = channels;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) section.problem("channels", fmt::format("channel {} is listed twice", *twice));
}

Claims RadioSettings::claims(std::string_view driver, bool receives) const {
  std::vector<std::string> pairs;
  std::istringstream text(args);
  for (std::string pair; std::getline(text, pair, ',');) {
    std::erase(pair, ' ');
    if (!pair.empty()) pairs.push_back(std::move(pair));
  }
  std::sort(pairs.begin(), pairs.end());
  Claims all;
  for (const std::int64_t c : channels)
    all.push_back(
        {Claim::Kind::radio,
         fmt::format("{} '{}' {} channel {}", driver, fmt::join(pairs, ","), receives ? "receive" : "transmit", c),
         "args"});
  return all;
}

RadioRequest RadioSettings::request() const {
  return {.args = args,
          .channels = channels,
          .rate_hz = rate_hz,
          .frequency_hz = frequency_hz.value_or(0),
          .gain_db = gain_db,
          .antenna = antenna,
          .bandwidth_hz = bandwidth_hz};
}

bool RadioSettings::accepts(double granted_hz) const {
  return accept_rate || same_rate(granted_hz, rate_hz);
}

Emission RadioSettings::emission(double at_rate_hz) const {
  return {frequency_hz, std::min(at_rate_hz, bandwidth_hz.value_or(at_rate_hz)), gain_db, power_dbm};
}

std::string RadioSettings::refusal(std::int64_t channel, double granted_hz) const {
  return fmt::format(
      "asked for {} samples a second on channel {}, the radio grants {}; choose a rate that it supports, or set "
      "`accept_rate: true`",
      rate_hz, channel, granted_hz);
}

bool same_rate(double a_hz, double b_hz) noexcept {
  return std::fabs(a_hz - b_hz) <= 1e-6 * std::fabs(b_hz);
}

std::span<const std::string_view> enum_names(Format) {
  static constexpr std::array<std::string_view, 2> kNames{"sc16", "cf32"};
  return kNames;
}

void Reception::fields(FieldVisitor& v) {
  v.field("format", format,
          {.help = "sample format in memory: 16-bit integers, or floats of twice the size", .shapes = true});
  v.field("resample", resample,
          {.help = "resample from the granted to the requested rate, by a `resampler` before the first stage"});
  v.field("calibration", calibration,
          {.help = "table of `iqd calibrate`, which removes channel differences before the first stage"});
}

RadioRequest Reception::request(RadioRequest radio) const {
  radio.resample = resample;
  return radio;
}

StreamInfo Reception::describe(const RadioSettings& settings, const Section& section) const {
  settings.check(section);
  if (resample && settings.accept_rate)
    section.problem("resample", "cannot be combined with `accept_rate`, which keeps the granted rate");
  StreamInfo info;
  info.element = element();
  info.channels = static_cast<int>(settings.channels.size());
  info.rate_hz = settings.rate_hz;
  info.frequency_hz = settings.frequency_hz.value_or(0);
  info.time = TimeSource::radio;
  info.reconnects = true;
  return info;
}

void Timing::fields(FieldVisitor& v) {
  v.field("timed", timed, {.help = "transmit each sample at its own time stamp and `delay`"});
  v.field("delay", delay_s,
          {.help = "with `timed`: time from a sample's time stamp to its transmission",
           .unit = Unit::seconds,
           .low = 0,
           .bare_high = 10});
}

std::int64_t Timing::leaves_ns(const Message& message) const noexcept {
  return message.time_ns + std::llround(delay_s * 1e9);
}

void Timing::require_clock(const std::string& name, TimeSource time) const {
  if (timed && time != TimeSource::radio)
    throw SetupError(
        fmt::format("{}: `timed: true` needs a radio with a clock that can be set; leave it out to "
                    "transmit samples as they come",
                    name));
}

void check_transmitted(const PortFormat& format, const RadioSettings& settings, const Section& section) {
  settings.check(section);
  if (!format.is_known()) return settings.permitted.check(settings.emission(settings.rate_hz), section);
  if (format.element != Element::sc16 && format.element != Element::cf32)
    section.problem("", fmt::format("{} is {}; a transmitter needs sc16 or cf32: put a `convert` stage before it",
                                    format.port, name_of(format.element)));
  if (!is_stream(format))
    return section.problem("", fmt::format("{} is {}; a transmitter needs a stream of samples [n] or [channel][n]",
                                           format.port, to_string(format.dims)));
  const auto channels = static_cast<std::int64_t>(settings.channels.size());
  if (channels_of(format) != channels)
    section.problem("channels", fmt::format("{} has {} channel(s), but `channels` has {}", format.port,
                                            channels_of(format), channels));
  if (settings.rate_hz > 0 && !same_rate(settings.rate_hz, format.item_rate_hz))
    section.problem("rate", fmt::format("{} has {} samples a second, but the rate is {}; remove `rate` to use the rate "
                                        "of the port",
                                        format.port, format.item_rate_hz, settings.rate_hz));
  settings.permitted.check(settings.emission(format.item_rate_hz), section);
}

}  // namespace iqd::radio
