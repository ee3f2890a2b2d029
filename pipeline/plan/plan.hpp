// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plan/positions.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {

/// Where steps run and ports lie. What lies on the host is read by both.
enum class Side : std::uint8_t { host, device };
inline constexpr std::size_t kSides = 2;
constexpr std::size_t index_of(Side side) noexcept {
  return static_cast<std::size_t>(side);
}

/// Where the data of a port lies.
enum class Home : std::uint8_t {
  window,  // the source's own memory
  arena,   // the lane's scratch on the port's side, shared by ports that do not live at the same time
  slot,    // the result slot that leaves
};

struct PlanPort {
  std::string name;  // `fir.out`; `source`
  PortShape shape;
  Rate rate;             // stream: positions a source sample
  Reach reach;           // beyond the new part, for its readers
  std::int64_t lag = 0;  // positions that its new part may start behind the block's
  std::int64_t most_new = 1;
  std::int64_t capacity = 1;  // positions in memory
  Side side = Side::host;
  Home home = Home::arena;
  std::size_t offset = 0;
  std::size_t pitch = 0;  // bytes from row to row in the arena; in a slot rows follow each other
  int maker = -1;         // step
  int last_reader = -1;   // step
  int count_of = -1;      // the port whose count is this one's too; -1: its own
  bool wanted = false;    // somebody reads or publishes it

  std::size_t bytes() const noexcept;
  friend bool operator==(const PlanPort&, const PlanPort&) = default;
};

struct PlanStep {
  const StageEntry* entry = nullptr;
  std::string name;
  std::unique_ptr<Stage> stage;
  Side side = Side::host;
  std::vector<std::unique_ptr<StageRun>> runs;  // after `prepare`: one a device, or one for the host
  std::vector<int> in;                          // ports; -1 where an optional input is not connected
  std::vector<int> out;
  std::vector<Footprint> footprint;
  std::size_t scratch_bytes = 0;
  std::size_t scratch_offset = 0;  // in the arena
  std::size_t carry_bytes = 0;
  bool chunk_exempt = false;
  std::vector<std::string> parts;  // of a step that neighbours became: their names

  /// The port whose positions its outputs count by: its first input, or the source.
  std::size_t lead() const noexcept { return in.empty() || in.front() < 0 ? 0 : static_cast<std::size_t>(in.front()); }
};

/// A port that leaves the lane.
struct PlanOutput {
  struct Fact {
    std::string key;
    int port;
    Rate rate;  // of the stream that its items were found in
    friend bool operator==(const Fact&, const Fact&) = default;
  };
  int port = -1;
  PortFormat format;
  std::size_t offset = 0;  // in the slot
  bool in_place = false;   // the stage writes to the slot itself
  std::vector<Fact> facts;
  friend bool operator==(const PlanOutput&, const PlanOutput&) = default;
};

/// Steps that follow each other on one side.
struct PlanPart {
  Side side = Side::host;
  std::size_t begin = 0;  // steps
  std::size_t end = 0;
};

/// What a plan is made for.
struct PlanTarget {
  Side side = Side::host;    // of stages that do not say otherwise
  MappedLimits mapped = {};  // up to here the device works on the host's memory in place
  bool fuse = true;          // element-wise neighbours become one step
  bool device_fuses = true;  // it can compile kernels
};

/// A pipeline, compiled: what is computed in which order, and where everything lies.
struct Plan {
  std::string pipeline;
  std::int64_t block = 0;  // new source samples
  int sources = 0;         // the first ports
  std::vector<PlanPort> ports;
  std::vector<PlanStep> steps;
  std::vector<PlanOutput> outputs;
  std::vector<int> tallies;                       // ports whose numbers are added up
  std::vector<int> levels;                        // ports whose last numbers are shown
  std::vector<PlanPart> parts;                    // in turn; never none
  std::array<std::size_t, kSides> arena_bytes{};  // a lane
  std::size_t device_scratch_offset = 0;          // in the device's
  std::size_t slot_bytes = 0;                     // a result slot: positions and counts, then payloads

  /// What the stages need beyond the new samples.
  const Reach& reach() const noexcept { return ports.front().reach; }
  /// What a window holds of it: windows start at 128-byte boundaries when blocks do.
  Reach window() const noexcept;
  /// The furthest sample that a gap may lead to: the positions of all ports are numbers up to there, and long after.
  std::int64_t most_position() const noexcept;
  /// The steps, and the copying of results behind them.
  std::size_t timed_steps() const noexcept { return steps.size() + 1; }
  bool sequential() const noexcept;
  bool uses(Side side) const noexcept;
  /// Host and device take turns, so a lane needs a thread.
  bool mixed() const noexcept { return parts.size() > 1; }
  /// Makes every stage ready for where it runs. Throws SetupError.
  void prepare(Backend& host, std::span<const std::shared_ptr<Backend>> devices);
};

/// Whether what the steps compute is all that may differ: blocks at work under one can go on under the other.
bool same_layout(const Plan& one, const Plan& other);
/// Whether the steps are set up alike, but for what may change while samples flow.
bool same_but_live(const PlanStep& one, const PlanStep& other);

/// How a stage's inputs are named in YAML: input → `stage.output`; the key "" is its only input.
using Connections = std::map<std::string, std::string, std::less<>>;

/// The step that copies a port between host and device; no stage that a file can name.
const StageEntry& transfer_entry();

/// Builds a plan stage by stage. What does not fit is a problem in the section given.
class Planner {
 public:
  Planner(std::string pipeline, std::int64_t block, std::span<const StageEntry> stages = all_stages(),
          PlanTarget target = {});
  /// The first source's positions are the samples that blocks are cut by.
  int add_source(std::string name, PortShape shape, Rate rate = {});
  bool add_stage(const StageEntry& entry, std::string name, std::unique_ptr<Stage> stage, const Connections& from,
                 const Section& section, std::optional<Side> side = {});
  /// The output that publishes a port, by `stage.output`, `stage` where it has one output, or `source`; -1 after a
  /// problem.
  /// With `dtype` it is converted before it leaves.
  int publish(std::string_view port, const Section& section, std::string_view key, std::string_view dtype = {});
  /// Halos, sizes and places. `section` has the key `block`.
  /// `whole_granules`: a block that is shorter than what a stage takes at once is a problem.
  Plan finish(const Section& section, bool whole_granules = true);

  const std::vector<PlanPort>& ports() const noexcept { return plan_.ports; }

 private:
  int find_port(std::string_view name, const Section& section, std::string_view key) const;
  int pick_input(const InputSpec& input, std::size_t inputs, const Connections& from, const Section& section) const;
  int converted(int port, Element to, const Section& section, Side side);
  int within_reach(int port, Side side, bool reread, const Section& section);
  int transferred(int port, Side side, const Section& section);
  int put_in(const std::string& name) const;
  int add_port(PlanPort port);
  int call_last_port(const std::string& name);
  bool add_step(PlanStep step, const Section& section);
  bool aligned_to(const PlanPort& in, const Footprint& footprint) const noexcept;
  bool shape_step(PlanStep& step, const Section& section);
  PlanPort output_port(const PlanStep& step, std::size_t output, PortShape shape) const;
  void fit_block(const Section& section) const;
  void extend(PlanPort& in, const Footprint& f, const Reach& to) const;
  void reach_back();
  void size_ports();
  void place_outputs();
  void place_arena(Side side);
  void find_parts();
  void gather_facts(PlanOutput& output);
  std::vector<bool> steps_behind(int port) const;

  std::span<const StageEntry> stages_;
  PlanTarget target_;
  Plan plan_;
  // Numbers, by names: of ports, of steps, and of the ports that are an output of this name, in their order.
  std::map<std::string, int, std::less<>> port_named_;
  std::map<std::string, int, std::less<>> step_named_;
  std::map<std::string, std::vector<int>, std::less<>> ports_called_;
};

}  // namespace iqd
