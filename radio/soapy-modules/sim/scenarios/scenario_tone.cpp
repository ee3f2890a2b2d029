// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <stdexcept>

#include "radio/soapy-modules/sim/scenarios/noise.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "radio/soapy-modules/sim/scenarios/tone.hpp"

namespace iqd::sim {
namespace {

constexpr int kCodes = 128;
constexpr double kQuietest = -20;  // dBFS of the stronger of tone and noise, unless `level` is given

/// One constant frequency, or one for each character of a text in turn.
class ToneScenario final : public Scenario {
 public:
  explicit ToneScenario(const Setting& setting) : text_(setting.arguments.text("text", "")) {
    const Arguments& args = setting.arguments;
    const std::optional<double> snr_db = args.number("snr");
    const double level_db = args.number("level", kQuietest + std::min(0.0, snr_db.value_or(0)));
    amplitude_ = amplitude_of(level_db);
    if (snr_db) {
      noise_ = Noise::shared(seed_of(args));
      noise_amplitude_ = static_cast<float>(amplitude_of(level_db - *snr_db));
    }
    symbol_ = args.count("symbol", 262144, 1, std::int64_t{1} << 40);
    if (text_.empty()) {
      tones_[0] = std::make_unique<Tone>(args.number("frequency", setting.rate_hz / 8) / setting.rate_hz);
    } else {
      spell();
    }
  }

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    const double phase = channel / 8.0;
    for (std::size_t done = 0; done < out.size();) {
      const std::int64_t n = first + static_cast<std::int64_t>(done);
      const auto samples = std::min(out.size() - done, static_cast<std::size_t>(symbol_ - n % symbol_));
      tone_at(n).write(n, amplitude_, phase, out.subspan(done, samples));
      done += samples;
    }
    if (noise_) noise_->add(static_cast<std::uint64_t>(channel), first, noise_amplitude_, out);
  }

 private:
  void spell() {
    for (const char c : text_) {
      const auto code = static_cast<unsigned char>(c);
      if (code >= kCodes) throw std::invalid_argument("iqdsim: text= accepts only ASCII characters");
      if (!tones_[code]) tones_[code] = std::make_unique<Tone>((code - 64) / 1024.0);
    }
  }
  const Tone& tone_at(std::int64_t n) const {
    if (text_.empty()) return *tones_[0];
    const auto symbol = static_cast<std::size_t>(n / symbol_) % text_.size();
    return *tones_[static_cast<unsigned char>(text_[symbol])];
  }

  std::string text_;
  std::int64_t symbol_ = 0;
  double amplitude_ = 0;
  float noise_amplitude_ = 0;
  std::shared_ptr<const Noise> noise_;
  std::array<std::unique_ptr<Tone>, kCodes> tones_;
};

}  // namespace

std::unique_ptr<Scenario> make_tone(const Setting& setting) {
  return std::make_unique<ToneScenario>(setting);
}

}  // namespace iqd::sim
