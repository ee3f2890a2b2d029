// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/receiver_flaws.hpp"

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "base/integer.hpp"
#include "base/random.hpp"

namespace iqd::sim {
namespace {

/// Samples after which the oscillator's noise repeats.
constexpr std::int64_t kOscillatorPeriod = 1 << 20;
constexpr std::uint64_t kOscillatorSeed = 0x05c1'11a7'0e5e;
/// The constant has the same angle on each channel.
constexpr double kDcAngle = 0.7;

/// exp(j phase) of an oscillator whose phase is a random walk, with this line width, in cycles a sample. At its end it
/// is where it began.
std::vector<cf32> oscillator(double line_width, std::uint64_t seed) {
  std::vector<double> phases;
  const double step = std::sqrt(2 * std::numbers::pi * line_width);
  double phase = 0;
  for (std::uint64_t n = 0; n < kOscillatorPeriod; ++n) {
    phases.push_back(phase);
    const double size = std::sqrt(-2 * std::log(uniform(mix(seed + 2 * n))));
    phase += step * size * std::cos(2 * std::numbers::pi * uniform(mix(seed + 2 * n + 1)));
  }
  std::vector<cf32> turns;
  for (std::size_t n = 0; n < phases.size(); ++n)
    turns.emplace_back(
        std::polar(1.0, phases[n] - phase * static_cast<double>(n) / static_cast<double>(kOscillatorPeriod)));
  return turns;
}

class FlawedReceiver final : public Scenario {
 public:
  FlawedReceiver(const Setting& setting, std::unique_ptr<Scenario> scenario) : scenario_(std::move(scenario)) {
    const Arguments& args = setting.arguments;
    const double phase = own_phase(args, *scenario_) * std::numbers::pi / 180;
    const double gain = amplitude_of(-args.number("iq_gain_db", 0));
    straight_ = static_cast<float>(gain * std::cos(phase)), crossed_ = static_cast<float>(-gain * std::sin(phase));
    if (const auto level = args.number("dc")) dc_ = cf32(std::polar(amplitude_of(*level), kDcAngle));
    if (const double width = args.number_up_to("phase_noise", 0, 1e6); width > 0)
      oscillator_ = oscillator(width / setting.rate_hz, seed_of(args) ^ kOscillatorSeed);
  }

  void prepare() override { scenario_->prepare(); }
  bool hears_air() const override { return scenario_->hears_air(); }

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    scenario_->render(channel, first, out);
    if (!oscillator_.empty()) turn(first, out);
    for (cf32& v : out) v = {v.real() + dc_.real(), straight_ * v.imag() + crossed_ * v.real() + dc_.imag()};
  }

  /// In `loopback` the transmitter has this argument.
  static double own_phase(const Arguments& args, const Scenario& scenario) {
    return scenario.hears_air() ? 0 : args.number("iq_phase", 0);
  }

 private:
  void turn(std::int64_t first, std::span<cf32> out) const noexcept {
    auto at = static_cast<std::size_t>(first - floor_div(first, kOscillatorPeriod) * kOscillatorPeriod);
    for (cf32& v : out) {
      const cf32 t = oscillator_[at];
      v = {v.real() * t.real() - v.imag() * t.imag(), v.real() * t.imag() + v.imag() * t.real()};
      if (++at == oscillator_.size()) at = 0;
    }
  }

  std::unique_ptr<Scenario> scenario_;
  std::vector<cf32> oscillator_;  // empty: without noise
  float straight_ = 1, crossed_ = 0;
  cf32 dc_ = 0;
};

}  // namespace

std::unique_ptr<Scenario> with_receiver_flaws(const Setting& setting, std::unique_ptr<Scenario> scenario) {
  const Arguments& args = setting.arguments;
  if (FlawedReceiver::own_phase(args, *scenario) == 0 && args.number("iq_gain_db", 0) == 0 && !args.number("dc") &&
      args.number("phase_noise", 0) == 0)
    return scenario;
  return std::make_unique<FlawedReceiver>(setting, std::move(scenario));
}

}  // namespace iqd::sim
