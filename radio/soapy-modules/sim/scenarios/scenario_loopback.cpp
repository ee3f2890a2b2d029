// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>

#include "radio/soapy-modules/sim/scenarios/noise.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "signal/transmit/transmitter.hpp"

namespace iqd::sim {
namespace {

constexpr double kLoPhase = 0.7;

/// The preset `pa`, with the changes from other arguments. The whole samples of the delay are handled elsewhere.
Transmitter::Options transmitter_of(const Arguments& args, double delay) {
  static constexpr std::string_view kNames[] = {"none", "memoryless", "spec"};
  const Transmitter::Options impaired = Transmitter::impaired();
  const std::size_t kind = args.choice("pa", "none", kNames);
  Transmitter::Options options = kind == 2 ? impaired : kind == 1 ? Transmitter::memoryless() : Transmitter::Options{};
  options.iq_gain_db = args.number("iq_gain", options.iq_gain_db);
  options.iq_phase_deg = args.number("iq_phase", options.iq_phase_deg);
  options.lo = std::polar(args.number_up_to("lo", std::abs(options.lo), 1), kLoPhase);
  const bool memory = args.flag("memory", kind == 2);
  options.before = memory ? impaired.before : std::vector<std::complex<double>>{1};
  options.behind = memory ? impaired.behind : std::vector<std::complex<double>>{1};
  options.delay = delay - std::floor(delay);
  return options;
}

bool ideal(const Transmitter::Options& o) {
  return o.iq_gain_db == 0 && o.iq_phase_deg == 0 && o.lo == 0.0 && o.before.size() == 1 && o.a3 == 0.0 && o.delay == 0;
}

/// Each transmit channel is wired to the receive channel with its number.
class LoopbackScenario final : public Scenario {
 public:
  explicit LoopbackScenario(const Setting& setting) : air_(setting.air) {
    const Arguments& args = setting.arguments;
    const double delay = args.number_up_to("delay", 0, kLongestDelay);
    delay_ = static_cast<std::int64_t>(std::floor(delay));
    if (const auto options = transmitter_of(args, delay); !ideal(options)) transmitter_.emplace(options);
    gain_ = static_cast<float>(amplitude_of(args.number("gain", 0)));
    if (const auto snr_db = args.number("snr")) {
      noise_ = Noise::shared(seed_of(args));
      noise_amplitude_ = gain_ * static_cast<float>(amplitude_of(-*snr_db));
    }
  }

  bool hears_air() const override { return true; }
  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    if (transmitter_)
      transmit(channel, first - delay_, out);
    else
      air_.read(channel, first - delay_, out);
    for (cf32& x : out) x *= gain_;
    if (noise_) noise_->add(static_cast<std::uint64_t>(channel), first, noise_amplitude_, out);
  }

 private:
  void transmit(int channel, std::int64_t first, std::span<cf32> out) {
    const std::int64_t past = transmitter_->past();
    sent_.resize(static_cast<std::size_t>(past + std::ssize(out) + transmitter_->future()));
    air_.read(channel, first - past, sent_);
    transmitter_->run(sent_.data() + past, 0, out);
  }

  Air& air_;
  std::int64_t delay_ = 0;
  std::optional<Transmitter> transmitter_;  // empty if it would change nothing
  float gain_ = 1;
  float noise_amplitude_ = 0;
  std::shared_ptr<const Noise> noise_;
  std::vector<cf32> sent_;
};

}  // namespace

std::unique_ptr<Scenario> make_loopback(const Setting& setting) {
  return std::make_unique<LoopbackScenario>(setting);
}

}  // namespace iqd::sim
