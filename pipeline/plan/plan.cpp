// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/plan.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "pipeline/plan/alignment.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kScratchAlign = 256;  // NVIDIA's libraries require it of their work space

}  // namespace

std::size_t PlanPort::bytes() const noexcept {
  return bounded_bytes(shape.row_count(), pitch);
}

std::size_t PlanPort::new_bytes() const noexcept {
  return static_cast<std::size_t>(shape.row_count() * most_new * shape.item_bytes());
}

Reach Plan::window() const noexcept {
  const PlanPort& source = ports.front();
  const auto step = static_cast<std::int64_t>(std::max<std::size_t>(kPortAlign / size_of(source.shape.element), 1));
  return {ceil_div(source.reach.past, step) * step, source.reach.future};
}

std::int64_t Plan::most_position() const noexcept {
  constexpr std::int64_t kMostOfPort = std::int64_t{1} << 61;
  std::int64_t most = kMostPosition;
  for (const PlanPort& port : ports) most = std::min(most, kMostOfPort / ceil_div(port.rate.num, port.rate.den));
  return most;
}

bool Plan::sequential() const noexcept {
  return std::any_of(steps.begin(), steps.end(), [](const PlanStep& s) { return s.carry_bytes > 0; });
}

bool Plan::is_published(PortIndex port) const noexcept {
  return std::ranges::find(outputs, port, &PlanOutput::port) != outputs.end();
}

bool Plan::uses(Side side) const noexcept {
  return std::any_of(parts.begin(), parts.end(), [side](const PlanPart& p) { return p.side == side; });
}

bool Plan::uses_devices() const noexcept {
  return std::any_of(parts.begin(), parts.end(), [](const PlanPart& p) { return on_device(p.side); });
}

std::span<const std::size_t> Plan::devices_of(Side side) const noexcept {
  if (!on_device(side)) return {};
  return group(side).devices;
}

std::string_view Plan::name_of(Side side) const noexcept {
  if (!on_device(side)) return "host";
  return groups.size() > 1 ? std::string_view(group(side).name) : "device";
}

std::span<const std::size_t> Plan::ring_devices() const noexcept {
  if (ringed == kNoPort) return {};
  return devices_of(ports[ringed].side);
}

bool Plan::reads_source_in_place() const noexcept {
  for (StepIndex s = 0; s < steps.size(); ++s)
    if (on_device(steps[s].side) && !is_ring_step(s) &&
        std::ranges::find(steps[s].in, PortIndex{0}) != steps[s].in.end())
      return true;
  return false;
}

void Plan::prepare(Backend& host, std::span<const std::shared_ptr<Backend>> devices) {
  std::array<std::size_t, kSides> scratch{};
  for (PlanStep& s : steps) {
    s.runs.clear();
    if (!on_device(s.side)) {
      s.runs.push_back(s.stage->make(host));
      continue;
    }
    for (const std::size_t d : group(s.side).devices) {
      devices[d]->use();
      s.runs.push_back(s.stage->make(*devices[d]));
      std::size_t& most = scratch[index_of(s.side)];
      most = std::max(most, s.runs.back()->device_scratch_bytes());
    }
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // Only one step runs at a time, so all share one piece.
    const std::size_t side = index_of(device_side(g));
    std::size_t& arena = arena_bytes[side];
    scratch_offset[side] =
        static_cast<std::size_t>(ceil_div(static_cast<std::int64_t>(arena), kScratchAlign) * kScratchAlign);
    arena = scratch_offset[side] + scratch[side];
  }
}

Crossing crossing_of(const Plan& plan) {
  Crossing crossing;
  const auto add = [](std::size_t& sum, std::size_t bytes) { sum = bounded_sum(sum, bytes); };
  const auto window = [](const PlanPort& p) {
    return bounded_bytes(p.shape.row_count() * p.capacity, static_cast<std::size_t>(p.shape.item_bytes()));
  };
  for (StepIndex s = 0; s < plan.steps.size(); ++s) {
    const Side side = plan.steps[s].side;
    if (!on_device(side)) continue;
    for (const PortIndex p : plan.steps[s].in) {
      if (p == kNoPort || plan.ports[p].side == side) continue;
      if (on_device(plan.ports[p].side))
        add(crossing.between, window(plan.ports[p]));
      else
        add(crossing.to_device,
            plan.is_ring_step(s) ? plan.ring_devices().size() * plan.ports[p].new_bytes() : window(plan.ports[p]));
    }
    for (const PortIndex p : plan.steps[s].out)
      if (plan.ports[p].side == Side::host) add(crossing.to_host, window(plan.ports[p]));
  }
  for (const PlanOutput& output : plan.outputs)
    if (on_device(plan.ports[output.port].side) && !output.stays)
      add(crossing.to_host, plan.ports[output.port].new_bytes());
  return crossing;
}

std::vector<PortPlace> places_of(const Plan& plan) {
  std::vector<PortPlace> places;
  for (const PlanPort& port : plan.ports)
    places.push_back({port.shape.frequency_hz, port.shape.band_hz(), port.shape.on_air});
  return places;
}

}  // namespace iqd
