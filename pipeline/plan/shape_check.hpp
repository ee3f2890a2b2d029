// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "pipeline/plan/plan.hpp"

/// Checks shapes for the daemon, `iqd exec` and everything else that runs stages. The planner checks here before a
/// stage gets its inputs, and again when the stage has declared its outputs. Further requirements of a stage are in its
/// InputSpec and `Stage::shape`. So no stage runs on a shape that was not accepted.
///
/// A port can be read if
/// - its element type exists and its rates are finite and not negative;
/// - each dimension except the axis (channels, users, bins, …) has at least 1 entry; the axis may have none;
/// - a block of it has at most kMostPositions positions and kMostPortBytes bytes. There are at most kMostItems items,
///   since they are counted in 32 bits.
/// The inputs of a stage match if they have the same number of channels, and if their streams have one rate according
/// to the footprints that the stage declared.
namespace iqd {

inline constexpr std::int64_t kMostPositions = std::int64_t{1} << 36;
inline constexpr std::int64_t kMostItems = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMostPortBytes = std::int64_t{1} << 40;
/// The largest granule and yield of a footprint.
inline constexpr std::int64_t kMostGranule = std::int64_t{1} << 26;

/// Why no stage may read a port with this many positions in a block; empty if it may be read.
std::string fault_of(const PortShape& shape, std::int64_t positions);

/// Whether the input takes the port, possibly converted; false after a problem.
bool accept_input(const InputSpec& input, const PlanPort& given, const Section& section);

/// Whether the inputs match, as far as can be said before the stage is asked; false after a problem. `ports` has
/// kNoPort where an optional input is not connected.
bool accept_inputs(std::span<const InputSpec> inputs, std::span<const PortIndex> ports, const Plan& plan,
                   const Section& section);

/// Whether what the stage declared is within bounds: footprints, outputs, and its inputs' rates by these footprints;
/// false after a problem. `step` is not yet in the plan.
bool accept_declared(const PlanStep& step, std::span<const PortShape> out, const Plan& plan, const Section& section);

/// Whether the rate and size of a step's output are within bounds; false after a problem.
bool accept_output(const PlanPort& port, const Section& section);

/// Whether a port's blocks, with their reach, could fit into memory at all; false after a problem.
bool accept_reach(const PlanPort& port, const Section& section);

/// Checks the numbers of items of a stage's inputs on arrays. Inputs of the kind that is cut into blocks must have the
/// same number. An item of another kind goes with several of the first, and blocks are whole groups of these; or one
/// item goes with all. `lengths` are the inputs' lengths; `cut` is that of the input that is cut.
bool accept_lengths(std::span<const InputSpec> inputs, std::span<const PortShape> shapes,
                    std::span<const std::int64_t> lengths, std::int64_t cut, std::int64_t block,
                    const Section& section);

/// The input that is meant where a connection names none: the only one that is not optional; null if there are several.
const InputSpec* only_input(std::span<const InputSpec> inputs) noexcept;

}  // namespace iqd
