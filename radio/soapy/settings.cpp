// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace iqd::radio::soapy {

std::optional<double> decibels(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  const bool right = error == std::errc{} && std::isfinite(value) && (rest.empty() || rest == "dB" || rest == " dB");
  return right ? std::optional(value) : std::nullopt;
}

void Settings::fields(FieldVisitor& v, bool receives) {
  RadioSettings::fields(v, "SoapySDR device arguments, e.g. driver=iqdsim,scenario=tone", receives);
  v.field("gains", gains, {.help = "gain per element, e.g. {LNA: 20 dB, VGA: 12 dB}, in place of `gain`"});
  if (receives) v.field("agc", agc, {.help = "automatic gain control by the radio"});
  v.field("settings", settings, {.help = "the module's own settings, written after opening"});
}

RadioRequest Settings::request() const {
  RadioRequest request = RadioSettings::request();
  request.gains = gains;
  request.agc = agc;
  return request;
}

void Settings::check_gains(const Section& section) const {
  for (const auto& [element, db] : gains)
    if (!decibels(db)) section.problem("gains", fmt::format("{}: '{}' is not a gain, e.g. 20 dB", element, db));
  if (gain_db && !gains.empty()) section.problem("gains", "use `gain` or `gains`, not both; `gain` sets all elements");
  if (agc && (gain_db || !gains.empty())) section.problem("agc", "the radio sets the gain; remove `gain` and `gains`");
}

}  // namespace iqd::radio::soapy
