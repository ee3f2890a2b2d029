// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "radio/soapy-modules/sim/scenarios/noise.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {
namespace {

class NoiseScenario final : public Scenario {
 public:
  explicit NoiseScenario(const Arguments& args)
      : noise_(Noise::shared(seed_of(args))), amplitude_(static_cast<float>(amplitude_of(args.number("level", -20)))) {}

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    std::fill(out.begin(), out.end(), cf32{});
    noise_->add(static_cast<std::uint64_t>(channel), first, amplitude_, out);
  }

 private:
  std::shared_ptr<const Noise> noise_;
  float amplitude_;
};

}  // namespace

std::unique_ptr<Scenario> make_noise(const Setting& setting) {
  return std::make_unique<NoiseScenario>(setting.arguments);
}

}  // namespace iqd::sim
