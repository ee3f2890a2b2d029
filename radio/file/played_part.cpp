// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/played_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/integer.hpp"
#include "config/quantity.hpp"
#include "radio/window/manifest.hpp"

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

Excerpt PlayedPart::cut(std::int64_t block) const noexcept {
  Excerpt part = all;
  if (windows > 1) {
    const std::int64_t first = all.first / block, blocks = ceil_div(all.end, block) - first;
    const auto edge = [&](std::int64_t w) { return (first + mul_div(blocks, w, windows)) * block; };
    part.first = std::clamp(edge(window), all.first, all.end);
    part.end = std::clamp(edge(window + 1), all.first, all.end);
  }
  if (warm > 0) part.warm = part.first - std::max<SampleIndex>(part.first - warm, 0) / block * block;
  part.at = part.first - part.warm;
  return part;
}

std::optional<std::pair<std::int64_t, std::int64_t>> window_in(const std::string& text) {
  const std::size_t slash = text.find('/');
  std::string why;
  const auto number = parse_whole(text.substr(0, slash), Unit::none, why);
  const auto count = slash == std::string::npos ? std::nullopt : parse_whole(text.substr(slash + 1), Unit::none, why);
  if (!number || !count || *number < 0 || *number >= *count || *count > kMostWindows) return std::nullopt;
  return std::pair(*number, *count);
}

PlayedPart played_part(const PartKeys& keys, const Recording& recording,
                       const std::function<void(std::string_view key, std::string what)>& report) {
  PlayedPart part;
  std::string why;
  const SampleIndex all = recording.length();
  const auto samples_of = [&](std::string_view key, const std::string& text, std::int64_t least, const char* too_low) {
    const auto samples = text.empty() ? std::nullopt : samples_in(text, recording.rate_hz, why);
    if (!samples && !text.empty()) report(key, why);
    if (samples && *samples < least) report(key, too_low);
    return samples && *samples >= least ? samples : std::nullopt;
  };
  if (const auto first = samples_of("start", keys.start, 0, "must not be negative")) {
    if (*first >= all)
      report("start", fmt::format("is beyond the end: {} has {} samples, {}", recording.path, all,
                                  quantity_text(static_cast<double>(all) / recording.rate_hz, Unit::seconds)));
    else
      part.all.first = *first;
  }
  if (const auto samples = samples_of("samples", keys.samples, 1, "must be at least 1"))
    part.all.end = saturated_add(part.all.first, *samples);
  part.edges = std::gcd(part.all.first, part.all.end < all ? part.all.end : 0);
  part.warm = samples_of("warm", keys.warm, 0, "must not be negative").value_or(0);
  if (keys.window.empty()) return part;
  if (const auto window = window_in(keys.window))
    std::tie(part.window, part.windows) = *window;
  else
    report("window", fmt::format("expected K/N with K from 0 to N - 1, such as 3/16, found '{}'", keys.window));
  part.all.end = std::min(part.all.end, all);
  return part;
}

}  // namespace iqd::radio
