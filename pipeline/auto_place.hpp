// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "pipeline/placing/placement.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {

/// Why `backend: auto` never places the pipeline's stages; empty if it does where there is a device.
std::string why_not_placed(const PipelineSpec& spec);

/// The plan by which a pipeline is placed: everything is on the host that can be there. Not whole if the keys have
/// problems; those are left to `make_plan`.
std::optional<Plan> plan_to_place(PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue);

/// What `place` is asked for by such a plan. `device`: its name.
PlacingTask placing_task(const PipelineSpec& spec, const StreamInfo& stream, const Plan& plan, const KnownTimes& times,
                         std::string device);

/// Of a pipeline with `backend: auto` and a device: says in the spec where each stage runs, for later plans, and releases
/// a device that none uses. None, and nothing changes, for all other pipelines. `running`: stages that continue with
/// their state from this plan stay where they are, unless the file names another backend for them.
std::optional<Placement> place_stages(PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue,
                                      ChosenBackends& chosen, const Plan* running = nullptr);
/// The same with these times instead of those that are stored on this machine.
std::optional<Placement> place_stages(PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue,
                                      ChosenBackends& chosen, const Plan* running, const KnownTimes& times);

/// The stages of `next`, which has those of `running`, stay where they are.
void keep_places(const PipelineSpec& running, PipelineSpec& next);

}  // namespace iqd
