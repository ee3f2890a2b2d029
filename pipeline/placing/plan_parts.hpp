// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/plan/plan.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Steps of a plan that are placed together: a stage with the conversions of its inputs, fused stages, or all that the
/// planner inserts behind the source.
struct PlanStepGroup {
  std::vector<std::string> names;  // of stages; `source_resampler`
  std::vector<StepIndex> steps;
  bool is_inserted = false;  // no stage of the file

  /// `a+b`
  std::string name() const;
};
/// In the order in which they run. Copies between host and device belong to none.
std::vector<PlanStepGroup> groups_of(const Plan& plan, const PipelineSpec& spec);

/// The number of each step's group; kNoGroup for copies between host and device.
inline constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);
std::vector<std::size_t> group_numbers(const Plan& plan, const std::vector<PlanStepGroup>& groups);

/// The port that a step reads or an output publishes, before conversions and copies between host and device.
PortIndex origin_of(const Plan& plan, PortIndex port);

/// A name for measured times: the stage, the new samples of a block, and a hash of all that decides how long it takes:
/// keys that are not live, programs, shapes, and the pipeline's `transfer`. Equal stages have one name.
std::string time_name(const Plan& plan, const PlanStepGroup& group, const PipelineSpec& spec);

}  // namespace iqd
