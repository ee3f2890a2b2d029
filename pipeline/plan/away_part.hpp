// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// Moves the steps that other hosts can compute before all others: those without a state or a program, up to the first
/// of a chain that has one. Must be called before reach and places of ports are computed.
void put_away_first(Plan& plan);

/// After the ports have their places: lists the ports that come back.
void find_returned(Plan& plan);

/// The stages whose steps stay here.
std::set<std::string> stages_here(const Plan& plan);

/// Why no host can compute anything of this plan; empty if one can.
std::string why_none_away(const Plan& plan);

/// The port as files name it: of a conversion, that which it reads.
std::string written_port(const Plan& plan, PortIndex port);

/// The names of the file's stages that a step consists of; none if the planner inserted it.
std::vector<std::string> stages_of(const PlanStep& step);

}  // namespace iqd
