// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {

/// A scenario whose clock is faster than the receiver's by the argument `ppm`: sample n shows what was sent at n (1 +
/// ppm / 10^6). Without it, it returns the scenario itself. The scenario must have samples before its position 0.
std::unique_ptr<Scenario> with_other_clock(const Setting& setting, std::unique_ptr<Scenario> scenario);

}  // namespace iqd::sim
