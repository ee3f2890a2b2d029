// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/lanes.hpp"

#include <fmt/format.h>

#include <utility>

namespace iqd {

Lanes::Lanes(const Plan& plan, const EngineBackends& backends, const EngineOptions& options) : free_(options.lanes) {
  for (int l = 0; l < options.lanes; ++l) lanes_.push_back(make(l, plan, backends, options));
}

Lanes::Lane Lanes::make(int index, const Plan& plan, const EngineBackends& backends, const EngineOptions& options) {
  QueueOptions queue{fmt::format("iqd-lane-{}", index), options.priority, options.cpus, options.wait};
  queue.time_every = options.time_every;
  queue.timed_steps = plan.timed_steps();
  queue.urgency = options.urgency;
  Backend& host = *backends.host;
  Lane lane;
  if (!plan.uses(Side::device)) {
    lane.arenas[0] = host.allocate(plan.arena_bytes[0]);
    lane.queue = host.make_queue(queue);
  } else {
    lane.memory.device_index = static_cast<std::size_t>(index) % backends.devices.size();
    Backend& device = *backends.devices[lane.memory.device_index];
    device.use();
    lane.arenas[index_of(Side::host)] = device.allocate_shared(plan.arena_bytes[index_of(Side::host)]);
    lane.arenas[index_of(Side::device)] = device.allocate(plan.arena_bytes[index_of(Side::device)]);
    if (!backends.parts.empty()) queue.part = backends.parts[lane.memory.device_index];
    lane.queue = device.make_queue(queue);
    if (plan.mixed()) lane.device = std::exchange(lane.queue, host.make_queue(queue));
    lane.memory.backend = &device;
  }
  for (std::size_t side = 0; side < kSides; ++side) lane.memory.arenas[side] = lane.arenas[side].data();
  lane.memory.device = lane.device.get();
  return lane;
}

}  // namespace iqd
