// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/channel_flaws.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "radio/soapy-modules/sim/scenarios/noise.hpp"
#include "signal/filters/filter_kernel.hpp"
#include "signal/filters/fractional_delay.hpp"

namespace iqd::sim {
namespace {

constexpr std::int64_t kTaps = 128;
constexpr double kFarthest = 10'000;
/// A scenario has no samples before its position 0, so channels with delays start here.
constexpr std::int64_t kLead = 16'384;
/// Separates the receivers' noise from that of scenarios.
constexpr std::uint64_t kOwnSeed = 0x5eed'0f'0e4e;

struct Flaw {
  cf32 factor;
  std::int64_t whole;       // delay in samples, rounded up
  std::vector<float> taps;  // advance by the rest
};

Flaw flaw_of(double gain_db, double phase_deg, double delay) {
  const double whole = std::ceil(delay);
  const cf32 factor(std::polar(amplitude_of(gain_db), phase_deg * std::numbers::pi / 180));
  return {factor, static_cast<std::int64_t>(whole),
          whole == delay ? std::vector<float>{} : fractional_delay(whole - delay, kTaps)};
}

class FlawedChannels final : public Scenario {
 public:
  FlawedChannels(const Setting& setting, std::unique_ptr<Scenario> scenario) : scenario_(std::move(scenario)) {
    const Arguments& args = setting.arguments;
    const auto each = [&](const char* key) {
      return args.numbers(key, setting.channels, "one for each receive channel");
    };
    const auto gains = each("channel_gains"), phases = each("channel_phases"), delays = each("channel_delays");
    for (std::size_t c = 0; c < gains.size(); ++c) {
      if (!(std::fabs(delays[c]) <= kFarthest))
        refuse("channel_delays", args.text("channel_delays", ""), "expected samples from -10000 to 10000");
      if (delays[c] != 0 && scenario_->hears_air())
        refuse("channel_delays", args.text("channel_delays", ""), "scenario=loopback has its own argument delay=");
      if (delays[c] != 0) lead_ = kLead;
      flaws_.push_back(flaw_of(gains[c], phases[c], delays[c]));
    }
    common_ = args.flag("common", false);
    if (const auto level = args.number("channel_noise")) {
      noise_ = Noise::shared(seed_of(args) ^ kOwnSeed);
      noise_amplitude_ = static_cast<float>(amplitude_of(*level));
    }
  }

  void prepare() override { scenario_->prepare(); }
  bool hears_air() const override { return scenario_->hears_air(); }

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    const Flaw& flaw = flaws_[static_cast<std::size_t>(channel)];
    const int heard = common_ ? 0 : channel;
    if (flaw.taps.empty())
      scenario_->render(heard, first + lead_ - flaw.whole, out);
    else
      read_between(heard, first + lead_ - flaw.whole, flaw.taps, out);
    for (cf32& v : out)
      v = {v.real() * flaw.factor.real() - v.imag() * flaw.factor.imag(),
           v.real() * flaw.factor.imag() + v.imag() * flaw.factor.real()};
    if (noise_) noise_->add(static_cast<std::uint64_t>(channel), first, noise_amplitude_, out);
  }

 private:
  void read_between(int channel, std::int64_t first, const std::vector<float>& taps, std::span<cf32> out) {
    constexpr std::int64_t kBefore = kTaps / 2 - 1 + kFilterMargin;
    heard_.resize(out.size() + kTaps + 2 * kFilterMargin);
    scenario_->render(channel, first - kBefore, heard_);
    const FilterPhase all{taps.data(), nullptr, kTaps,
                          reinterpret_cast<const float*>(heard_.data() + kBefore + kTaps / 2)};
    filter_tile({&all, 1}, true, reinterpret_cast<float*>(out.data()), std::ssize(out));
  }

  std::unique_ptr<Scenario> scenario_;
  std::vector<Flaw> flaws_;
  std::int64_t lead_ = 0;
  bool common_ = false;
  std::shared_ptr<const Noise> noise_;
  float noise_amplitude_ = 0;
  std::vector<cf32> heard_;
};

}  // namespace

std::unique_ptr<Scenario> with_channel_flaws(const Setting& setting, std::unique_ptr<Scenario> scenario) {
  const auto is_there = [&](const char* key) { return !setting.arguments.text(key, "").empty(); };
  if (std::ranges::none_of(std::initializer_list<const char*>{"common", "channel_gains", "channel_phases",
                                                              "channel_delays", "channel_noise"},
                           is_there))
    return scenario;
  return std::make_unique<FlawedChannels>(setting, std::move(scenario));
}

}  // namespace iqd::sim
