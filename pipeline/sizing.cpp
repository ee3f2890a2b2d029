// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "pipeline/spec.hpp"

namespace iqd {
namespace {

/// A radio's samples may wait this long before the first is dropped, as long as that takes no more than this.
constexpr double kRingSeconds = 0.1;
constexpr std::size_t kRingMost = 32u << 20;
constexpr std::size_t kSlotsMost = 48u << 20;
/// Of so many works of a queue the steps of one are timed: a prime, so that of a block's parts each has its turn.
constexpr int kTimeEvery = 61;

}  // namespace

Sizing size_up(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream) {
  Sizing s;
  const auto processors = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  s.engine.lanes = static_cast<int>(spec.lanes > 0 ? spec.lanes : std::clamp<std::int64_t>(processors, 1, 4));

  // Enough for what the lanes work on, what is being received and what waits between; more where the source cannot
  // wait.
  const std::size_t row_sample = size_of(stream.element) * static_cast<std::size_t>(stream.channels);
  const Reach reach = plan.window();
  const std::int64_t least = reach.past + reach.future + plan.block * (s.engine.lanes + 2);
  const auto generous = std::min<std::int64_t>(static_cast<std::int64_t>(stream.rate_hz * kRingSeconds),
                                               static_cast<std::int64_t>(kRingMost / row_sample));
  s.engine.ring_samples = std::max(least, stream.can_wait ? 0 : generous);
  s.ring_bytes = static_cast<std::size_t>(s.engine.ring_samples) * row_sample;

  const std::size_t slot = std::max<std::size_t>(plan.slot_bytes, 1);
  const auto affordable = static_cast<int>(std::min<std::size_t>(kSlotsMost / slot, SlotMask::kMost));
  s.engine.slots = std::clamp(affordable, s.engine.lanes + 4, std::max(32, s.engine.lanes + 4));
  const auto lanes = static_cast<std::size_t>(s.engine.lanes);
  s.arena_bytes = plan.arena_bytes[index_of(Side::host)] * lanes;
  s.device_bytes = plan.arena_bytes[index_of(Side::device)] * lanes;
  s.slot_bytes = plan.slot_bytes * static_cast<std::size_t>(s.engine.slots);
  s.engine.priority = static_cast<int>(spec.realtime.priority);
  s.engine.wait = spec.wait;
  s.engine.time_every = kTimeEvery;
  for (const std::int64_t cpu : spec.realtime.cpus) s.engine.cpus.push_back(static_cast<int>(cpu));
  return s;
}

void check_memory(const PipelineSpec& spec, const Sizing& sizing, const MemoryBudget& budget) {
  if (sizing.total() <= budget.free) return;
  const auto megabytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e6; };
  spec.section.problem(
      "block",
      fmt::format("blocks of {} samples and {} lanes need {:.0f} MB (ring {:.0f}, lanes {:.0f}, results {:.0f}), but "
                  "{:.0f} MB are free; use a smaller block or fewer lanes",
                  spec.block, sizing.engine.lanes, megabytes(sizing.total()), megabytes(sizing.ring_bytes),
                  megabytes(sizing.arena_bytes), megabytes(sizing.slot_bytes), megabytes(budget.free)));
}

void check_device_memory(const PipelineSpec& spec, const Sizing& sizing, const Backend& device, std::size_t devices) {
  const auto lanes = static_cast<std::size_t>(sizing.engine.lanes);
  const std::size_t needed = sizing.device_bytes / lanes * ((lanes + devices - 1) / devices);
  const std::size_t free = device.memory().free;
  if (needed <= free) return;
  spec.section.problem("block",
                       fmt::format("blocks of {} samples and {} lanes need {:.0f} MB of {} ({}), but {:.0f} MB "
                                   "are free; use a smaller block or fewer lanes",
                                   spec.block, sizing.engine.lanes, static_cast<double>(needed) / 1e6, device.name(),
                                   device.device(), static_cast<double>(free) / 1e6));
}

}  // namespace iqd
