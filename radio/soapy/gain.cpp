// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/gain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace iqd::radio::soapy {

void choose_gain_mode(SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings) {
  const bool manual = settings.gain_db || !settings.gains.empty();
  if (!settings.agc && !manual) return;
  if (device.hasGainMode(direction, channel)) return device.setGainMode(direction, channel, settings.agc);
  if (settings.agc) throw std::runtime_error("the radio has no automatic gain; remove `agc`");
}

bool has_automatic_gain(const SoapySDR::Device& device, int direction, std::size_t channel) {
  try {
    return device.hasGainMode(direction, channel) && device.getGainMode(direction, channel);
  } catch (...) {
    return false;
  }
}

void set_gain(SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings) {
  if (settings.gain_db) device.setGain(direction, channel, *settings.gain_db);
  if (settings.gains.empty()) return;
  const auto there = device.listGains(direction, channel);
  for (const auto& [element, text] : settings.gains) {
    if (std::find(there.begin(), there.end(), element) == there.end())
      throw std::runtime_error(
          fmt::format("channel {} has no gain element '{}'; it has {}", channel, element,
                      there.empty() ? "none: use `gain`" : fmt::format("{}", fmt::join(there, ", "))));
    const double db = decibels(text).value_or(0);
    const SoapySDR::Range range = device.getGainRange(direction, channel, element);
    const bool known = range.minimum() < range.maximum();
    if (known && (db < range.minimum() || db > range.maximum()))
      throw std::runtime_error(
          fmt::format("the range of {} is {} to {} dB", element, range.minimum(), range.maximum()));
    device.setGain(direction, channel, element, db);
  }
}

void set_lowest_gain(SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings) {
  if (settings.gain_db) device.setGain(direction, channel, device.getGainRange(direction, channel).minimum());
  for (const auto& [element, text] : settings.gains)
    device.setGain(direction, channel, element, device.getGainRange(direction, channel, element).minimum());
}

}  // namespace iqd::radio::soapy
