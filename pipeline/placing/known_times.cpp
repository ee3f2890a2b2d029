// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/placing/known_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace iqd {
namespace {

struct Estimate {
  std::string_view stage;
  double few_host_us, few_device_us, many_host_us, many_device_us;
  std::int64_t reach;
};
constexpr std::int64_t kFew = 8192, kMany = 1'048'576;  // the samples of a row's times

struct FixedEstimate {
  double byte_us, device_us, wake_us;
};
#define STAGE(...)
#define FIXED(...) constexpr FixedEstimate kFixed{__VA_ARGS__};
#include "pipeline/placing/estimates.def"
#undef STAGE
#undef FIXED
#define FIXED(...)
#define STAGE(name, ...) {#name, __VA_ARGS__},
constexpr Estimate kEstimates[] = {
#include "pipeline/placing/estimates.def"
};
#undef STAGE
#undef FIXED

/// On the line through two points.
double on_line(double x, double x0, double y0, double x1, double y1) {
  return x1 > x0 ? std::max(0.0, y0 + (y1 - y0) * (x - x0) / (x1 - x0)) : y0;
}

}  // namespace

std::string_view name_of(TimeFrom from) {
  static constexpr std::string_view kNames[] = {"measured", "estimated", "not known"};
  return kNames[static_cast<std::size_t>(from)];
}

std::string block_name(Wait wait) {
  return fmt::format("block-{}", enum_names(wait)[static_cast<std::size_t>(wait)]);
}

std::string crossing_name(std::string_view way, std::size_t bytes) {
  return fmt::format("{}-{}", way, bytes);
}

KnownTimes::KnownTimes(const Backend& host, const Backend& device)
    : KnownTimes(tuned_times(host.device(), measured_with(host.details())),
                 tuned_times(device.device(), measured_with(device.details()))) {}

BothTimes KnownTimes::measured(const std::string& name) const {
  BothTimes times;
  if (const auto us = host_.us.find(name); us != host_.us.end())
    times.host_us = us->second, times.host_from = TimeFrom::measured;
  if (const auto us = device_.us.find(name); us != device_.us.end())
    times.device_us = us->second, times.device_from = TimeFrom::measured;
  return times;
}

bool KnownTimes::has_blocks(Wait wait) const {
  return host_.us.contains(block_name(wait)) && device_.us.contains(block_name(wait));
}

double KnownTimes::host_block_us(Wait wait) const {
  if (const auto us = host_.us.find(block_name(wait)); us != host_.us.end()) return us->second;
  return wait == Wait::block ? 2 * kFixed.wake_us : kFixed.wake_us;
}

double KnownTimes::device_block_us(Wait wait) const {
  if (const auto us = device_.us.find(block_name(wait)); us != device_.us.end()) return us->second;
  return kFixed.device_us + (wait == Wait::block ? 2 * kFixed.wake_us : 0);
}

/// Between the measured sizes, or on from the last two.
double KnownTimes::crossing_us(std::string_view way, std::size_t bytes) const {
  const std::string prefix = crossing_name(way, 0).substr(0, way.size() + 1);
  std::map<double, double> points;
  for (auto at = device_.us.lower_bound(prefix); at != device_.us.end() && at->first.starts_with(prefix); ++at) {
    double size = 0;
    const std::string_view digits = std::string_view(at->first).substr(prefix.size());
    if (std::from_chars(digits.data(), digits.data() + digits.size(), size).ec == std::errc())
      points[size] = at->second;
  }
  const auto wanted = static_cast<double>(bytes);
  if (points.empty()) return kFixed.byte_us * wanted;
  auto above = points.lower_bound(wanted);
  if (above == points.begin()) return above->second;
  if (above == points.end()) --above;
  if (above == points.begin()) return above->second * wanted / above->first;
  const auto below = std::prev(above);
  return on_line(wanted, below->first, below->second, above->first, above->second);
}

BothTimes estimated(std::string_view stage, std::int64_t samples, std::int64_t reach) {
  const auto row = std::ranges::find(kEstimates, stage, &Estimate::stage);
  if (row == std::end(kEstimates)) return {};
  const auto n = static_cast<double>(samples);
  const auto at = [n](double few, double many) {
    return on_line(n, static_cast<double>(kFew), few, static_cast<double>(kMany), many);
  };
  // Few samples still take a launch on the device, but next to nothing on the host.
  double host =
      samples < kFew ? row->few_host_us * n / static_cast<double>(kFew) : at(row->few_host_us, row->many_host_us);
  if (row->reach > 0 && reach > row->reach)
    host *= static_cast<double>(reach + 1) / static_cast<double>(row->reach + 1);
  const double device = samples < kFew ? row->few_device_us : at(row->few_device_us, row->many_device_us);
  return {host, device, TimeFrom::estimate, TimeFrom::estimate};
}

}  // namespace iqd
