// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/engine.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/integer.hpp"
#include "pipeline/engine/layout_key.hpp"

namespace iqd {
namespace {

/// A captured graph takes 0.1 MB of device memory and 0.06 ms to make (H200). Blocks that were not rehearsed are
/// launched step by step.
constexpr std::int64_t kMostRehearsed = 1024;

}  // namespace

/// The work of one result slot, and the lane that it runs in.
class Engine::SlotWork final : public BlockWork, public PoolTicket {
 public:
  explicit SlotWork(Engine& engine)
      : BlockWork(engine.plan_, engine.carries_, *engine.backends_.host, engine.backends_.shared()), engine_(engine) {}
  void run_in(int lane) noexcept { lane_ = lane; }
  /// From now on: it contains this fill of the ring.
  void contain(DeviceRing& ring, const DeviceRing::Fill& fill) noexcept {
    filled_ = &ring;
    fill_ = fill;
  }
  std::uint64_t capture_key() const noexcept override {
    const std::uint64_t key = BlockWork::capture_key();
    if (key == 0 || !filled_) return key;
    LayoutKey both;
    both.mix(key);
    both.mix(filled_->layout_key(fill_, engine_.ring_));
    return both.value();
  }
  void finished(bool good) noexcept override {
    // Once this is marked done, the publisher may give its slot to another block at any moment.
    const int lane = lane_;
    Engine& engine = engine_;
    BlockWork::finished(good);
    engine.lane_finished(lane);
  }

  /// From now on it waits for other hosts.
  void run_away() noexcept {
    run_in(engine_.lanes_.for_returned());
    settled_.store(false, std::memory_order_relaxed);
  }
  bool is_settled() const noexcept { return settled_.load(std::memory_order_acquire); }
  bool takes(std::span<const PoolPort> ports) noexcept override { return has_positions(ports); }
  void settle(std::unique_ptr<PoolResult> result) noexcept override {
    bring(std::move(result));
    return_to_engine();
  }
  void settle(PoolLoss loss) noexcept override {
    bring(loss);
    return_to_engine();
  }

 private:
  void return_to_engine() noexcept {
    Engine& engine = engine_;
    settled_.store(true, std::memory_order_release);
    engine.dispatch();
  }
  void step_times(StepIndex first_step, std::span<const std::int64_t> ns) noexcept override {
    for (std::size_t s = 0; s < ns.size(); ++s) engine_.step_times_[first_step + s].record(ns[s]);
  }

  bool fills_ring() const noexcept override { return filled_ != nullptr; }
  void fill_ring(StreamView stream) noexcept override {
    if (filled_) filled_->enqueue(fill_, engine_.ring_, stream);
  }

  Engine& engine_;
  int lane_ = -1;
  DeviceRing* filled_ = nullptr;
  DeviceRing::Fill fill_;
  std::atomic<bool> settled_{false};
};

/// Blocks at other hosts are finished by the lane that they come back to.
class Engine::ReturnQueue final : public Queue {
 public:
  void submit(Work& /*work*/) noexcept override {}
  void wait(Work& work) noexcept override { work.wait_done(); }
  bool announces() const noexcept override { return true; }
};

Engine::Engine(Plan plan, EngineBackends backends, const EngineOptions& options,
               std::vector<std::unique_ptr<Route>> routes, Counters& counters, Succession succession)
    : plan_(std::move(plan)),
      backends_(std::move(backends)),
      ring_(plan_, options.ring_samples, backends_.shared()),
      fills_within_works_(options.wait == Wait::resident && !plan_.mixed()),
      carries_(plan_, *backends_.host, backends_.devices),
      ready_(BlockLedger::most_outstanding(plan_.block, plan_.window().future, ring_.samples())),
      open_(succession.before == nullptr),
      ledger_(BlockLedger::most_outstanding(plan_.block, plan_.window().future, ring_.samples())),
      slots_(
          options.slots, [](void* engine) noexcept { static_cast<Engine*>(engine)->dispatch(); }, this),
      step_times_(plan_.timed_steps()),
      publisher_(Delivery(plan_, std::move(routes), slots_, counters), Watching(plan_, counters, options.watched),
                 slots_, ledger_, options.wait, plan_.uses_devices()),
      lanes_(plan_, backends_, options) {
  const std::span<const std::size_t> ring_devices = plan_.ring_devices();
  const int devices = static_cast<int>(ring_devices.size());
  for (int d = 0; d < std::min(devices, options.lanes); ++d)
    device_rings_.emplace_back(plan_, ring_.samples(), *backends_.devices[ring_devices[static_cast<std::size_t>(d)]],
                               (options.lanes - d + devices - 1) / devices, fills_within_works_);
  for (int s = 0; s < options.slots; ++s) works_.push_back(std::make_unique<SlotWork>(*this));
  rehearse();
  if (backends_.pool) returns_ = std::make_unique<ReturnQueue>();
  publisher_.start(options.priority, [this, succession = std::move(succession)] { return succeed(succession); });
  if (backends_.pool) backends_.pool->add(*this);
}

Engine::~Engine() {
  shut_down();
}

void Engine::shut_down() {
  if (!open_) discard();
  close();
  join();
  if (backends_.pool) backends_.pool->remove(*this);
  lanes_.end();
  publisher_.delivery().close_outlets();
}

/// Lets device lanes prepare for the blocks of a stream without delays: there, each place in the ring always gets the
/// same lane and the same slot.
void Engine::rehearse() {
  if (!plan_.uses_devices() || plan_.sequential() || lanes() == 0) return;
  const Reach reach = plan_.window();
  // A device's ring is a whole number of blocks.
  const std::int64_t ring_blocks =
      plan_.ringed != kNoPort ? ceil_div(ring_.samples(), plan_.block) : ring_.samples() / plan_.block;
  const std::int64_t turns = std::lcm(std::lcm<std::int64_t>(slots(), lanes()), ring_blocks);
  const auto block_at = [&](std::int64_t b) {
    SampleBlock block;
    block.first = (turns + b) * plan_.block;
    block.length = plan_.block;
    block.past = reach.past;
    block.future = reach.future;
    return block;
  };
  const auto lane_of = [&](std::int64_t b) { return static_cast<int>(b % lanes()); };
  // Of a device's ring, those before have filled the window's past.
  for (std::int64_t b = -lanes(); b < 0; ++b)
    if (DeviceRing* const ring = device_ring(lane_of(turns + b))) ring->next(block_at(b), 0);
  for (std::int64_t b = 0; b < std::min(turns, kMostRehearsed); ++b) {
    SlotWork& work = *works_[static_cast<std::size_t>(b % slots())];
    set(work, block_at(b), lane_of(b));
    work.rehearse(lanes_.queue(lane_of(b)));
  }
  for (DeviceRing& ring : device_rings_) ring.restart();
  for (int l = 0; l < lanes(); ++l) resident_graphs_ += lanes_.resident(l);
}

void Engine::offer(SampleBlock block) noexcept {
  ledger_.offer(block);
  [[maybe_unused]] const bool pushed = ready_.try_push(block);
  assert(pushed && "offer with none left");
  dispatch();
}

/// Any thread may call; one at a time does the work, also for the others.
void Engine::dispatch() noexcept {
  if (dispatch_requests_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  std::uint32_t seen = 1;
  do start_ready();
  while (!dispatch_requests_.compare_exchange_strong(seen, 0, std::memory_order_acq_rel));
}

void Engine::start_ready() noexcept {
  if (!open_.load(std::memory_order_acquire)) return;
  start_returned();
  while (const SampleBlock* block = ready_.front())
    if (!start_here(*block) && !send_away(*block)) return;
}

/// False: no lane or no slot is free.
bool Engine::start_here(const SampleBlock& block) noexcept {
  if (lanes() == 0) return false;
  // Devices rehearsed a lane and a slot for each place, see `rehearse`; on the host, a warm lane is better.
  const std::int64_t turn = plan_.uses_devices() ? block.place() / plan_.block : 0;
  const int lane = lanes_.try_acquire(static_cast<int>(turn % lanes()));
  if (lane < 0) return false;
  const int slot = slots_.try_acquire(static_cast<int>(turn % slots()));
  if (slot < 0) {
    lanes_.release(lane);
    return false;
  }
  start(block, lane, slot);
  return true;
}

/// False: there is no pool, or it has no room now, or no slot is free.
bool Engine::send_away(const SampleBlock& block) noexcept {
  if (!backends_.pool || !backends_.pool->has_room()) return false;
  const int slot = slots_.try_acquire(0);
  if (slot < 0) return false;
  SlotWork& work = *works_[static_cast<std::size_t>(slot)];
  const Plan& plan = current_.get();
  const SourceWindow window = window_for(block);
  work.run_away();
  work.use(plan);
  work.set_away(block, window, lanes_.memory(lanes_.for_returned()));
  SampleBlock taken;
  ready_.try_pop(taken);
  away_.try_push(slot);
  publisher_.push({&work, returns_.get(), slot, true});
  if (publisher_.is_interrupted()) {
    work.settle(PoolLoss::stopped);
    return true;
  }
  const PlanPort& source = plan.ports.front();
  backends_.pool->send({&work.block(), window.data, window.pitch, source.shape.row_count(),
                        window.span.length() * source.shape.item_bytes(), plan.order.get()},
                       work);
  return true;
}

/// Later blocks wait for earlier ones: they are published in order, and so do states pass from block to block.
void Engine::start_returned() noexcept {
  while (const int* slot = away_.front()) {
    SlotWork& work = *works_[static_cast<std::size_t>(*slot)];
    if (!work.is_settled() || is_returning_.exchange(true, std::memory_order_acq_rel)) return;
    int taken = 0;
    away_.try_pop(taken);
    lanes_.queue(lanes_.for_returned()).submit(work);
  }
}

void Engine::start(const SampleBlock& block, int lane, int slot) noexcept {
  SlotWork& work = *works_[static_cast<std::size_t>(slot)];
  Queue& queue = lanes_.queue(lane);
  set(work, block, lane);

  SampleBlock taken;
  ready_.try_pop(taken);
  if (queue.announces()) {
    publisher_.push({&work, &queue, slot});
    if (publisher_.is_interrupted()) return work.finished(true);
    fill_ring(block, lane);
    queue.submit(work);
  } else {
    // The publisher waits for the device as soon as it sees the block.
    fill_ring(block, lane);
    queue.submit(work);
    publisher_.push({&work, &queue, slot});
    publisher_.notify();
  }
}

SourceWindow Engine::window_for(const SampleBlock& block) const noexcept {
  return {ring_.at(0, block.place() - block.past), ring_.pitch(), window_of(block)};
}

void Engine::set(SlotWork& work, const SampleBlock& block, int lane) noexcept {
  const SourceWindow window = window_for(block);
  DeviceRing* const ring = device_ring(lane);
  work.run_in(lane);
  work.use(current_.get());
  work.set(block, {&window, 1}, lanes_.memory(lane), ring ? ring->window(block) : SourceWindow{});
  if (ring && fills_within_works_) work.contain(*ring, ring->next(block, lane_on_device(lane)));
}

/// Called in the order of the blocks.
void Engine::fill_ring(const SampleBlock& block, int lane) noexcept {
  DeviceRing* const ring = device_ring(lane);
  if (!ring || fills_within_works_) return;
  const DeviceRing::Fill fill = ring->next(block, lane_on_device(lane));
  Queue& queue = lanes_.queue(lane, plan_.ports[plan_.ringed].side);
  if (const StreamView stream = queue.begin(); stream.handle) ring->enqueue(fill, ring_, stream);
}

DeviceRing* Engine::device_ring(int lane) noexcept {
  if (device_rings_.empty()) return nullptr;
  return &device_rings_[lanes_.memory(lane).on(plan_.ports[plan_.ringed].side).turn];
}

void Engine::lane_finished(int lane) noexcept {
  if (lane == lanes_.for_returned())
    is_returning_.store(false, std::memory_order_release);
  else
    lanes_.release(lane);
  publisher_.notify();
  dispatch();
}

void Engine::replace_plan(std::unique_ptr<Plan> plan) {
  current_.replace(std::move(plan), ledger_.offers(), ledger_.sends());
}

/// Waits until the previous engine has published everything, and continues from there.
bool Engine::succeed(const Succession& succession) {
  Engine* before = succession.before;
  if (!before) return true;
  while (!before->publisher_.is_over()) {
    if (publisher_.is_discarded()) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  publisher_.delivery().succeed(before->publisher_.delivery());
  for (const auto& [step, step_before] : succession.carries) carries_.adopt(step, before->carries_, step_before);
  before->succeeded_.store(true, std::memory_order_release);
  open_.store(true, std::memory_order_release);
  dispatch();
  return true;
}

bool Engine::relieved() const noexcept {
  return succeeded_.load(std::memory_order_acquire) && publisher_.has_ended() && slots_.all_back();
}

void Engine::interrupt() noexcept {
  publisher_.interrupt();
  if (backends_.pool) backends_.pool->interrupt();
  for (const auto& route : routes()) route->outlet->interrupt();
}

Engine::Slowest Engine::slowest_step() const {
  BlockWork::InStep oldest;
  for (const auto& work : works_)
    if (const auto in = work->in_step(); in.began_ns && (!oldest.began_ns || in.began_ns < oldest.began_ns))
      oldest = in;
  if (!oldest.began_ns) return {};
  return {plan_.steps[oldest.step].name, steady_ns() - oldest.began_ns};
}

std::string Engine::backend_failure() const {
  for (const auto& device : backends_.devices)
    if (std::string why = device->failure(); !why.empty()) return why;
  return backends_.host->failure();
}

}  // namespace iqd
