// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/radio_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

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
  v.field("channels", channels, {.help = "the radio's channels, in the order of the stream's", .low = 0, .high = 1023});
  v.field("rate", rate_hz,
          {.help = receives ? "samples a second" : "samples a second; as the port has them if not given",
           .unit = Unit::rate,
           .low = 1,
           .required = receives});
  v.field("frequency", frequency_hz,
          {.help = "centre frequency; left as it is if not given", .unit = Unit::hertz, .live = receives});
  v.field("gain", gain_db,
          {.help = "overall gain; left as it is if not given", .unit = Unit::decibel, .live = receives});
  v.field("antenna", antenna, {.help = "name of the antenna port; left as it is if not given", .live = receives});
  v.field("bandwidth", bandwidth_hz,
          {.help = "analogue filter; left as it is if not given", .unit = Unit::hertz, .live = receives});
  v.field("stream_args", stream_args, {.help = "handed to the driver when the stream is set up"});
  v.field("accept_rate", accept_rate, {.help = "go on with the rate that the radio grants, whatever was asked"});
  if (!receives) permitted.fields(v);
}

void RadioSettings::check(const Section& section) const {
  if (channels.empty()) section.problem("channels", "at least one channel is needed, e.g. [0]");
  auto sorted = channels;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) section.problem("channels", fmt::format("channel {} stands there twice", *twice));
}

std::vector<std::string> RadioSettings::claims(std::string_view driver, bool receives) const {
  std::vector<std::string> pairs;
  std::istringstream text(args);
  for (std::string pair; std::getline(text, pair, ',');) {
    std::erase(pair, ' ');
    if (!pair.empty()) pairs.push_back(std::move(pair));
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<std::string> all;
  for (const std::int64_t c : channels)
    all.push_back(
        fmt::format("{} '{}' {} channel {}", driver, fmt::join(pairs, ","), receives ? "receive" : "transmit", c));
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
      "asked for {} samples a second on channel {}, the radio grants {}; choose a rate that it grants, or "
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
  v.field("format", format, {.help = "how samples are kept: 16-bit integers, or floats of twice the size"});
  v.field("resample", resample,
          {.help = "bring the rate that the radio grants to the asked one: by a `resampler` before the first stage"});
  v.field("calibration", calibration,
          {.help = "a table of `iqd calibrate`: how channels differ is taken out before the first stage"});
}

StreamInfo Reception::describe(const RadioSettings& settings, const Section& section) const {
  settings.check(section);
  if (resample && settings.accept_rate)
    section.problem("resample", "gives the asked rate, `accept_rate` goes on with the granted one: choose one of both");
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
  v.field(
      "delay", delay_s,
      {.help = "how long after its time stamp a sample is transmitted, with `timed`", .unit = Unit::seconds, .low = 0});
}

std::int64_t Timing::leaves_ns(const Message& message) const noexcept {
  return message.time_ns + std::llround(delay_s * 1e9);
}

void check_transmitted(const PortFormat& format, const RadioSettings& settings, const Section& section) {
  settings.check(section);
  if (format.element != Element::sc16 && format.element != Element::cf32)
    section.problem("", fmt::format("{} is {}, a transmitter takes sc16 or cf32: put a `convert` stage before it",
                                    format.port, name_of(format.element)));
  if (!is_stream(format))
    return section.problem("", fmt::format("{} is {}, a transmitter takes a stream of samples [n] or [channel][n]",
                                           format.port, to_string(format.dims)));
  const auto channels = static_cast<std::int64_t>(settings.channels.size());
  if (channels_of(format) != channels)
    section.problem("channels", fmt::format("{} has {} channel(s), and {} are to be transmitted", format.port,
                                            channels_of(format), channels));
  if (settings.rate_hz > 0 && !same_rate(settings.rate_hz, format.item_rate_hz))
    section.problem("rate", fmt::format("{} brings {} samples a second, and {} are to be transmitted; leave `rate` out "
                                        "to take those of the port",
                                        format.port, format.item_rate_hz, settings.rate_hz));
  settings.permitted.check(settings.emission(format.item_rate_hz), section);
}

}  // namespace iqd::radio
