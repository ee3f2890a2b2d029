// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {

/// A scenario as receivers hear it that are not alike: what the arguments `common`, `channel_gains`, `channel_phases`,
/// `channel_delays` and `channel_noise` say of each channel. Without any of them it is the scenario itself.
std::unique_ptr<Scenario> with_channel_flaws(const Setting& setting, std::unique_ptr<Scenario> scenario);

}  // namespace iqd::sim
