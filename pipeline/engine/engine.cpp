// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/clock.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/engine/ring_layout.hpp"
#include "pipeline/engine/slot_work.hpp"

namespace iqd {
namespace {

/// A captured graph takes 0.1 MB of a device and 0.06 ms to make (H200); what was not rehearsed is launched step by
/// step.
constexpr std::int64_t kMostRehearsed = 1024;

}  // namespace

Engine::Engine(Plan plan, EngineBackends backends, const EngineOptions& options,
               std::vector<std::unique_ptr<Route>> routes, Counters& counters, Succession succession)
    : plan_(std::move(plan)),
      backends_(std::move(backends)),
      sample_bytes_(size_of(plan_.ports.front().shape.element)),
      ring_(static_cast<std::size_t>(plan_.ports.front().shape.row_count()),
            ring_layout(plan_, options.ring_samples).row_bytes),
      shared_ring_(backends_.shared(), ring_.mapped()),
      carries_(plan_, *backends_.host, backends_.shared()),
      window_begin_(kMostOutstanding),
      open_(succession.before == nullptr),
      free_lanes_(options.lanes),
      slots_(
          options.slots, [](void* engine) noexcept { static_cast<Engine*>(engine)->dispatch(); }, this),
      delivery_(plan_, std::move(routes), slots_, counters),
      step_times_(plan_.timed_steps()),
      wait_(options.wait) {
  for (int s = 0; s < options.slots; ++s) works_.push_back(std::make_unique<SlotWork>(*this, s));
  for (int l = 0; l < options.lanes; ++l) lanes_.push_back(make_lane(l, options));
  rehearse();
  publisher_ = std::thread([this, options, succession = std::move(succession)] {
    prepare_thread({"iqd-publish", options.priority, {}});
    if (succeed(succession)) publish_all();
    ended_.store(true, std::memory_order_release);
  });
}

Engine::~Engine() {
  let_go();
}

void Engine::let_go() {
  if (!open_) discard();
  close();
  join();
  lanes_.clear();
  delivery_.let_go();
}

Engine::Lane Engine::make_lane(int index, const EngineOptions& options) {
  QueueOptions queue{fmt::format("iqd-lane-{}", index), options.priority, options.cpus, options.wait};
  queue.time_every = options.time_every;
  queue.timed_steps = plan_.timed_steps();
  Backend& host = *backends_.host;
  Lane lane;
  if (!plan_.uses(Side::device)) {
    lane.arenas[0] = host.allocate(plan_.arena_bytes[0]);
    lane.queue = host.make_queue(queue);
  } else {
    lane.memory.device_index = static_cast<std::size_t>(index) % backends_.devices.size();
    Backend& device = *backends_.devices[lane.memory.device_index];
    device.use();
    lane.arenas[index_of(Side::host)] = device.allocate_shared(plan_.arena_bytes[index_of(Side::host)]);
    lane.arenas[index_of(Side::device)] = device.allocate(plan_.arena_bytes[index_of(Side::device)]);
    lane.queue = device.make_queue(queue);
    if (plan_.mixed()) lane.device = std::exchange(lane.queue, host.make_queue(queue));
    lane.memory.backend = &device;
  }
  for (std::size_t side = 0; side < kSides; ++side) lane.memory.arenas[side] = lane.arenas[side].data();
  lane.memory.device = lane.device.get();
  return lane;
}

/// Lets the lanes of devices prepare for the blocks that will come, as they come while nothing is held up: the same
/// place in the ring then meets the same lane and the same slot, over and over.
void Engine::rehearse() {
  if (!plan_.uses(Side::device) || plan_.sequential()) return;
  const Reach reach = plan_.window();
  const std::int64_t ring_blocks = ring_samples() / plan_.block;
  const std::int64_t turns = std::lcm(std::lcm<std::int64_t>(slots_.slots(), free_lanes_.slots()), ring_blocks);
  for (std::int64_t b = 0; b < std::min(turns, kMostRehearsed); ++b) {
    SampleBlock block;
    block.first = (turns + b) * plan_.block;
    block.length = plan_.block;
    block.past = reach.past;
    block.future = reach.future;
    SlotWork& work = *works_[static_cast<std::size_t>(b % slots_.slots())];
    const auto lane = static_cast<int>(b % free_lanes_.slots());
    set(work, block, lane);
    work.rehearse(*lanes_[static_cast<std::size_t>(lane)].queue);
  }
}

void Engine::note_waiting() noexcept {
  if (plan_.uses(Side::device) && wait_began_ns_.load(std::memory_order_relaxed) == 0)
    wait_began_ns_.store(steady_ns(), std::memory_order_relaxed);
}

std::int64_t Engine::waiting_ns() const noexcept {
  const std::int64_t began = wait_began_ns_.load(std::memory_order_relaxed);
  return began ? steady_ns() - began : 0;
}

std::int64_t Engine::unfinished_ns() const noexcept {
  const bool some = done_.load(std::memory_order_acquire) != offered_.load(std::memory_order_acquire);
  return some ? steady_ns() - moved_ns_.load(std::memory_order_relaxed) : 0;
}

Engine::Slowest Engine::slowest_step() const {
  BlockWork::AtWork oldest;
  for (const auto& work : works_)
    if (const auto at = work->at_work(); at.began_ns && (!oldest.began_ns || at.began_ns < oldest.began_ns))
      oldest = at;
  if (!oldest.began_ns) return {};
  return {plan_.steps[oldest.step].name, steady_ns() - oldest.began_ns};
}

std::string Engine::backend_failure() const {
  for (const auto& device : backends_.devices)
    if (std::string why = device->failure(); !why.empty()) return why;
  return backends_.host->failure();
}

void Engine::retune(std::unique_ptr<Plan> plan) {
  at_work_.store(plan.get(), std::memory_order_release);
  const std::uint64_t offered = offered_.load(std::memory_order_relaxed);
  replaced_.push_back({std::exchange(retuned_, std::move(plan)), offered});
  std::erase_if(replaced_,
                [this](const Replaced& r) { return sent_.load(std::memory_order_acquire) >= r.needed_until; });
}

/// Waits until the engine before has published everything, and goes on from there.
bool Engine::succeed(const Succession& succession) {
  Engine* before = succession.before;
  if (!before) return true;
  while (!before->over_.load(std::memory_order_acquire)) {
    if (discarded_) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  delivery_.succeed(before->delivery_);
  for (const auto& [step, step_before] : succession.carries) carries_.adopt(step, before->carries_, step_before);
  before->succeeded_.store(true, std::memory_order_release);
  open_.store(true, std::memory_order_release);
  dispatch();
  return true;
}

bool Engine::relieved() const noexcept {
  return succeeded_.load(std::memory_order_acquire) && ended_.load(std::memory_order_acquire) && slots_.all_back();
}

void Engine::close() noexcept {
  closed_.store(true, std::memory_order_release);
  results_.ring();
}

void Engine::close_for_successor() noexcept {
  has_successor_ = true;
  close();
}

void Engine::discard() noexcept {
  discarded_ = true;
  close();
}

void Engine::join() {
  if (publisher_.joinable()) publisher_.join();
}

void Engine::interrupt() noexcept {
  for (const auto& route : routes()) route->outlet->interrupt();
}

}  // namespace iqd
