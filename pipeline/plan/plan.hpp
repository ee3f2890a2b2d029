// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plan/positions.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {

struct WorkOrder;  // base/pool.hpp

/// Where steps run and ports lie: the host, or one of the plan's groups of devices. All can read what lies on the host.
enum class Side : std::uint8_t { host, device };  // `device`: the first group
inline constexpr std::size_t kSides = 9;
constexpr std::size_t index_of(Side side) noexcept {
  return static_cast<std::size_t>(side);
}
constexpr bool on_device(Side side) noexcept {
  return side != Side::host;
}
/// The side of a plan's group of devices.
constexpr Side device_side(std::size_t group) noexcept {
  return static_cast<Side>(group + 1);
}
inline constexpr std::size_t kMostGroups = kSides - 1;

/// Devices that take turns with the blocks, by their numbers in the pipeline's list: a lane uses one of them.
struct DeviceGroup {
  std::string name = "device";
  std::vector<std::size_t> devices{0};

  /// The place of the lane's device in `devices`.
  std::size_t turn_of(std::size_t lane) const noexcept { return lane % devices.size(); }
  friend bool operator==(const DeviceGroup&, const DeviceGroup&) = default;
};

/// The numbers of a plan's ports, steps and outputs: places in its lists.
using PortIndex = std::size_t;
using StepIndex = std::size_t;
using OutputIndex = std::size_t;
inline constexpr PortIndex kNoPort = std::numeric_limits<PortIndex>::max();
inline constexpr StepIndex kNoStep = std::numeric_limits<StepIndex>::max();
inline constexpr OutputIndex kNoOutput = std::numeric_limits<OutputIndex>::max();

/// Where the data of a port lies.
enum class Home : std::uint8_t {
  window,  // the source's own memory
  ring,    // a device's copy of the source's newest samples
  arena,   // the lane's scratch on the port's side, shared by ports that do not live at the same time
  slot,    // the result slot
};

struct PlanPort {
  std::string name;  // `fir.out`; `source`
  PortShape shape;
  Rate rate;             // stream: positions per source sample
  Reach reach;           // beyond the new part, for its readers
  std::int64_t lag = 0;  // positions by which its new part may start after the block's
  std::int64_t most_new = 1;
  std::int64_t capacity = 1;  // positions in memory
  Side side = Side::host;
  Home home = Home::arena;
  std::size_t offset = 0;
  std::size_t pitch = 0;      // bytes from row to row in the arena; in a slot rows follow each other
  StepIndex maker = kNoStep;  // of a source: none
  StepIndex last_reader = kNoStep;
  PortIndex count_of = kNoPort;  // the port whose count it shares
  bool wanted = false;           // it is read or published

  bool is_source() const noexcept { return maker == kNoStep; }
  bool is_read() const noexcept { return last_reader != kNoStep; }
  bool has_own_count() const noexcept { return count_of == kNoPort; }
  std::size_t bytes() const noexcept;
  /// Of the new part alone, with rows that follow each other.
  std::size_t new_bytes() const noexcept;
  friend bool operator==(const PlanPort&, const PlanPort&) = default;
};

struct PlanStep {
  const StageEntry* entry = nullptr;
  std::string name;
  std::unique_ptr<Stage> stage;
  Side side = Side::host;
  std::vector<std::unique_ptr<StageRun>> runs;  // after `prepare`: one per device of the group, or one for the host
  std::vector<PortIndex> in;                    // kNoPort where an optional input is not connected
  std::vector<PortIndex> out;
  std::vector<Footprint> footprint;
  std::size_t scratch_bytes = 0;
  std::size_t scratch_offset = 0;  // in the arena
  std::size_t carry_bytes = 0;
  bool chunk_exempt = false;
  std::vector<std::string> parts;  // of a fused step: the names of its stages

  /// Whether it only copies from one side to another.
  bool is_transfer() const noexcept;
  /// The port whose positions its outputs follow: its first input, or the source.
  PortIndex lead() const noexcept { return in.empty() || in.front() == kNoPort ? 0 : in.front(); }
};

/// A port that leaves the lane.
struct PlanOutput {
  struct Fact {
    std::string key;
    PortIndex port;
    Rate rate;  // of the stream that its items were found in
    friend bool operator==(const Fact&, const Fact&) = default;
  };
  PortIndex port = kNoPort;
  PortFormat format;
  std::size_t offset = 0;  // in the slot
  bool in_place = false;   // the stage writes to the slot itself
  bool stays = false;      // nothing copies it from the device's arena to the slot
  std::vector<Fact> facts;
  friend bool operator==(const PlanOutput&, const PlanOutput&) = default;
};

/// Consecutive steps on one side.
struct PlanPart {
  Side side = Side::host;
  StepIndex begin = 0;
  StepIndex end = 0;
};

/// The part of a plan that other hosts can compute: the first steps. None of them, nor any step before one, has a
/// state.
struct AwayPart {
  StepIndex end = 0;                  // the number of these steps
  std::vector<PortIndex> returned{};  // their ports that later steps read, or that leave the pipeline
};

/// What a plan is made for.
struct PlanTarget {
  Side side = Side::host;     // of stages without a `backend`
  MappedLimits mapped = {};   // up to these sizes the device works on the host's memory in place
  bool fuse = true;           // fuse neighbouring element-wise stages
  bool device_fuses = true;   // the device can compile kernels
  bool results_stay = false;  // a device's results stay in its own memory
  std::vector<DeviceGroup> groups{DeviceGroup{}};
  bool peers = true;  // devices copy from each other's memory
  bool pool = false;  // other hosts compute what they can
  /// A device keeps the source's samples if that saves copying so many bytes a block.
  std::size_t ring_saves = std::numeric_limits<std::size_t>::max();
};

/// A compiled pipeline: what is computed in which order, and where everything lies.
struct Plan {
  std::string pipeline;
  std::int64_t block = 0;   // new source samples
  std::int64_t grid = 0;    // blocks begin and end at multiples of it: `block`, or less if the source has edges
  std::size_t sources = 0;  // the first ports
  std::vector<PlanPort> ports;
  std::vector<PlanStep> steps;
  std::vector<PlanOutput> outputs;
  std::vector<PortIndex> tallies;   // ports whose numbers are added up
  std::vector<PortIndex> levels;    // ports whose last numbers are shown
  std::vector<std::string> unread;  // steps whose outputs nothing reads
  std::vector<PlanPart> parts;      // in order; never empty
  std::vector<DeviceGroup> groups{DeviceGroup{}};
  std::array<std::size_t, kSides> arena_bytes{};     // per lane
  std::array<std::size_t, kSides> scratch_offset{};  // in a device's arena
  std::size_t slot_bytes = 0;                        // of a result slot: positions and counts, then payloads
  PortIndex ringed = kNoPort;                        // the source's copy, if devices keep its samples
  AwayPart away{};
  std::shared_ptr<const WorkOrder> order{};  // for the hosts that compute it

  /// What the stages need beyond the new samples.
  const Reach& reach() const noexcept { return ports.front().reach; }
  /// The reach that a window includes: windows start at 128-byte boundaries if blocks do.
  Reach window() const noexcept;
  /// The furthest sample that a gap may lead to: up to there, and long after, the positions of all ports fit their
  /// type.
  std::int64_t most_position() const noexcept;
  /// The steps, and the copying of results after them.
  std::size_t timed_steps() const noexcept { return steps.size() + 1; }
  bool sequential() const noexcept;
  bool is_published(PortIndex port) const noexcept;
  bool uses(Side side) const noexcept;
  bool uses_devices() const noexcept;
  const DeviceGroup& group(Side side) const noexcept { return groups[index_of(side) - 1]; }
  /// The devices of a side, none for the host.
  std::span<const std::size_t> devices_of(Side side) const noexcept;
  /// `host`; `device`, or with several groups the group's name.
  std::string_view name_of(Side side) const noexcept;
  /// Sides take turns, so a lane needs a thread.
  bool mixed() const noexcept { return parts.size() > 1; }
  /// Whether the step does nothing, since a device keeps what it would copy.
  bool is_ring_step(StepIndex step) const noexcept { return ringed != kNoPort && ports[ringed].maker == step; }
  /// The devices that keep the source's samples, each those that its own blocks need.
  std::span<const std::size_t> ring_devices() const noexcept;
  /// Whether a step on a device reads the source in the host's memory.
  bool reads_source_in_place() const noexcept;
  /// Makes every stage ready for where it runs. Throws SetupError.
  void prepare(Backend& host, std::span<const std::shared_ptr<Backend>> devices);
};

/// How many bytes of a block cross between host and devices, at most.
struct Crossing {
  std::size_t to_device = 0;
  std::size_t to_host = 0;
  std::size_t between = 0;  // from device to device
};
Crossing crossing_of(const Plan& plan);

/// Where a port lies in the spectrum; see PortShape.
struct PortPlace {
  double frequency_hz = 0;
  double span_hz = 0;  // 0: not known
  bool on_air = true;
};
/// Of each port of the plan, as planned.
std::vector<PortPlace> places_of(const Plan& plan);

/// Whether the plans differ at most in what their steps compute, and in the frequencies and spans of their ports, so
/// that blocks begun under one can continue under the other.
bool same_layout(const Plan& one, const Plan& other);
/// Whether the steps are set up alike, except for live keys. They may be of plans with other sides.
bool same_but_live(const PlanStep& one, const PlanStep& other);
/// Whether a step carries on the state of another plan's: it is the same, on the same devices.
bool continues(const Plan& plan, const PlanStep& step, const Plan& before, const PlanStep& step_before);

/// Connections of a stage's inputs as in YAML: input → `stage.output`; the key "" is its only input.
using Connections = std::map<std::string, std::string, std::less<>>;

/// The step that copies a port from one side to another; files cannot name it.
const StageEntry& transfer_entry();

}  // namespace iqd
