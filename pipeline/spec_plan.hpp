// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/engine/engine.hpp"
#include "pipeline/spec/spec.hpp"

/// From a file's pipelines to plans: which backends, and what they compute there.
namespace iqd {

/// Where the pipeline runs: opens what the file names, or what there is. Throws SetupError.
struct ChosenBackends {
  EngineBackends backends;
  std::string names;   // `cuda:0, cuda:1`
  std::string reason;  // why these
};
ChosenBackends choose_backends(const PipelineSpec& spec);
/// What the file names for that, stages included.
std::vector<std::string> wanted_backends(const PipelineSpec& spec);
/// What stages are planned for there, or, without opening anything, as far as the file says.
PlanTarget target_of(const PipelineSpec& spec, const EngineBackends& backends);
PlanTarget target_of(const PipelineSpec& spec);

/// The plan of a pipeline for a stream of this kind. `outputs` gets the plan's output for each of `routes_of(spec)`;
/// problems are in the order of the file.
Plan make_plan(const PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue, const PlanTarget& target,
               std::vector<int>& outputs, Problems& problems);

struct Allowance;  // pipeline/sizing.hpp

/// Everything that can be known without opening a device: the plan of each pipeline for the stream that its source
/// describes, whether there is room for them all, and whether their endpoints and names go together.
std::vector<Plan> check_spec(const Spec& spec, const Catalogue& catalogue, Problems& problems,
                             const Allowance& allowance);
/// The same, of all that this process may still take.
std::vector<Plan> check_spec(const Spec& spec, const Catalogue& catalogue, Problems& problems);

}  // namespace iqd
