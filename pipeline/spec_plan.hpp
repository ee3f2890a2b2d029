// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/engine/engine.hpp"
#include "pipeline/spec/spec.hpp"

/// From a file's pipelines to plans: which backends, and what they compute there.
namespace iqd {

/// Where the pipeline runs. `choose_backends` opens the backends that the file names, or the available ones, and throws
/// SetupError.
struct ChosenBackends {
  EngineBackends backends;
  std::string names{};       // `cuda:0, cuda:1`
  std::string reason{};      // why these
  std::string share{};       // `cuda:0: 16 of 132 multiprocessors (asked for 12 %)`; empty: the devices are not divided
  std::string no_share{};    // why they cannot be divided like this
  bool left_device = false;  // `backend: auto` has found that no stage is to run there; see `place_stages`

  /// Multiprocessors of its part of the first device; 0: all.
  int processors() const noexcept;
  /// The pipeline runs here from now on.
  void settle() const noexcept;
};
ChosenBackends choose_backends(const PipelineSpec& spec);
/// Takes the pipeline's parts of these devices in place of those that it has.
void take_parts(ChosenBackends& chosen, const PipelineSpec& spec);
/// The target of the plan on these backends, or, without opening any, as far as the file says.
PlanTarget target_of(const PipelineSpec& spec, const EngineBackends& backends);
PlanTarget target_of(const PipelineSpec& spec);

/// The plan of a pipeline for a stream of this kind. `outputs` gets the plan's output for each of `routes_of(spec)`.
/// Problems are in the order of the file; after one, the plan lacks what depends on it. It also lacks stages that need a
/// rate that the stream does not have yet.
Plan make_plan(const PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue, const PlanTarget& target,
               std::vector<OutputIndex>& outputs, Problems& problems);

struct ReturnedPort;  // pipeline/spec/work_order.hpp
/// The plan of a worker: these stages, and an output for each port that returns to the home.
Plan plan_work(const PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue, const PlanTarget& target,
               std::span<const ReturnedPort> returns, std::vector<OutputIndex>& outputs, Problems& problems);

struct Allowance;  // pipeline/sizing.hpp

/// Checks everything that can be known without opening a device: the plan of each pipeline for the stream that its
/// source describes, whether all fit, and whether their endpoints and names conflict. What was wrong when the spec was
/// read hides nothing else; what is only a consequence of it is not reported. A plan is whole if there is no problem.
std::vector<Plan> check_spec(const Spec& spec, const Catalogue& catalogue, Problems& problems,
                             const Allowance& allowance);
/// The same, with all that this process may still take.
std::vector<Plan> check_spec(const Spec& spec, const Catalogue& catalogue, Problems& problems);
/// Reports calibrations that do not hold for the settings of their sources; see `check_calibration`.
void check_calibrations(const Spec& spec);

}  // namespace iqd
