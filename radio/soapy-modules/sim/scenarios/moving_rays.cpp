// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/moving_rays.hpp"

#include <cmath>

namespace iqd::sim {
namespace {

std::vector<Ray> without_second(std::span<const Ray> rays) {
  std::vector<Ray> others(rays.begin(), rays.end());
  others.erase(others.begin() + 1);
  return others;
}

}  // namespace

MovingRays::MovingRays(std::span<const Ray> rays, double rate_hz, double clock_error, double ray_hz)
    : still_(ray_hz == 0 ? std::vector<Ray>(rays.begin(), rays.end()) : without_second(rays), rate_hz, clock_error) {
  if (ray_hz == 0) return;
  const std::span<const Ray> second = rays.subspan(1, 1);
  const std::int64_t samples_per_bit = PacketFormat{}.samples_per_bit;
  const double others = power_of(without_second(rays), rate_hz, samples_per_bit);
  const double own = power_of(second, rate_hz, samples_per_bit);
  turning_.emplace(Turning{.propagation = Propagation(second, rate_hz, clock_error),
                           .turn = Tone(ray_hz / rate_hz),
                           .amplitude = std::sqrt(own / (own + others)),
                           .of_others = static_cast<float>(std::sqrt(others / (own + others)))});
}

void MovingRays::write(Transmission& from, std::int64_t first, std::span<cf32> out) {
  still_.write(from, first, out);
  if (!turning_) return;
  ray_.resize(out.size());
  turn_.resize(out.size());
  turning_->propagation.write(from, first, ray_);
  turning_->turn.write(first, turning_->amplitude, 0, turn_);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const cf32 x = ray_[i], t = turn_[i];
    out[i] = {turning_->of_others * out[i].real() + (x.real() * t.real() - x.imag() * t.imag()),
              turning_->of_others * out[i].imag() + (x.real() * t.imag() + x.imag() * t.real())};
  }
}

}  // namespace iqd::sim
