// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/keyed_frames.hpp"
#include "radio/soapy-modules/sim/scenarios/reception.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {
namespace {

constexpr double kOokChipRate = 4000;  // pulses of 250 and 500 us
constexpr double kOokIntervalS = 0.1;

FrameFormat ook_format(const Arguments& args) {
  static constexpr std::string_view codings[] = {"widths", "manchester", "plain"};
  static constexpr std::string_view bits[][2] = {{"0b100", "0b110"}, {"0b01", "0b10"}, {"0b0", "0b1"}};
  const std::size_t coding = args.choice("coding", "widths", codings);
  FrameFormat format;
  format.pattern = read_chips("aaaaf0cc");
  format.zero = read_chips(bits[coding][0]);
  format.one = read_chips(bits[coding][1]);
  format.has_length = false;
  format.bytes = 5;
  format.crc = crc_of(CrcName::crc8_31);
  return format;
}

/// The id, the frame's number, tenths of a degree (high byte first), per cent of humidity.
std::vector<std::uint8_t> reading(std::uint8_t id, std::int64_t frame) {
  const std::int64_t tenths = 190 + frame % 50;
  return {id, static_cast<std::uint8_t>(frame), static_cast<std::uint8_t>(tenths >> 8),
          static_cast<std::uint8_t>(tenths), static_cast<std::uint8_t>(40 + frame % 20)};
}

/// A weather sensor that keys its carrier.
class OokScenario final : public Scenario {
 public:
  explicit OokScenario(const Setting& setting)
      : reception_(setting, noise_of_snr(setting.arguments)),
        frames_(setting.arguments, ook_format(setting.arguments), kOokChipRate, kOokIntervalS,
                [id = static_cast<std::uint8_t>(setting.arguments.count("id", 90, 0, 255))](std::int64_t frame) {
                  return reading(id, frame);
                }) {}

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    const double chips_a_sample = reception_.step_s() * frames_.chip_rate();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double begin = reception_.time_at(first + static_cast<std::int64_t>(i));
      const std::int64_t frame = frames_.frame_at(begin);
      out[i] = 0;
      if (frame < 0) continue;
      const double ones = frames_.sent(frame, begin + reception_.step_s()).ones - frames_.sent(frame, begin).ones;
      out[i] = static_cast<float>(ones / chips_a_sample);
    }
    reception_.receive(channel, first, out);
  }

 private:
  Reception reception_;
  KeyedFrames frames_;
};

}  // namespace

std::unique_ptr<Scenario> make_ook(const Setting& setting) {
  return std::make_unique<OokScenario>(setting);
}

}  // namespace iqd::sim
