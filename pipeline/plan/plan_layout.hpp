// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "pipeline/plan/plan.hpp"

/// The last pass over a plan, when all its stages are known.
namespace iqd {

/// Gives all ports their sizes and places: in the result slot, see SlotLayout, or in the lanes' arenas, which they
/// share, see ArenaSpace. The ports have their reach. A device writes results of up to `mapped_bytes` to the slot
/// itself.
void lay_out(Plan& plan, const PlanTarget& target);
/// Splits the steps into parts, each on one side.
void find_parts(Plan& plan);
/// A port as its readers see it, without the facts that go with it.
PortFormat format_of(const Plan& plan, const PlanPort& port);
/// Describes each output to its readers.
void describe_outputs(Plan& plan);

}  // namespace iqd
