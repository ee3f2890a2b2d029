// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace iqd::radio::soapy {

void Settings::fields(FieldVisitor& v, bool rate_required) {
  v.field("args", args, {.help = "device arguments as Soapy programs take them, e.g. driver=iqdsim,scenario=tone"});
  v.field("channels", channels, {.help = "the radio's channels, in the order of the stream's", .low = 0, .high = 1023});
  v.field("rate", rate_hz,
          {.help = rate_required ? "samples a second" : "samples a second; as the port has them if not given",
           .unit = Unit::rate,
           .low = 1,
           .required = rate_required});
  v.field("frequency", frequency_hz, {.help = "centre frequency; left as it is if not given", .unit = Unit::hertz});
  v.field("gain", gain_db, {.help = "overall gain; left as it is if not given", .unit = Unit::decibel});
  v.field("antenna", antenna, {.help = "name of the antenna port; left as it is if not given"});
  v.field("bandwidth", bandwidth_hz, {.help = "analogue filter; left as it is if not given", .unit = Unit::hertz});
  v.field("stream_args", stream_args, {.help = "handed to the module when the stream is set up"});
  v.field("settings", settings, {.help = "the module's own settings, written after the device is open"});
  v.field("accept_rate", accept_rate, {.help = "go on with the rate that the radio grants, whatever was asked"});
}

void Settings::check(const Section& section) const {
  if (channels.empty()) section.problem("channels", "at least one channel is needed, e.g. [0]");
  auto sorted = channels;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) section.problem("channels", fmt::format("channel {} stands there twice", *twice));
}

bool Settings::accepts(double granted_hz) const {
  return accept_rate || same_rate(granted_hz, rate_hz);
}

bool same_rate(double a_hz, double b_hz) noexcept {
  return std::fabs(a_hz - b_hz) <= 1e-6 * std::fabs(b_hz);
}

}  // namespace iqd::radio::soapy
