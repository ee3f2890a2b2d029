// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/front_end.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace iqd::warp {
namespace {

constexpr double kSameHz = 1;

constexpr std::array<Channel, 34> make_channels() {
  std::array<Channel, 34> all{};
  std::size_t i = 0;
  for (std::uint32_t n = 1; n <= 11; ++n) all[i++] = {0, n, (2412.0 + 5 * (n - 1)) * 1e6};
  std::uint32_t number = 1;
  for (int mhz = 5180; mhz <= 5320; mhz += 20) all[i++] = {1, number++, mhz * 1e6};
  for (int mhz = 5500; mhz <= 5700; mhz += 20) all[i++] = {1, number++, mhz * 1e6};
  for (int mhz = 5745; mhz <= 5805; mhz += 20) all[i++] = {1, number++, mhz * 1e6};
  return all;
}
constexpr auto kChannels = make_channels();

double steps_up(const Steps& s, double value) noexcept {
  const double within = value > s.low ? std::min(value, s.high) : s.low;  // also if value is NaN
  return (within - s.low) / (s.high - s.low) * (s.last - s.first);
}

}  // namespace

std::span<const Channel> channels() noexcept {
  return kChannels;
}

const Channel& channel_at(double hz) {
  const auto above = std::lower_bound(kChannels.begin() + 1, kChannels.end() - 1, hz,
                                      [](const Channel& c, double value) { return c.hz < value; });
  for (const auto* near : {above - 1, above})
    if (std::fabs(near->hz - hz) < kSameHz) return *near;
  std::ostringstream text;
  text << "warp: no channel at " << hz / 1e6 << " MHz; the nearest are " << text_of(above[-1]) << " and "
       << text_of(*above);
  throw std::invalid_argument(text.str());
}

double Steps::value(std::uint32_t code) const noexcept {
  return low + (high - low) * (code - first) / (last - first);
}

std::uint32_t Steps::nearest(double value) const noexcept {
  return first + static_cast<std::uint32_t>(std::lround(steps_up(*this, value)));
}

std::uint32_t Steps::below(double value) const noexcept {
  constexpr double kRounding = 1e-9;
  return first + static_cast<std::uint32_t>(std::floor(steps_up(*this, value) + kRounding));
}

std::size_t wide_enough(std::span<const double> corners_hz, double hz) noexcept {
  const auto at = std::lower_bound(corners_hz.begin(), corners_hz.end() - 1, hz);
  return static_cast<std::size_t>(at - corners_hz.begin());
}

std::size_t nearest(std::span<const double> values, double value) noexcept {
  const auto at = std::min_element(values.begin(), values.end(),
                                   [&](double a, double b) { return std::fabs(a - value) < std::fabs(b - value); });
  return static_cast<std::size_t>(at - values.begin());
}

std::string text_of(const Channel& c) {
  std::ostringstream text;
  text << c.hz / 1e6 << " MHz (channel " << c.number << " of the " << (c.band ? "5" : "2.4") << " GHz band)";
  return text.str();
}

}  // namespace iqd::warp
