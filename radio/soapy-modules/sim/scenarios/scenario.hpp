// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "radio/soapy-modules/sim/scenarios/air.hpp"
#include "radio/soapy-modules/sim/scenarios/arguments.hpp"

namespace iqd::sim {

/// Largest value of the argument `delay`, in samples; transmitted samples are kept this long.
inline constexpr double kLongestDelay = 1 << 24;

/// What a scenario is made from. `air` must outlive it.
struct Setting {
  const Arguments& arguments;
  double rate_hz;
  int channels;
  Air& air;
};

/// What the simulated antennas receive.
class Scenario {
 public:
  virtual ~Scenario() = default;
  /// Does the slow work before the clock runs and before the first render().
  virtual void prepare() {}
  /// Writes positions first, first + 1, … of a receive channel, none below 0; full scale is 1. The same positions always
  /// give the same samples, in pieces of any size (`loopback`: once they were sent).
  virtual void render(int channel, std::int64_t first, std::span<cf32> out) = 0;
  /// The same as 16-bit numbers, [sample][2], if it has them ready. Returns false if not.
  virtual bool render_cs16(int, std::int64_t, std::int64_t, std::int16_t*) { return false; }
  /// Whether it uses what is transmitted, which then has to be kept.
  virtual bool hears_air() const { return false; }
};

struct ScenarioEntry {
  std::string_view name;
  std::unique_ptr<Scenario> (*make)(const Setting& setting);
};

std::unique_ptr<Scenario> make_tone(const Setting& setting);
std::unique_ptr<Scenario> make_noise(const Setting& setting);
std::unique_ptr<Scenario> make_loopback(const Setting& setting);
std::unique_ptr<Scenario> make_telemetry(const Setting& setting);
std::unique_ptr<Scenario> make_mimo(const Setting& setting);
std::unique_ptr<Scenario> make_noma(const Setting& setting);
std::unique_ptr<Scenario> make_ook(const Setting& setting);
std::unique_ptr<Scenario> make_fsk(const Setting& setting);
std::unique_ptr<Scenario> make_fm(const Setting& setting);
std::unique_ptr<Scenario> make_qpsk(const Setting& setting);

inline constexpr ScenarioEntry kScenarios[] = {
    {"tone", &make_tone}, {"noise", &make_noise}, {"loopback", &make_loopback}, {"telemetry", &make_telemetry},
    {"mimo", &make_mimo}, {"noma", &make_noma},   {"ook", &make_ook},           {"fsk", &make_fsk},
    {"fm", &make_fm},     {"qpsk", &make_qpsk},
};

/// Makes the scenario that the argument `scenario` names (default: tone). Throws std::invalid_argument.
std::unique_ptr<Scenario> make_scenario(const Setting& setting);

/// 10^(db/20)
double amplitude_of(double db) noexcept;
std::uint64_t seed_of(const Arguments& arguments);

}  // namespace iqd::sim
