// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/placing/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/integer.hpp"

namespace iqd {
namespace {

struct Pin {
  Side side;
  std::string why;
};

/// Why a stage can only be on one side; nothing if it can be on both.
std::optional<Pin> pin_of(const PlacingTask& task, const std::string& name) {
  const StageSpec* const stage = stage_named(task.spec, name);
  // First: the plan is made by it, wherever the state is.
  if (stage && !stage->backend.empty() && stage->backend.front() != "auto")
    return Pin{stage->backend.front() == "cpu" ? Side::host : Side::device, "as the file says"};
  for (const KeptStage& kept : task.kept)
    if (kept.name == name) return Pin{kept.side, "continues with its state where it is"};
  if (stage && stage->entry->host_only) return Pin{Side::host, "has only CPU code"};
  return std::nullopt;
}

/// By the built-in table: of fused stages, the sum.
BothTimes estimate_of(const PlacingTask& task, const PlanStepGroup& group) {
  const PlanStep& step = task.plan.steps[group.steps.front()];
  const PlanPort& in = task.plan.ports[step.lead()];
  const std::int64_t samples = in.most_new * in.shape.row_count() * in.shape.item_size();
  const Footprint& looks = step.footprint.front();
  double host = 0, device = 0;
  for (const std::string& name : group.names) {
    const StageSpec* const stage = stage_named(task.spec, name);
    // A conversion within a fused step has its stage's name.
    const std::string_view entry = stage ? stage->entry->name : step.parts.empty() ? step.entry->name : name;
    const BothTimes one = estimated(entry, samples, looks.past + looks.future);
    if (!one.host_us) return {};
    host += *one.host_us;
    device += *one.device_us;
  }
  return {host, device, TimeFrom::estimate, TimeFrom::estimate};
}

/// Takes from the estimate what was not measured.
void complete(BothTimes& times, const BothTimes& estimate) {
  if (!times.host_us) times.host_us = estimate.host_us, times.host_from = estimate.host_from;
  if (!times.device_us) times.device_us = estimate.device_us, times.device_from = estimate.device_from;
}

Placement::Part part_of(const PlacingTask& task, PlanStepGroup group) {
  Placement::Part part;
  part.side = Side::device;
  for (const std::string& name : group.names)
    if (const std::optional<Pin> pin = pin_of(task, name)) part.side = pin->side, part.fixed = pin->why;
  part.times = task.times.measured(time_name(task.plan, group, task.spec));
  const bool has_own = part.side == Side::host ? part.times.host_us.has_value() : part.times.device_us.has_value();
  const auto has_both = [&part] { return part.times.host_us && part.times.device_us; };
  if (part.fixed.empty() ? !has_both() : !has_own) complete(part.times, estimate_of(task, group));
  if (part.fixed.empty() && !has_both())
    part.fixed = part.times.host_us || part.times.device_us ? "measured on one side, and not in the built-in table"
                                                            : "neither measured nor in the built-in table";
  part.group = std::move(group);
  return part;
}

std::size_t bytes_of(const PlanPort& port, std::int64_t positions) {
  return bounded_bytes(port.shape.row_count() * positions, static_cast<std::size_t>(port.shape.item_bytes()));
}

/// What may cross: each port that a group makes, or the source.
BlockCost::Data data_of(const PlacingTask& task, PortIndex port, const std::vector<std::size_t>& numbers) {
  const PlanPort& p = task.plan.ports[port];
  BlockCost::Data data;
  if (!p.is_source()) data.maker = numbers[p.maker];
  std::set<std::size_t> readers;
  for (StepIndex s = 0; s < task.plan.steps.size(); ++s)
    for (const PortIndex in : task.plan.steps[s].in)
      if (in != kNoPort && numbers[s] != kNoGroup && numbers[s] != data.maker && origin_of(task.plan, in) == port)
        readers.insert(numbers[s]);
  data.readers.assign(readers.begin(), readers.end());
  data.leaves =
      std::ranges::any_of(task.plan.outputs, [&](const PlanOutput& o) { return origin_of(task.plan, o.port) == port; });
  const std::int64_t around = p.shape.axis == Axis::stream ? p.reach.past + p.reach.future : 0;
  // A device keeps what it has of the source.
  const bool kept = p.is_source() && bytes_of(p, around) >= task.ring_saves;
  data.to_device_us = task.times.to_device_us(bytes_of(p, p.most_new + (kept ? 0 : around)));
  data.to_host_us = task.times.to_host_us(bytes_of(p, p.most_new + (readers.empty() ? 0 : around)));
  return data;
}

BlockCost cost_of(const PlacingTask& task, const std::vector<Placement::Part>& parts) {
  BlockCost block;
  std::vector<PlanStepGroup> groups;
  for (const Placement::Part& part : parts) {
    block.parts.push_back({part.times.host_us.value_or(0), part.times.device_us.value_or(0),
                           part.fixed.empty() ? std::nullopt : std::optional(part.side)});
    groups.push_back(part.group);
  }
  const std::vector<std::size_t> numbers = group_numbers(task.plan, groups);
  for (PortIndex p = 0; p < task.plan.ports.size(); ++p) {
    const bool is_made = task.plan.ports[p].is_source() || numbers[task.plan.ports[p].maker] != kNoGroup;
    if (is_made && origin_of(task.plan, p) == p) block.data.push_back(data_of(task, p, numbers));
  }
  block.host_us = task.times.host_block_us(task.spec.wait);
  block.device_us = task.times.device_block_us(task.spec.wait);
  return block;
}

/// Microseconds with three digits.
std::string us_text(double us) {
  return us >= 100  ? fmt::format("{:.0f} us", us)
         : us >= 10 ? fmt::format("{:.1f} us", us)
                    : fmt::format("{:.2f} us", us);
}

}  // namespace

TimeFrom Placement::Part::from(Side on) const noexcept {
  return on == Side::host ? times.host_from : times.device_from;
}

bool Placement::Part::is_by(TimeFrom source) const noexcept {
  return from(side) == source || (fixed.empty() && (times.host_from == source || times.device_from == source));
}

bool Placement::uses(Side side) const noexcept {
  return std::ranges::any_of(parts, [side](const Part& p) { return p.side == side; });
}

Side Placement::side_of(std::string_view stage) const noexcept {
  for (const Part& part : parts)
    if (std::ranges::find(part.group.names, stage) != part.group.names.end()) return part.side;
  return usual_side();
}

Side Placement::usual_side() const noexcept {
  for (const Part& part : parts)
    if (part.group.is_inserted) return part.side;
  return uses(Side::host) ? Side::host : Side::device;
}

std::string Placement::summary() const {
  const auto has = [this](TimeFrom from) {
    return std::ranges::any_of(parts, [from](const Part& p) { return p.is_by(from); });
  };
  const bool is_measured = has_block_times && has(TimeFrom::measured) && !has(TimeFrom::estimate);
  std::string text =
      fmt::format("by {} times a block takes {}; it would take {} on cpu and {} on {}",
                  is_measured ? "measured" : "estimated", us_text(us), us_text(host_us), us_text(device_us), device);
  if (has(TimeFrom::nothing)) text += "; not counting stages whose time is not known";
  if (relieves) text += "; the CPU could not keep up";
  if (is_stale) text += "; what was measured belongs to another driver or build: run `iqd tune` on the file again";
  return text;
}

std::string Placement::reason(const Part& part) const {
  const bool here = part.side == Side::host;
  const std::optional<double> own = here ? part.times.host_us : part.times.device_us;
  const std::optional<double> other = here ? part.times.device_us : part.times.host_us;
  std::string text = part.fixed;
  const TimeFrom from = part.from(part.side), other_from = part.from(here ? Side::device : Side::host);
  if (own) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(from), us_text(*own));
  if (!own || !other) return text;
  constexpr double kNothing = 0.005;  // shown as 0.00
  const bool less = part.crossing_us < -kNothing;
  return text + fmt::format("; {} would take {}{}{} {}{} of crossing", here ? std::string_view(device) : "cpu",
                            other_from == from ? "" : fmt::format("{} ", name_of(other_from)), us_text(*other),
                            less ? ", with" : " and", us_text(std::fabs(part.crossing_us)), less ? " less" : "");
}

Placement place(const PlacingTask& task) {
  Placement placement;
  placement.device = task.device;
  placement.has_block_times = task.times.has_blocks(task.spec.wait);
  placement.is_stale = task.times.is_stale();
  for (PlanStepGroup& group : groups_of(task.plan, task.spec))
    placement.parts.push_back(part_of(task, std::move(group)));
  const BlockCost block = cost_of(task, placement.parts);
  const Sides on_device = all_on(block, Side::device);
  Sides sides = quickest(block);
  const double most_us = task.block_s * 1e6 * static_cast<double>(task.host_lanes);
  placement.relieves = most_us > 0 && host_time_of(block, sides) > most_us &&
                       host_time_of(block, on_device) < host_time_of(block, sides);
  if (placement.relieves) sides = on_device;
  placement.us = time_of(block, sides);
  placement.host_us = time_of(block, all_on(block, Side::host));
  placement.device_us = time_of(block, on_device);
  for (std::size_t p = 0; p < sides.size(); ++p) {
    placement.parts[p].side = sides[p];
    Sides other = sides;
    other[p] = sides[p] == Side::host ? Side::device : Side::host;
    const BlockCost::Part& part = block.parts[p];
    placement.parts[p].crossing_us = time_of(block, other) - placement.us - (part.on(other[p]) - part.on(sides[p]));
  }
  return placement;
}

}  // namespace iqd
