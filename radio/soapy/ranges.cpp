// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/ranges.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"

namespace iqd::radio::soapy {
namespace {

/// Some modules report no range, or an empty one. Some report single values, and take the nearest.
bool is_refused(double value, const SoapySDR::RangeList& ranges) {
  if (ranges.empty()) return false;
  const auto within = [&](const SoapySDR::Range& r) { return value >= r.minimum() && value <= r.maximum(); };
  const double lowest = std::ranges::min_element(ranges, {}, &SoapySDR::Range::minimum)->minimum();
  const double highest = std::ranges::max_element(ranges, {}, &SoapySDR::Range::maximum)->maximum();
  if (lowest >= highest || std::ranges::any_of(ranges, within)) return false;
  const auto is_value = [](const SoapySDR::Range& r) { return r.minimum() >= r.maximum(); };
  return !std::ranges::all_of(ranges, is_value) || value < lowest || value > highest;
}

/// A few ranges or values, or the lowest and the highest of many.
std::string ranges_text(const SoapySDR::RangeList& ranges) {
  constexpr std::size_t kMostListed = 8;
  if (ranges.size() > kMostListed) {
    const double lowest = std::ranges::min_element(ranges, {}, &SoapySDR::Range::minimum)->minimum();
    const double highest = std::ranges::max_element(ranges, {}, &SoapySDR::Range::maximum)->maximum();
    return fmt::format("{} to {}", lowest, highest);
  }
  std::vector<std::string> all;
  for (const SoapySDR::Range& r : ranges)
    all.push_back(r.minimum() < r.maximum() ? fmt::format("{} to {}", r.minimum(), r.maximum())
                                            : fmt::format("{}", r.minimum()));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

void check_ranges(const SoapySDR::Device& device, int direction, std::span<const std::size_t> channels,
                  const Settings& settings, const std::string& name) {
  const auto check = [&](const char* key, double value, const SoapySDR::RangeList& ranges) {
    if (is_refused(value, ranges))
      throw SetupError(fmt::format("{}: {} {} is out of range ({})", name, key, value, ranges_text(ranges)));
  };
  for (const std::size_t c : channels) {
    if (settings.frequency_hz) check("frequency", *settings.frequency_hz, device.getFrequencyRange(direction, c));
    if (settings.gain_db) check("gain", *settings.gain_db, {device.getGainRange(direction, c)});
    if (settings.bandwidth_hz) check("bandwidth", *settings.bandwidth_hz, device.getBandwidthRange(direction, c));
  }
}

}  // namespace iqd::radio::soapy
