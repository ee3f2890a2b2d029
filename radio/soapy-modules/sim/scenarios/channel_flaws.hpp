// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {

/// A scenario as received by channels that differ, according to the arguments `common`, `channel_gains`,
/// `channel_phases`, `channel_delays` and `channel_noise`. Without any of them, it returns the scenario itself.
std::unique_ptr<Scenario> with_channel_flaws(const Setting& setting, std::unique_ptr<Scenario> scenario);

}  // namespace iqd::sim
