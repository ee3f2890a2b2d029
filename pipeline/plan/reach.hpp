// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/plan/plan.hpp"

/// How far the ports of a plan reach beyond their new part, so that each stage finds the past and future that it needs.
namespace iqd {

/// Whether blocks that start at multiples of `grid` source samples start at granules of the port.
bool starts_at_granule(std::int64_t grid, const PlanPort& port, const Footprint& footprint) noexcept;

/// Reports each stage that takes more samples at once than a block has.
void check_granules(const Plan& plan, const Section& section);

/// Computes, from the last stage to the first, the reach of each port. A reach too large for any memory becomes one
/// that `accept_reach` reports.
void find_reach(Plan& plan);

}  // namespace iqd
