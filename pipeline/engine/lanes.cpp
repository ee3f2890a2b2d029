// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace iqd {

Lanes::Lanes(const Plan& plan, const EngineBackends& backends, const EngineOptions& options) : free_(options.lanes) {
  for (int l = 0; l < options.lanes; ++l) lanes_.push_back(make(static_cast<std::size_t>(l), plan, backends, options));
  if (backends.pool) lanes_.push_back(make_for_returned(plan, backends, options));
}

/// Of a device's ports, what comes back has no use but as results: all other steps run on the host.
Lanes::Lane Lanes::make_for_returned(const Plan& plan, const EngineBackends& backends, const EngineOptions& options) {
  Lane lane;
  QueueOptions queue{"iqd-return", options.priority, options.cpus, Wait::block};
  queue.time_every = options.time_every;
  queue.timed_steps = plan.timed_steps();
  const std::size_t bytes = std::max<std::size_t>(plan.arena_bytes[index_of(Side::host)], 1);
  lane.arenas[index_of(Side::host)] = backends.host->allocate_shared(bytes);
  lane.queue = backends.host->make_queue(queue);
  // The others are only there so that ports have addresses.
  for (std::byte*& arena : lane.memory.arenas) arena = lane.arenas[index_of(Side::host)].data();
  return lane;
}

Lanes::Lane Lanes::make(std::size_t index, const Plan& plan, const EngineBackends& backends,
                        const EngineOptions& options) {
  QueueOptions queue{fmt::format("iqd-lane-{}", index), options.priority, options.cpus, options.wait};
  queue.time_every = options.time_every;
  queue.timed_steps = plan.timed_steps();
  queue.urgency = options.urgency;
  Lane lane;
  Backend& shared = plan.uses_devices() ? backends.shared() : *backends.host;
  shared.use();
  lane.arenas[index_of(Side::host)] = shared.allocate_shared(plan.arena_bytes[index_of(Side::host)]);
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    if (const Side side = device_side(g); plan.uses(side))
      add_device(lane, side, plan.groups[g].turn_of(index), plan, backends, queue);
  if (plan.mixed() || !plan.uses_devices()) lane.queue = backends.host->make_queue(queue);
  for (std::size_t side = 0; side < kSides; ++side) lane.memory.arenas[side] = lane.arenas[side].data();
  return lane;
}

/// The device at this turn of its group, with memory there and a queue.
void Lanes::add_device(Lane& lane, Side side, std::size_t turn, const Plan& plan, const EngineBackends& backends,
                       QueueOptions queue) {
  const std::size_t g = index_of(side) - 1;
  const std::size_t number = plan.groups[g].devices[turn];
  Backend& device = *backends.devices[number];
  device.use();
  lane.arenas[index_of(side)] = device.allocate(plan.arena_bytes[index_of(side)]);
  if (!backends.parts.empty()) queue.part = backends.parts[number];
  LaneMemory::Device& memory = lane.memory.devices[g];
  memory = {&device, nullptr, turn};
  std::unique_ptr<Queue>& own = plan.mixed() ? lane.devices[g] : lane.queue;
  own = device.make_queue(queue);
  if (plan.mixed()) memory.queue = own.get();
}

std::size_t Lanes::resident(int lane) const noexcept {
  std::size_t graphs = queue(lane).resident();
  for (const LaneMemory::Device& device : memory(lane).devices) graphs += device.queue ? device.queue->resident() : 0;
  return graphs;
}

}  // namespace iqd
