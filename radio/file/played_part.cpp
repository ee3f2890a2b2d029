// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/played_part.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/integer.hpp"
#include "config/quantity.hpp"

namespace iqd::radio {
namespace {

constexpr double kMostSamples = 9e15;  // as a double is exact to a sample

/// Sets `why` if it is neither.
std::optional<std::int64_t> samples_in(const std::string& text, double rate_hz, std::string& why) {
  if (!has_unit(text)) return parse_whole(text, Unit::none, why);
  const auto seconds = parse_quantity(text, Unit::seconds, why);
  if (!seconds) return std::nullopt;
  if (!(std::fabs(*seconds * rate_hz) < kMostSamples)) {
    why = "is too long";
    return std::nullopt;
  }
  return std::llround(*seconds * rate_hz);
}

}  // namespace

Excerpt played_part(const PartKeys& keys, const Recording& recording,
                    const std::function<void(std::string_view key, std::string what)>& report) {
  Excerpt part;
  std::string why;
  const SampleIndex all = recording.length();
  if (!keys.start.empty()) {
    const auto first = samples_in(keys.start, recording.rate_hz, why);
    if (!first)
      report("start", why);
    else if (*first < 0)
      report("start", "must not be negative");
    else if (*first >= all)
      report("start", fmt::format("is beyond the end: {} has {} samples, {}", recording.path, all,
                                  quantity_text(static_cast<double>(all) / recording.rate_hz, Unit::seconds)));
    else
      part.at = part.first = *first;
  }
  if (keys.samples.empty()) return part;
  const auto samples = samples_in(keys.samples, recording.rate_hz, why);
  if (!samples)
    report("samples", why);
  else if (*samples < 1)
    report("samples", "must be at least 1");
  else
    part.end = saturated_add(part.first, *samples);
  return part;
}

}  // namespace iqd::radio
