// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>
#include <string>

#include "radio/soapy-modules/sim/scenarios/keyed_frames.hpp"
#include "radio/soapy-modules/sim/scenarios/reception.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {
namespace {

constexpr double kChipRate = 9600;
constexpr double kIntervalS = 0.06;
constexpr double kDeviationHz = 5000;
constexpr std::size_t kNumber = 6;  // characters of the frame number and a space

std::string text_of(const Arguments& args) {
  std::string text = args.text("text", "The simulated radio says hello.");
  if (text.size() + kNumber > 64) refuse("text", text, "expected at most 58 characters");
  return text;
}

FrameFormat fsk_format(const Arguments& args) {
  FrameFormat format;
  format.pattern = read_chips("aaaaaaaa2dd4");
  format.bytes = static_cast<std::int64_t>(text_of(args).size() + kNumber);
  format.crc = crc_of(CrcName::crc16_ccitt);
  return format;
}

std::vector<std::uint8_t> numbered(std::int64_t frame, const std::string& text) {
  const std::string payload = std::to_string(100'000 + frame % 100'000).substr(1) + " " + text;
  return {payload.begin(), payload.end()};
}

/// A transmitter of text: 2-FSK with continuous phase.
class FskScenario final : public Scenario {
 public:
  explicit FskScenario(const Setting& setting)
      : reception_(setting, noise_of_snr(setting.arguments)),
        frames_(setting.arguments, fsk_format(setting.arguments), kChipRate, kIntervalS,
                [text = text_of(setting.arguments)](std::int64_t frame) { return numbered(frame, text); }),
        turn_(2 * std::numbers::pi * setting.arguments.number("deviation", kDeviationHz) / frames_.chip_rate()) {}

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    const double chips_a_sample = reception_.step_s() * frames_.chip_rate();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double begin = reception_.time_at(first + static_cast<std::int64_t>(i));
      const std::int64_t frame = frames_.frame_at(begin);
      out[i] = 0;
      if (frame < 0) continue;
      const KeyedFrames::Sent from = frames_.sent(frame, begin);
      const KeyedFrames::Sent to = frames_.sent(frame, begin + reception_.step_s());
      // At the middle of the sample: ones turn forwards, zeros backwards.
      const double turned = turn_ * (from.ones + to.ones - (from.chips + to.chips) / 2);
      out[i] = cf32(std::polar((to.chips - from.chips) / chips_a_sample, turned));
    }
    reception_.receive(channel, first, out);
  }

 private:
  Reception reception_;
  KeyedFrames frames_;
  double turn_;  // radians per chip
};

}  // namespace

std::unique_ptr<Scenario> make_fsk(const Setting& setting) {
  return std::make_unique<FskScenario>(setting);
}

}  // namespace iqd::sim
