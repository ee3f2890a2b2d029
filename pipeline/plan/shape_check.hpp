// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/plan/plan.hpp"

/// Where shapes are judged, for the daemon, `iqd exec` and all that runs stages: the planner asks here before a stage
/// sees its inputs, and again when it has said what it makes of them. What a stage needs beyond that it states in its
/// InputSpec and in `Stage::shape`. So no stage runs on a shape that was not accepted.
///
/// A port can be read where
/// - its element is one that there is and its rates are finite numbers of 0 or more;
/// - each dimension but the axis (channels, users, bins, …) has 1 entry or more; the axis may have none;
/// - a block of it has kMostPositions positions and kMostPortBytes bytes at most. Of items there are kMostItems at
/// most,
///   since they are counted in 32 bits.
/// Inputs of one stage go together where they have as many channels, and where streams have one rate, what the stage
/// declared about their positions considered.
namespace iqd {

inline constexpr std::int64_t kMostPositions = std::int64_t{1} << 36;
inline constexpr std::int64_t kMostItems = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMostPortBytes = std::int64_t{1} << 40;
/// Of a footprint: granule and yield.
inline constexpr std::int64_t kMostGranule = std::int64_t{1} << 26;

/// Why no stage may read a port of which a block has so many positions; empty where any may.
std::string fault_of(const PortShape& shape, std::int64_t positions);

/// Whether the input takes what the port gives, if need be converted; false after a problem.
bool accept_input(const InputSpec& input, const PlanPort& given, const Section& section);

/// Whether the inputs go together as far as can be said before the stage is asked; false after a problem. `ports` has
/// -1 where an optional input is not connected.
bool accept_inputs(std::span<const InputSpec> inputs, std::span<const int> ports, const Plan& plan,
                   const Section& section);

/// Whether what the stage declared can be computed with: footprints, outputs, and its inputs' rates by these
/// footprints; false after a problem. `step` is not yet in the plan.
bool accept_declared(const PlanStep& step, std::span<const PortShape> out, const Plan& plan, const Section& section);

/// Whether a port that a step makes has a rate and a size that can be computed with; false after a problem.
bool accept_output(const PlanPort& port, const Section& section);

/// Whether blocks of a port fit into memory at all, with what is beyond their new part; false after a problem.
bool accept_reach(const PlanPort& port, const Section& section);

/// Items of one stage's inputs on arrays. Those of the kind that is cut into blocks are as many; of another kind there
/// is one for several of the first, and blocks are whole groups of these, or there is one for all. `lengths` are those
/// of the inputs; `cut` is that of the input that is cut.
bool accept_lengths(std::span<const InputSpec> inputs, std::span<const PortShape> shapes,
                    std::span<const std::int64_t> lengths, std::int64_t cut, std::int64_t block,
                    const Section& section);

}  // namespace iqd
