// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/reception.hpp"

#include <cmath>
#include <sstream>

namespace iqd::sim {
namespace {

constexpr double kMostPpm = 50'000;

double clock_error(const Arguments& args) {
  const double ppm = args.number("ppm", 0);
  if (std::fabs(ppm) > kMostPpm) refuse("ppm", args.text("ppm", ""), "expected a number from -50000 to 50000");
  return ppm * 1e-6;
}

}  // namespace

Reception::Reception(const Setting& setting, std::optional<double> noise_db)
    : start_(setting.arguments.count("start", 0, 0, std::int64_t{1} << 40)),
      step_s_((1 + clock_error(setting.arguments)) / setting.rate_hz),
      amplitude_(amplitude_of(setting.arguments.number("level", -20))),
      phase_cycles_(setting.arguments.number("phase", 0) / 360),
      carrier_(setting.arguments.number("offset", 0) / setting.rate_hz) {
  if (!noise_db) return;
  noise_ = Noise::shared(seed_of(setting.arguments));
  noise_amplitude_ = static_cast<float>(amplitude_ * amplitude_of(*noise_db));
}

void Reception::receive(int channel, std::int64_t first, std::span<cf32> x) {
  carrier_at_.resize(x.size());
  carrier_.write(first, amplitude_, phase_cycles_ + channel / 8.0, carrier_at_);
  auto* __restrict v = reinterpret_cast<float*>(x.data());
  const auto* __restrict c = reinterpret_cast<const float*>(carrier_at_.data());
  for (std::size_t i = 0; i < 2 * x.size(); i += 2) {
    const float re = v[i];
    v[i] = c[i] * re - c[i + 1] * v[i + 1];
    v[i + 1] = c[i] * v[i + 1] + c[i + 1] * re;
  }
  if (noise_) noise_->add(static_cast<std::uint64_t>(channel), first, noise_amplitude_, x);
}

std::optional<double> noise_of_snr(const Arguments& args) {
  const std::optional<double> snr_db = args.number("snr");
  return snr_db ? std::optional(-*snr_db) : std::nullopt;
}

double positive(const Arguments& args, const std::string& key, double otherwise, double most) {
  const double value = args.number(key, otherwise);
  if (value > 0 && value <= most) return value;
  std::ostringstream wanted;
  wanted << "expected a number above 0, up to " << most;
  refuse(key, args.text(key, std::to_string(otherwise)), wanted.str());
}

}  // namespace iqd::sim
