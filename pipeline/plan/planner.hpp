// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plan/plan.hpp"
#include "pipeline/plan/port_names.hpp"

namespace iqd {

/// Builds a plan stage by stage, and inserts conversions and transfers where needed. Mismatches are problems in the
/// given section. After a problem it continues with what is known: a stage that is wrong has outputs without a shape, and
/// what reads them is not judged.
class Planner {
 public:
  Planner(std::string pipeline, std::int64_t block, std::span<const StageEntry> stages = all_stages(),
          PlanTarget target = {});
  /// Blocks are cut by the positions of the first source, and at its edges (StreamInfo).
  void set_edges(std::int64_t edges) noexcept { plan_.grid = std::gcd(plan_.block, edges); }
  void add_source(std::string name, PortShape shape, Rate rate = {});
  /// The shape of the sources is not known, or only apart from their rates: then what stages say about shapes is not
  /// reported.
  void forget_source(const std::string& name) { names_.add_unknown(name); }
  void doubt_rates() noexcept { rates_are_known_ = false; }
  /// False after a problem, or if an input is not known.
  bool add_stage(const StageEntry& entry, std::string name, std::unique_ptr<Stage> stage, const Connections& from,
                 const Section& section, std::optional<Side> side = {});
  /// A stage whose keys are wrong, or, without an entry, any stage of this name. Its connections are judged.
  void add_unread(const StageEntry* entry, const std::string& name, const Connections& from, const Section& section);
  /// From now on, the name may mean a stage that is not known, too.
  void forget_name(const std::string& name) { names_.add_unknown(name); }
  /// Returns the output that publishes a port: `stage.output`, `stage` if it has one output, or `source`; kNoOutput
  /// after a problem, or if the port is not known. With `dtype`, the output is converted first.
  OutputIndex publish(std::string_view port, const Section& section, std::string_view key, std::string_view dtype = {});
  /// The output's port is made beyond the new part as well, for steps elsewhere.
  void reach_beyond(OutputIndex output, const Reach& reach) noexcept {
    Reach& now = plan_.ports[plan_.outputs[output].port].reach;
    now = {std::max(now.past, reach.past), std::max(now.future, reach.future)};
  }
  /// Computes halos, sizes and places. `section` has the key `block`.
  /// `whole_granules`: a block that is shorter than what a stage takes at once is a problem.
  Plan finish(const Section& section, bool whole_granules = true);

  const std::vector<PlanPort>& ports() const noexcept { return plan_.ports; }

 private:
  /// The last stage, which the next one reads.
  struct Last {
    std::string name;
    std::vector<PortIndex> out;
  };

  // Where these return a port, kUnknownPort stands for a problem that was reported.
  PortIndex find_port(std::string_view name, const Section& section, std::string_view key) const;
  bool connect(PlanStep& step, const std::vector<InputSpec>& inputs, const Connections& from, const Section& section);
  PortIndex pick_input(const InputSpec& input, bool is_only, const Connections& from, const Section& section) const;
  PortIndex pick_unnamed(const InputSpec& input, const Section& section) const;
  void add_unshaped(const StageEntry& entry, const std::string& name);
  PortIndex readable(PortIndex port, const InputSpec& input, Side side, const Section& section);
  PortIndex within_reach(PortIndex port, Side side, bool reread, const Section& section);
  PortIndex converted(PortIndex port, Element to, const Section& section, Side side);
  PortIndex transferred(PortIndex port, Side side, const Section& section);
  PortIndex add_port(PlanPort port);
  PortIndex rename_last_port(const std::string& name);
  bool add_step(PlanStep step, const Section& section);
  void find_unread();
  bool shape_step(PlanStep& step, const Section& section);
  PlanPort output_port(const PlanStep& step, std::size_t output, PortShape shape) const;

  std::span<const StageEntry> stages_;
  PlanTarget target_;
  Plan plan_;
  PortNames names_;
  std::optional<Last> last_;
  bool rates_are_known_ = true;
};

}  // namespace iqd
