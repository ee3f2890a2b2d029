// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/noise.hpp"
#include "radio/soapy-modules/sim/scenario.hpp"

namespace iqd::sim {
namespace {

/// Each transmitter is wired to the receiver of its own number.
class LoopbackScenario final : public Scenario {
 public:
  explicit LoopbackScenario(const Setting& setting) : air_(setting.air) {
    const Arguments& args = setting.arguments;
    delay_ = args.count("delay", 0, 0, std::int64_t{1} << 24);
    gain_ = static_cast<float>(amplitude_of(args.number("gain", 0)));
    if (const auto snr_db = args.number("snr")) {
      noise_ = Noise::shared(seed_of(args));
      noise_amplitude_ = gain_ * static_cast<float>(amplitude_of(-*snr_db));
    }
  }

  bool hears_air() const override { return true; }
  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    air_.read(channel, first - delay_, out);
    for (cf32& x : out) x *= gain_;
    if (noise_) noise_->add(static_cast<std::uint64_t>(channel), first, noise_amplitude_, out);
  }

 private:
  Air& air_;
  std::int64_t delay_ = 0;
  float gain_ = 1;
  float noise_amplitude_ = 0;
  std::shared_ptr<const Noise> noise_;
};

}  // namespace

std::unique_ptr<Scenario> make_loopback(const Setting& setting) {
  return std::make_unique<LoopbackScenario>(setting);
}

}  // namespace iqd::sim
