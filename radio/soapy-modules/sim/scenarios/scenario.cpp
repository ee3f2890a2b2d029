// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

#include <cmath>
#include <stdexcept>

#include "radio/soapy-modules/sim/scenarios/channel_flaws.hpp"
#include "radio/soapy-modules/sim/scenarios/receiver_flaws.hpp"

namespace iqd::sim {

double amplitude_of(double db) noexcept {
  return std::pow(10.0, db / 20);
}

std::uint64_t seed_of(const Arguments& arguments) {
  return static_cast<std::uint64_t>(arguments.count("seed", 1, 0, std::int64_t{1} << 53));
}

std::unique_ptr<Scenario> make_scenario(const Setting& setting) {
  const std::string wanted = setting.arguments.text("scenario", "tone");
  std::string known;
  for (const ScenarioEntry& entry : kScenarios) {
    if (entry.name == wanted) return with_receiver_flaws(setting, with_channel_flaws(setting, entry.make(setting)));
    known.append(" ").append(entry.name);
  }
  throw std::invalid_argument("iqdsim: scenario=" + wanted + " is unknown; known:" + known);
}

}  // namespace iqd::sim
