// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sizing.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "base/host_limits.hpp"
#include "base/integer.hpp"
#include "pipeline/engine/block_ledger.hpp"
#include "pipeline/engine/device_ring.hpp"
#include "pipeline/engine/ring_layout.hpp"
#include "pipeline/intake/ring_writer.hpp"
#include "pipeline/outlets/sink_outlet.hpp"
#include "pipeline/spec/work_order.hpp"
#include "pipeline/watch/watches.hpp"

namespace iqd {
namespace {

/// The ring holds this much of a radio's stream, up to a limit in bytes.
constexpr double kRingSeconds = 0.1;
static_assert(kMostAway <= SlotMask::kMost - 64);
constexpr std::size_t kRingMost = 32u << 20;
constexpr std::size_t kSlotsMost = 48u << 20;
/// One in this many works of a queue has its steps timed. A prime, so that each part of a block gets its turn.
constexpr int kTimeEvery = 61;
/// The same if a device launches works: those that are timed are launched from the host, which takes longer.
constexpr int kTimeEveryResident = 2039;
/// What a thread uses of its stack, and its share of the heap.
constexpr std::size_t kThreadBytes = 27u << 10;

/// The size of a thread's whole stack.
std::size_t stack_bytes() {
  constexpr std::size_t kUnlimited = 2u << 20;  // the C library's size without a limit
  rlimit limit{};
  const bool is_known = ::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_known ? limit.rlim_cur : kUnlimited;
}

/// Enough for the blocks in the lanes, the one being received and one that waits. If the source cannot wait: also for
/// the future of blocks before a gap, which are all complete there, and may be computed while more arrives.
std::int64_t ring_samples_for(const Plan& plan, const StreamInfo& stream, int lanes) {
  const std::size_t row_sample = size_of(stream.element) * static_cast<std::size_t>(stream.channels);
  const Reach reach = plan.window();
  const std::int64_t least =
      bounded_sum(bounded_sum(reach.past, reach.future), bounded_product<std::int64_t>(plan.block, lanes + 2));
  const auto affordable = static_cast<double>(kRingMost / row_sample);
  const auto generous = static_cast<std::int64_t>(std::min(stream.rate_hz * kRingSeconds, affordable));
  return stream.can_wait ? least : std::max(bounded_sum(least, reach.future), generous);
}

Need state_of(const Plan& plan) {
  Need need{"stage state"};
  for (const PlanStep& step : plan.steps) {
    if (step.carry_bytes == 0) continue;
    need.bytes = bounded_sum(need.bytes, step.carry_bytes);
    for (const PortIndex out : step.out) {
      const PlanPort& port = plan.ports[out];
      if (port.shape.axis != Axis::stream) continue;
      const auto row = bounded_bytes(port.reach.past, static_cast<std::size_t>(port.shape.item_bytes()));
      need.bytes = bounded_sum(need.bytes, bounded_bytes(port.shape.row_count(), row));
    }
  }
  return need;
}

/// What is kept besides the results: for each port of each slot, for blocks on their way, and for each step of the plan.
Need bookkeeping_of(const Plan& plan, int slots, std::int64_t ring_samples) {
  const std::size_t slot = plan.ports.size() * (sizeof(PortIo) + sizeof(Span));
  const std::size_t blocks =
      2 * BlockLedger::most_outstanding(plan.block, plan.window().future, ring_samples) * sizeof(SampleBlock);
  return {"positions and times",
          static_cast<std::size_t>(slots) * slot + blocks + plan.timed_steps() * sizeof(Histogram)};
}

/// Copies for the live page: resident while somebody looks, or if memory is locked.
Need watch_need(const Plan& plan, bool locked) {
  const std::size_t bytes = watch_bytes(plan);
  return {"live page", locked ? bytes : 0, locked ? 0 : bytes};
}

/// On each device that keeps the source.
std::size_t device_ring_bytes(const Plan& plan, const RingLayout& host) {
  if (plan.ringed == kNoPort) return 0;
  if (host.row_bytes == HostLimits::kNone) return HostLimits::kNone;
  return DeviceRing::bytes(plan, static_cast<std::int64_t>(host.row_bytes / size_of(plan.ports.front().shape.element)));
}

/// Adds up what lanes and rings need of each device.
void size_devices(Sizing& s, const Plan& plan) {
  const auto need = [&s](std::size_t device, std::size_t bytes) {
    if (s.on_devices.size() <= device) s.on_devices.resize(device + 1);
    s.on_devices[device] = bounded_sum(s.on_devices[device], bytes);
  };
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const DeviceGroup& group = plan.groups[g];
    const std::size_t arena = plan.arena_bytes[index_of(device_side(g))];
    s.device_bytes = bounded_sum(s.device_bytes, bounded_bytes(s.engine.lanes, arena));
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(s.engine.lanes); ++lane)
      need(group.devices[group.turn_of(lane)], arena);
  }
  for (const std::size_t device : plan.ring_devices()) need(device, s.device_ring_bytes);
}

void add(Needs& to, Need need) {
  const auto is_same = [&need](const Need& n) { return n.shared && n.what == need.what; };
  if (need.shared && std::ranges::any_of(to, is_same)) return;
  if (need.bytes > 0 || need.more > 0 || need.threads > 0 || need.files > 0) to.push_back(std::move(need));
}
void add(Needs& to, Needs more) {
  for (Need& need : more) add(to, std::move(need));
}

/// What a route needs for an output's results.
struct RouteNeeds {
  Needs& needs;
  const PortFormat& format;
  bool lossless;

  void operator()(const PublishSpec* p) const { add(needs, p->options->needs(format)); }
  void operator()(const SinkSpec* s) const {
    const auto buffer = static_cast<std::size_t>(s->options->buffer_bytes());
    add(needs, {fmt::format("sink {} of {}", s->driver->name, format.port), SinkOutlet::queue_bytes(lossless, buffer),
                lossless ? 0 : buffer, 1});
    add(needs, s->options->needs(format));
  }
  void operator()(const ApplySpec* a) const {
    add(needs, {"values for " + a->key.text(), 2 * static_cast<std::size_t>(format.bytes(1))});
  }
};

void add_routes(Needs& needs, const PipelineSpec& spec, const Plan& plan, bool lossless,
                std::span<const OutputIndex> outputs) {
  const std::vector<RouteSpec> routes = routes_of(spec);
  for (std::size_t r = 0; r < routes.size(); ++r)
    std::visit(RouteNeeds{needs, plan.outputs[outputs[r]].format, lossless}, routes[r]);
}

/// Threads of the radio, of the publisher and of the waiter for their end, plus those in the list.
void add_threads(Needs& needs, std::size_t each) {
  int threads = 3;
  for (const Need& need : needs) threads += need.threads;
  needs.push_back({fmt::format("stacks of {} threads", threads), static_cast<std::size_t>(threads) * each, 0, 3});
}

template <class T> std::size_t sum_of(const Needs& needs, T Need::*what) {
  std::size_t sum = 0;
  for (const Need& need : needs) sum = bounded_sum(sum, static_cast<std::size_t>(need.*what));
  return sum;
}

}  // namespace

std::size_t Sizing::bytes() const noexcept {
  return sum_of(needs, &Need::bytes);
}
std::size_t Sizing::more() const noexcept {
  return sum_of(needs, &Need::more);
}
std::size_t Sizing::threads() const noexcept {
  return sum_of(needs, &Need::threads);
}
std::size_t Sizing::files() const noexcept {
  return sum_of(needs, &Need::files);
}
std::size_t Sizing::resident() const noexcept {
  return bounded_sum(bytes(), seen_twice);
}

PoolNeeds pool_needs(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream) {
  const Reach reach = plan.window();
  const PortShape& source = plan.ports.front().shape;
  const std::int64_t samples = bounded_sum(plan.block, bounded_sum(reach.past, reach.future));
  PoolNeeds needs;
  needs.pipeline = spec.name;
  needs.block = plan.block;
  needs.rate_hz = stream.rate_hz;
  needs.live = !spec.is_lossless(stream);
  needs.alone = spec.only_pool;
  needs.block_bytes = bounded_bytes(source.row_count() * samples, static_cast<std::size_t>(source.item_bytes()));
  needs.build = build_mark();
  for (const PortIndex p : plan.away.returned) {
    const PlanPort& port = plan.ports[p];
    const std::int64_t items = port.shape.row_count() * port.capacity;
    needs.result_bytes =
        bounded_sum(needs.result_bytes, bounded_bytes(items, static_cast<std::size_t>(port.shape.item_bytes())));
  }
  return needs;
}

int lanes_of(const PipelineSpec& spec) {
  if (spec.only_pool) return 0;
  const auto processors = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(spec.lanes > 0 ? spec.lanes : std::clamp<std::int64_t>(processors, 1, 4));
}

Sizing size_up(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream,
               std::span<const OutputIndex> outputs, const Circumstances& circumstances) {
  Sizing s;
  s.engine.lanes = lanes_of(spec);
  // Blocks at other hosts need their samples and a slot as those in lanes do.
  const PoolNeeds pool = pool_needs(spec, plan, stream);
  const int away = spec.pool ? spec.pool->most_out(pool) : 0;
  const int started = s.engine.lanes + away;
  s.engine.ring_samples = std::max(ring_samples_for(plan, stream, started), circumstances.ring_samples);
  const std::size_t slot = std::max<std::size_t>(plan.slot_bytes, 1);
  const auto affordable = static_cast<int>(std::min<std::size_t>(kSlotsMost / slot, SlotMask::kMost));
  s.engine.slots = std::clamp(affordable, started + 4, std::max(32, started + 4));
  s.engine.priority = static_cast<int>(spec.realtime.priority);
  s.engine.urgency = spec.urgency;
  s.engine.wait = spec.wait;
  s.engine.watched = spec.watched;
  const int usual = spec.wait == Wait::resident ? kTimeEveryResident : kTimeEvery;
  s.engine.time_every = spec.time_every > 0 ? spec.time_every : usual;
  for (const std::int64_t cpu : spec.realtime.cpus) s.engine.cpus.push_back(static_cast<int>(cpu));

  const int memories = s.engine.lanes + (spec.pool ? 1 : 0);
  s.arena_bytes = bounded_bytes(memories, plan.arena_bytes[index_of(Side::host)]);
  s.slot_bytes = bounded_bytes(s.engine.slots, plan.slot_bytes);
  const RingLayout ring = ring_layout(plan, s.engine.ring_samples);
  s.ring_bytes = ring.bytes();
  s.device_ring_bytes = device_ring_bytes(plan, ring);
  size_devices(s, plan);
  s.seen_twice = circumstances.locked ? s.ring_bytes : ring.seen_twice;
  s.needs.push_back({fmt::format("ring of {} samples", s.engine.ring_samples), s.ring_bytes});
  s.needs.push_back({fmt::format("{} lanes", memories), s.arena_bytes, 0, memories});
  if (spec.pool) add(s.needs, spec.pool->needs(pool));
  s.needs.push_back({fmt::format("{} result slots", s.engine.slots), s.slot_bytes});
  add(s.needs, state_of(plan));
  add(s.needs, bookkeeping_of(plan, s.engine.slots, s.engine.ring_samples));
  add(s.needs, {"spill buffer", RingWriter::aside_bytes(stream)});
  add(s.needs, {"parsed file", spec.file_bytes});
  add(s.needs, {"plan and stage tables", circumstances.plan_bytes});
  add(s.needs, spec.source->needs(stream));
  for (const PlanStep& step : plan.steps)
    if (step.stage) add(s.needs, step.stage->needs());
  if (spec.watched) add(s.needs, watch_need(plan, circumstances.locked));
  const bool lossless = spec.is_lossless(stream);
  add_routes(s.needs, spec, plan, lossless, outputs);
  add_threads(s.needs, circumstances.locked ? stack_bytes() : kThreadBytes);
  s.addresses = bounded_sum(bounded_sum(s.bytes(), s.ring_bytes), s.threads() * stack_bytes());
  return s;
}

Sizing beside(Sizing next, const Sizing& at_work) {
  std::erase_if(next.needs, [&](const Need& need) {
    return need.shared && std::ranges::find(at_work.needs, need.what, &Need::what) != at_work.needs.end();
  });
  return next;
}

}  // namespace iqd
