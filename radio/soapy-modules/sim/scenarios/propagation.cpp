// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/propagation.hpp"

#include <algorithm>
#include <cmath>

#include "base/integer.hpp"
#include "signal/filters/filter_kernel.hpp"

namespace iqd::sim {
namespace {

constexpr std::int64_t kDelayParts = 64;
constexpr double kTooSmallToMatter = 1e-5;  // taps at the ends, relative to the largest

}  // namespace

Propagation::Propagation(std::span<const Ray> rays, double rate_hz, double clock_error)
    : parts_per_sample_(clock_error * kDelayParts) {
  std::vector<Ray> shifted(rays.begin(), rays.end());
  for (std::int64_t part = 0; part < (clock_error == 0 ? 1 : kDelayParts); ++part) {
    filters_.push_back(filter_of(shifted, rate_hz));
    const Filter& f = filters_.back();
    behind_ = std::max(behind_, std::ssize(f.re) - 1 - f.last);
    ahead_ = std::max(ahead_, f.last);
    for (Ray& ray : shifted) ray.delay_s -= 1 / (kDelayParts * rate_hz);
  }
}

Propagation::Filter Propagation::filter_of(std::span<const Ray> rays, double rate_hz) {
  const ChannelTaps channel = taps_of(rays, rate_hz, PacketFormat{}.samples_per_bit);
  const auto& taps = channel.taps;
  double largest = 0;
  for (const auto& tap : taps) largest = std::max(largest, std::abs(tap));
  const auto matters = [&](const auto& tap) { return std::abs(tap) > kTooSmallToMatter * largest; };
  const auto begin = std::find_if(taps.begin(), taps.end(), matters);
  const auto end = std::find_if(taps.rbegin(), taps.rend(), matters).base();
  Filter filter;
  filter.last = channel.before - (begin - taps.begin());
  for (auto tap = begin; tap != end; ++tap) {
    filter.re.push_back(static_cast<float>(tap->real()));
    filter.im.push_back(static_cast<float>(tap->imag()));
  }
  return filter;
}

std::int64_t Propagation::ahead(std::int64_t n) const noexcept {
  return std::llround(static_cast<double>(n) * parts_per_sample_);
}

/// The end of the run of samples from n on that are equally far ahead.
std::int64_t Propagation::same_until(std::int64_t n, std::int64_t end) const noexcept {
  const std::int64_t here = ahead(n);
  if (ahead(end - 1) == here) return end;
  std::int64_t same = n, other = end - 1;
  while (other - same > 1) {
    const std::int64_t middle = same + (other - same) / 2;
    (ahead(middle) == here ? same : other) = middle;
  }
  return other;
}

void Propagation::write(Transmission& from, std::int64_t first, std::span<cf32> out) {
  const auto parts = static_cast<std::int64_t>(filters_.size());
  const std::int64_t end = first + std::ssize(out);
  const auto [low, high] = std::minmax({floor_div(ahead(first), kDelayParts), floor_div(ahead(end - 1), kDelayParts)});
  const std::int64_t begin = first + low - behind_;
  const std::int64_t count = end + high + ahead_ - begin;
  sent_.resize(static_cast<std::size_t>(kFilterMargin + count + kFilterMargin));
  const cf32* const sent = sent_.data() + kFilterMargin;
  from.write(begin, std::span(sent_).subspan(kFilterMargin, static_cast<std::size_t>(count)));
  for (std::int64_t n = first; n < end;) {
    const std::int64_t until = same_until(n, end);
    const std::int64_t whole = floor_div(ahead(n), kDelayParts);
    const Filter& f = filters_[static_cast<std::size_t>((ahead(n) - whole * kDelayParts) % parts)];
    const FilterPhase all{f.re.data(), f.im.data(), std::ssize(f.re),
                          reinterpret_cast<const float*>(sent + (n + whole + f.last - begin))};
    filter_tile({&all, 1}, true, reinterpret_cast<float*>(out.data() + (n - first)), until - n);
    n = until;
  }
}

}  // namespace iqd::sim
