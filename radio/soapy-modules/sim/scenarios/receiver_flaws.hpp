// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {

/// A scenario as a cheap receiver hears it, according to the arguments `phase_noise`, `iq_gain_db`, `iq_phase` and
/// `dc`. Without any of them, it returns the scenario itself.
std::unique_ptr<Scenario> with_receiver_flaws(const Setting& setting, std::unique_ptr<Scenario> scenario);

}  // namespace iqd::sim
