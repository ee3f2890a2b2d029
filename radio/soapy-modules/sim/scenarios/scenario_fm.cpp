// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "radio/soapy-modules/sim/scenarios/reception.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kPilotHz = 19'000;
constexpr double kPilot = 0.1;  // of the deviation
constexpr double kProgramme = 0.9;
constexpr double kHighestHz = 15'000;

/// One component of the modulation: amplitude * cos(2 pi hz t + phase); amplitude 1 is the full deviation.
struct Part {
  double hz;
  double amplitude;
  double phase;
};

/// `left=400/3000`: the tones of a channel, Hz.
std::vector<double> tones_of(const Arguments& args, const std::string& key, const std::string& otherwise) {
  std::vector<double> tones = args.list(key, otherwise);
  for (const double hz : tones)
    if (hz < 1 || hz > kHighestHz) refuse(key, args.text(key, otherwise), "expected tones of 1 to 15000 Hz");
  return tones;
}

/// A station's signal: the sum of both channels, a pilot, and their difference around twice the pilot's frequency. High
/// tones are pre-emphasized with the time constant tau.
class Multiplex {
 public:
  explicit Multiplex(const Arguments& args)
      : stereo_(args.flag("stereo", true)),
        amplitude_(args.number_up_to("amplitude", 0.2, 1)),
        tau_s_(args.number_up_to("emphasis", 50e-6, 1e-3)) {
    if (stereo_) parts_.push_back({kPilotHz, kPilot, -std::numbers::pi / 2});
    for (const double hz : tones_of(args, "left", "400/3000")) add(hz, 1);
    for (const double hz : tones_of(args, "right", "1000/3000")) add(hz, -1);
  }
  const std::vector<Part>& parts() const { return parts_; }

 private:
  void add(double hz, double side) {
    const double w = kTurn * hz * tau_s_;
    const double half = kProgramme * amplitude_ * std::hypot(1, w) / 2;
    const double phase = std::atan(w);
    parts_.push_back({hz, half, phase});
    if (!stereo_) return;
    // cos(a) sin(b) = (sin(b + a) + sin(b - a)) / 2
    parts_.push_back({2 * kPilotHz + hz, side * half / 2, phase - std::numbers::pi / 2});
    parts_.push_back({2 * kPilotHz - hz, side * half / 2, -phase - std::numbers::pi / 2});
  }

  bool stereo_;
  double amplitude_;
  double tau_s_;
  std::vector<Part> parts_;
};

/// A broadcasting station. Its carrier's phase is the integral of cosines, so it is known at any time.
class FmScenario final : public Scenario {
 public:
  explicit FmScenario(const Setting& setting) : reception_(setting, noise_of_snr(setting.arguments)) {
    const double deviation_hz = setting.arguments.number_up_to("deviation", 75'000, 1e6);
    const Multiplex multiplex(setting.arguments);
    for (const Part& p : multiplex.parts())
      waves_.push_back({Tone(p.hz * reception_.step_s()), deviation_hz / p.hz * p.amplitude, p.phase / kTurn});
  }

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    wave_.resize(out.size());
    phase_.assign(out.size(), 0.0f);
    for (const Wave& w : waves_) {
      w.tone.write(first, w.radians, w.phase_cycles, wave_);
      for (std::size_t i = 0; i < out.size(); ++i) phase_[i] += wave_[i].imag();
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {std::cos(phase_[i]), std::sin(phase_[i])};
    reception_.receive(channel, first, out);
  }

 private:
  struct Wave {
    Tone tone;
    double radians;
    double phase_cycles;
  };
  Reception reception_;
  std::vector<Wave> waves_;
  std::vector<cf32> wave_;
  std::vector<float> phase_;
};

}  // namespace

std::unique_ptr<Scenario> make_fm(const Setting& setting) {
  return std::make_unique<FmScenario>(setting);
}

}  // namespace iqd::sim
