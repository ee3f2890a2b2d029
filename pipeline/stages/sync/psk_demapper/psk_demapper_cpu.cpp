// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "pipeline/stages/sync/psk_demapper/psk_demapper.hpp"
#include "signal/formats/symbol_map.hpp"

namespace iqd::psk_demapper {
namespace {

constexpr std::size_t kMostPoints = 16;  // per axis, or of PSK

unsigned gray(unsigned k) noexcept {
  return k ^ (k >> 1);
}
float distance(cf32 a, cf32 b) noexcept {
  const float re = a.real() - b.real(), im = a.imag() - b.imag();
  return re * re + im * im;
}
cf32 on_circle(double turns) noexcept {
  const double angle = 2 * std::numbers::pi * turns;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

}  // namespace

int bits_of(Constellation c) noexcept {
  constexpr int kBits[] = {1, 2, 3, 4, 6, 8};
  return kBits[static_cast<int>(c)];
}

Demapper::Demapper(const Config& config)
    : two_axes_(config.modulation >= Constellation::qam16 || config.modulation == Constellation::qpsk),
      bits_(bits_of(config.modulation)),
      per_noise_(static_cast<float>(1 / config.noise)) {
  axis_.bits = two_axes_ ? bits_ / 2 : bits_;
  axis_.points.resize(std::size_t{1} << axis_.bits);
  const auto power = static_cast<float>(std::sqrt(qam::power(axis_.bits)));
  for (unsigned label = 0; two_axes_ && label < axis_.points.size(); ++label)
    axis_.points[label] = static_cast<float>(qam::amplitude(axis_.bits, label)) / power;
  const auto points = static_cast<unsigned>(axis_.points.size());
  for (unsigned k = 0; !two_axes_ && k < points; ++k)
    axis_.points[gray(k)] = on_circle(static_cast<double>(k) / points);
  const unsigned around = 1u << bits_;
  const double first = config.modulation == Constellation::qpsk ? 0.125 : 0;
  for (unsigned k = 0; around <= 8 && k < around; ++k)
    circle_.push_back(on_circle(first + static_cast<double>(k) / around));
}

/// Writes the LLR of each bit of a number, `stride` apart, from the distances of all numbers.
void Demapper::weigh(std::span<const float> distance, int bits, int stride, float* llr) const noexcept {
  for (int bit = 0; bit < bits; ++bit) {
    float least[2] = {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
    for (std::size_t number = 0; number < distance.size(); ++number) {
      float& l = least[number >> (bits - 1 - bit) & 1];
      l = std::min(l, distance[number]);
    }
    llr[bit * stride] = (least[1] - least[0]) * per_noise_;
  }
}

void Demapper::llrs(cf32 y, float* llr) const noexcept {
  if (!std::isfinite(y.real()) || !std::isfinite(y.imag())) {
    std::fill_n(llr, bits_, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  std::array<float, kMostPoints> d;
  const std::size_t points = axis_.points.size();
  const auto measure = [&](cf32 x) {
    for (std::size_t p = 0; p < points; ++p) d[p] = distance(x, axis_.points[p]);
    return std::span<const float>(d.data(), points);
  };
  if (!two_axes_) return weigh(measure(y), bits_, 1, llr);
  weigh(measure(y.real()), axis_.bits, 2, llr);
  weigh(measure(y.imag()), axis_.bits, 2, llr + 1);
}

void Demapper::llrs(cf32 before, cf32 y, float* llr) const noexcept {
  const std::size_t around = circle_.size();
  std::array<float, kMostPoints> now, then, step;
  for (std::size_t p = 0; p < around; ++p) now[p] = distance(y, circle_[p]), then[p] = distance(before, circle_[p]);
  for (std::size_t k = 0; k < around; ++k) {
    float& least = step[gray(static_cast<unsigned>(k))];
    least = std::numeric_limits<float>::infinity();
    for (std::size_t p = 0; p < around; ++p) least = std::min(least, then[p] + now[(p + k) % around]);
  }
  weigh({step.data(), around}, bits_, 1, llr);
  const float sum = before.real() + before.imag() + y.real() + y.imag();
  if (!std::isfinite(sum)) std::fill_n(llr, bits_, std::numeric_limits<float>::quiet_NaN());
}

}  // namespace iqd::psk_demapper
