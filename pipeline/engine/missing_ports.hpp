// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// Which results of a block are missing, since a stage could not compute it (`StageIo::fail`).
class MissingPorts {
 public:
  explicit MissingPorts(const Plan& plan) : failed_(plan.steps.size()), ports_(plan.ports.size()) {}
  void clear() noexcept {
    if (!any_) return;
    any_ = false;
    failed_.assign(failed_.size(), false);
    ports_.assign(ports_.size(), false);
  }
  void fail(StepIndex step) noexcept { any_ = failed_[step] = true; }
  /// Another host could not compute this port.
  void lose(PortIndex port) noexcept { any_ = ports_[port] = true; }
  bool any() const noexcept { return any_; }

  /// Marks the outputs of the first `steps` steps: those of a step that failed, except what it counts, and those
  /// made of missing ones.
  void spread(const Plan& plan, StepIndex steps) noexcept {
    for (StepIndex s = 0; any_ && s < steps; ++s) {
      const PlanStep& step = plan.steps[s];
      const bool inherits = inputs_are_missing(step);
      for (std::size_t o = 0; o < step.out.size(); ++o) {
        const OutputSpec& output = step.entry->outputs[o];
        const bool counts = !output.tally.empty() || (output.levels && output.fact.empty());
        if (inherits || (failed_[s] && !counts)) ports_[step.out[o]] = true;
      }
    }
  }

  // After `spread`.
  bool has(PortIndex port) const noexcept { return any_ && ports_[port]; }
  /// Whether the step made its outputs of missing ones, or failed.
  bool spoils(const PlanStep& step, StepIndex index) const noexcept {
    return any_ && (failed_[index] || inputs_are_missing(step));
  }

 private:
  bool inputs_are_missing(const PlanStep& step) const noexcept {
    return std::ranges::any_of(step.in, [this](PortIndex in) { return in != kNoPort && ports_[in]; });
  }

  bool any_ = false;
  std::vector<bool> failed_;  // by step
  std::vector<bool> ports_;   // by port
};

}  // namespace iqd
