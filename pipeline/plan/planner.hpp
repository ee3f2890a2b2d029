// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plan/plan.hpp"
#include "pipeline/plan/port_names.hpp"

namespace iqd {

/// Builds a plan stage by stage, and inserts conversions and transfers where needed. Mismatches are problems in the
/// given section.
class Planner {
 public:
  Planner(std::string pipeline, std::int64_t block, std::span<const StageEntry> stages = all_stages(),
          PlanTarget target = {});
  /// Blocks are cut by the positions of the first source.
  void add_source(std::string name, PortShape shape, Rate rate = {});
  bool add_stage(const StageEntry& entry, std::string name, std::unique_ptr<Stage> stage, const Connections& from,
                 const Section& section, std::optional<Side> side = {});
  /// Returns the output that publishes a port: `stage.output`, `stage` if it has one output, or `source`; kNoOutput
  /// after a problem. With `dtype`, the output is converted first.
  OutputIndex publish(std::string_view port, const Section& section, std::string_view key, std::string_view dtype = {});
  /// Computes halos, sizes and places. `section` has the key `block`.
  /// `whole_granules`: a block that is shorter than what a stage takes at once is a problem.
  Plan finish(const Section& section, bool whole_granules = true);

  const std::vector<PlanPort>& ports() const noexcept { return plan_.ports; }

 private:
  PortIndex find_port(std::string_view name, const Section& section, std::string_view key) const;
  std::optional<PortIndex> pick_input(const InputSpec& input, std::size_t inputs, const Connections& from,
                                      const Section& section) const;
  PortIndex readable(PortIndex port, const InputSpec& input, Side side, const Section& section);
  PortIndex within_reach(PortIndex port, Side side, bool reread, const Section& section);
  PortIndex converted(PortIndex port, Element to, const Section& section, Side side);
  PortIndex transferred(PortIndex port, Side side, const Section& section);
  PortIndex add_port(PlanPort port);
  PortIndex rename_last_port(const std::string& name);
  bool add_step(PlanStep step, const Section& section);
  bool shape_step(PlanStep& step, const Section& section);
  PlanPort output_port(const PlanStep& step, std::size_t output, PortShape shape) const;

  std::span<const StageEntry> stages_;
  PlanTarget target_;
  Plan plan_;
  PortNames names_;
};

}  // namespace iqd
