// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/placing/block_cost.hpp"
#include "pipeline/placing/known_times.hpp"
#include "pipeline/placing/plan_parts.hpp"

namespace iqd {

/// Where `backend: auto` puts the stages of a pipeline, and why.
struct Placement {
  struct Part {
    PlanStepGroup group;
    Side side = Side::host;
    BothTimes times{};
    std::string fixed{};     // why it can only be there; empty: the times decide
    double crossing_us = 0;  // what a block would take besides if only this were on the other side

    TimeFrom from(Side on) const noexcept;
    /// Whether a time that decides comes from there: of both sides, or of its own if it can only be there.
    bool is_by(TimeFrom source) const noexcept;
  };
  std::vector<Part> parts;       // in the order in which they run
  std::string device;            // `cuda:0`
  double us = 0;                 // predicted for a block
  double host_us = 0;            // the same with everything on the CPU that can be there
  double device_us = 0;          // and with everything on the device
  bool relieves = false;         // the quickest placement would keep the CPU too busy: the device takes what it can
  bool has_block_times = false;  // what a block takes besides its stages was measured with the pipeline's `wait`
  bool is_stale = false;         // what was measured belongs to another driver or to other kernels

  bool uses(Side side) const noexcept;
  /// The side of a stage; the usual side if the plan does not have it.
  Side side_of(std::string_view stage) const noexcept;
  /// Of what the planner inserts, and of a published source: where the inserted steps are; else the device, unless a
  /// stage is on the host.
  Side usual_side() const noexcept;
  /// `by measured times a block takes 34.1 us; it would take 180 us on cpu and 41.2 us on cuda:0`
  std::string summary() const;
  /// `measured 12.0 us; cpu would take 180 us and 40.0 us of crossing`
  std::string reason(const Part& part) const;
};

/// A stage that has to stay where it is, since it continues with its state.
struct KeptStage {
  std::string name;
  Side side;
};

/// What a placement is made for.
struct PlacingTask {
  const PipelineSpec& spec;
  const Plan& plan;  // of the pipeline, with everything on the host that can be there
  const KnownTimes& times;
  std::string device;           // its name
  std::size_t ring_saves = 0;   // as PlanTarget's
  double block_s = 0;           // how long a block lasts; 0: not known
  std::int64_t host_lanes = 1;  // blocks that the CPU computes at the same time
  std::vector<KeptStage> kept{};
};

/// The placement by which a block takes least time, as far as times are known. A stage without times is on the device.
/// If the CPU could not keep up with it, everything that can be on the device is there if that relieves the CPU.
Placement place(const PlacingTask& task);

}  // namespace iqd
