// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "pipeline/cpu_backend.hpp"

namespace iqd {
namespace {

/// A captured graph takes 0.1 MB of a device and 0.06 ms to make (H200); what was not rehearsed is launched step by
/// step.
constexpr std::int64_t kMostRehearsed = 1024;

/// Bytes of a ring row: whole pages and, where that costs little, whole blocks, so that windows come back to the same
/// addresses.
std::size_t ring_row_bytes(const Plan& plan, std::size_t sample_bytes, std::int64_t samples) {
  const std::size_t page = MirrorRing::page_bytes();
  const std::size_t wanted = static_cast<std::size_t>(samples) * sample_bytes;
  const std::size_t period = std::lcm(page, static_cast<std::size_t>(plan.block) * sample_bytes);
  const std::size_t repeating = (wanted + period - 1) / period * period;
  return repeating <= 2 * wanted + 16 * page ? repeating : (wanted + page - 1) / page * page;
}

/// An entry's name, or its number where it has none.
std::string label_of(const Dim& dim, std::int64_t entry) {
  const auto label = static_cast<std::size_t>(entry);
  return label < dim.labels.size() ? dim.labels[label] : std::to_string(entry);
}

}  // namespace

/// The work of one result slot, and the lane that it runs in.
class Engine::SlotWork final : public BlockWork {
 public:
  SlotWork(Engine& engine, int slot)
      : BlockWork(engine.plan_, engine.carries_, *engine.backends_.host, engine.backends_.shared()),
        engine_(engine),
        slot_(slot) {}
  void finished(bool good) noexcept override {
    // Once marked done, the publisher may give this slot to another block at any moment.
    const int lane = lane_;
    Engine& engine = engine_;
    BlockWork::finished(good);
    engine.lane_finished(lane);
  }
  int slot() const noexcept { return slot_; }

 private:
  void step_times(std::size_t first_step, std::span<const std::int64_t> ns) noexcept override {
    for (std::size_t s = 0; s < ns.size(); ++s) engine_.step_times_[first_step + s].record(ns[s]);
  }

  friend class Engine;
  Engine& engine_;
  int slot_;
  int lane_ = -1;
};

Engine::Engine(Plan plan, EngineBackends backends, const EngineOptions& options,
               std::vector<std::unique_ptr<Route>> routes, Counters& counters, Succession succession)
    : plan_(std::move(plan)),
      backends_(std::move(backends)),
      sample_bytes_(size_of(plan_.ports.front().shape.element)),
      counters_(counters),
      ring_(static_cast<std::size_t>(plan_.ports.front().shape.row_count()),
            ring_row_bytes(plan_, sample_bytes_, options.ring_samples)),
      shared_ring_(backends_.shared(), ring_.mapped()),
      routes_(std::move(routes)),
      carries_(plan_, *backends_.host, backends_.shared()),
      window_begin_(kMostOutstanding),
      open_(succession.before == nullptr),
      free_lanes_(options.lanes),
      slots_(options.slots),
      step_times_(plan_.timed_steps()),
      wait_(options.wait),
      holds_(static_cast<std::size_t>(options.slots)) {
  std::size_t most_facts = 0;
  for (const PlanOutput& o : plan_.outputs) most_facts = std::max(most_facts, o.facts.size());
  facts_.resize(most_facts);
  for (const int port : plan_.tallies) tallies_.push_back(make_tally(port));
  for (const int port : plan_.levels) levels_.push_back(make_levels(port));
  for (int s = 0; s < options.slots; ++s) works_.push_back(std::make_unique<SlotWork>(*this, s));
  for (int l = 0; l < options.lanes; ++l) lanes_.push_back(make_lane(l, options));
  rehearse();
  publisher_ = std::thread([this, options, succession = std::move(succession)] {
    prepare_thread({"iqd-publish", options.priority, {}});
    if (succeed(succession)) publish_all();
    ended_.store(true, std::memory_order_release);
  });
}

Engine::Numbers<Counter> Engine::make_tally(int port) {
  const PlanPort& p = plan_.ports[static_cast<std::size_t>(port)];
  const PlanStep& step = plan_.steps[static_cast<std::size_t>(p.maker)];
  const auto at = std::find(step.out.begin(), step.out.end(), port) - step.out.begin();
  Numbers<Counter> tally{port, {}};
  for (const std::string_view event : step.entry->outputs[static_cast<std::size_t>(at)].tally) {
    if (p.shape.item.size() < 2) {
      tally.metrics.push_back(&counters_.tallies.at({step.name, std::string(event)}));
      continue;
    }
    const Dim& dim = p.shape.item.back();
    for (std::int64_t k = 0; k < dim.extent; ++k)
      tally.metrics.push_back(&counters_.tallies.at({step.name, std::string(event), dim.name, label_of(dim, k)}));
  }
  assert(std::ssize(tally.metrics) == p.shape.item_size() && p.shape.element == Element::i64);
  return tally;
}

Engine::Numbers<Gauge> Engine::make_levels(int port) {
  const PlanPort& p = plan_.ports[static_cast<std::size_t>(port)];
  const std::string& stage = plan_.steps[static_cast<std::size_t>(p.maker)].name;
  const Dim& dim = p.shape.item.back();
  Numbers<Gauge> levels{port, {}};
  for (std::int64_t row = 0; row < p.shape.row_count(); ++row)
    for (std::int64_t k = 0; k < dim.extent; ++k) {
      StageNumber number{stage, label_of(dim, k)};
      if (!p.shape.rows.empty())
        number.dimension = p.shape.rows.back().name, number.entry = label_of(p.shape.rows.back(), row);
      levels.metrics.push_back(&counters_.levels.at(number));
    }
  assert(p.shape.item.size() == 1 && p.shape.rows.size() < 2 && p.shape.element == Element::f32);
  return levels;
}

void Engine::count_events(const SlotWork& work) noexcept {
  for (const auto& [port, counters] : tallies_) {
    const auto* counted = reinterpret_cast<const std::int64_t*>(work.fact(port));
    for (std::size_t i = 0; i < counters.size(); ++i)
      if (counted[i] > 0) counters[i]->add(static_cast<std::uint64_t>(counted[i]));
  }
}

void Engine::show_levels(const SlotWork& work) noexcept {
  for (const auto& [port, gauges] : levels_) {
    if (work.count(port) == 0) continue;
    const auto* measured = reinterpret_cast<const float*>(work.fact(port));
    for (std::size_t i = 0; i < gauges.size(); ++i) gauges[i]->set(static_cast<double>(measured[i]));
  }
}

Engine::~Engine() {
  let_go();
}

void Engine::let_go() {
  if (!open_) discard();
  close();
  join();
  lanes_.clear();
  routes_.clear();
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
  for (const auto& route : routes_) {
    if (!route->before) continue;
    route->owed = route->before->owed;
    route->seq = route->before->seq;
    route->gap = route->before->gap;
    route->tuned = route->before->tuned;
  }
  for (const auto& [step, step_before] : succession.carries) carries_.adopt(step, before->carries_, step_before);
  lost_here_ = before->lost_here_;
  before->succeeded_.store(true, std::memory_order_release);
  open_.store(true, std::memory_order_release);
  dispatch();
  return true;
}

bool Engine::relieved() const noexcept {
  return succeeded_.load(std::memory_order_acquire) && ended_.load(std::memory_order_acquire) &&
         slots_.available() == slots_.slots() && returning_.load(std::memory_order_acquire) == 0;
}

SampleIndex Engine::tail(SampleIndex otherwise) const noexcept {
  const std::uint64_t done = done_.load(std::memory_order_acquire);
  if (done == offered_.load(std::memory_order_relaxed)) return otherwise;
  return std::min(otherwise, window_begin_[done % kMostOutstanding]);
}

void Engine::offer(SampleBlock block) noexcept {
  block.seq = offered_.load(std::memory_order_relaxed);
  window_begin_[block.seq % kMostOutstanding] = block.first - block.past;
  if (block.seq == done_.load(std::memory_order_relaxed)) moved_ns_.store(block.received_ns, std::memory_order_relaxed);
  offered_.store(block.seq + 1, std::memory_order_release);
  [[maybe_unused]] const bool pushed = ready_.try_push(block);
  assert(pushed && "offer with none left");
  dispatch();
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
  for (const auto& route : routes_) route->outlet->interrupt();
}

/// Any thread may ask; one at a time carries out, for the others too.
void Engine::dispatch() noexcept {
  if (dispatch_requests_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  std::uint32_t seen = 1;
  do start_ready();
  while (!dispatch_requests_.compare_exchange_strong(seen, 0, std::memory_order_acq_rel));
}

void Engine::start_ready() noexcept {
  if (!open_.load(std::memory_order_acquire)) return;
  while (const SampleBlock* block = ready_.front()) {
    // Devices know the block by its place, see `rehearse`; on the host a lane that is still warm is the better one.
    const std::int64_t turn = plan_.uses(Side::device) ? block->first / plan_.block : 0;
    const int lane = free_lanes_.try_acquire(static_cast<int>(turn % free_lanes_.slots()));
    if (lane < 0) return;
    const int slot = slots_.try_acquire(static_cast<int>(turn % slots_.slots()));
    if (slot < 0) {
      free_lanes_.release(lane);
      return;
    }
    start(*block, lane, slot);
  }
}

void Engine::set(SlotWork& work, const SampleBlock& block, int lane) noexcept {
  SourceWindow window;
  window.span = {block.first - block.past, block.end() + block.future, block.first, block.end()};
  window.data = ring_at(0, window.span.first);
  window.pitch = static_cast<std::int64_t>(ring_.row_pitch());
  work.lane_ = lane;
  work.use(*at_work_.load(std::memory_order_acquire));
  work.set(block, {&window, 1}, lanes_[static_cast<std::size_t>(lane)].memory);
}

void Engine::start(const SampleBlock& block, int lane, int slot) noexcept {
  SlotWork& work = *works_[static_cast<std::size_t>(slot)];
  Lane& at = lanes_[static_cast<std::size_t>(lane)];
  set(work, block, lane);
  holds_[static_cast<std::size_t>(slot)].store(1, std::memory_order_relaxed);

  SampleBlock taken;
  ready_.try_pop(taken);
  if (at.queue->announces()) {
    in_flight_.try_push({&work, at.queue.get()});
    at.queue->submit(work);
  } else {
    // Who sees it there waits for the device at once.
    at.queue->submit(work);
    in_flight_.try_push({&work, at.queue.get()});
    results_.ring();
  }
}

void Engine::lane_finished(int lane) noexcept {
  free_lanes_.release(lane);
  results_.ring();
  dispatch();
}

void Engine::give_back(int slot) noexcept {
  returning_.fetch_add(1, std::memory_order_acq_rel);
  if (holds_[static_cast<std::size_t>(slot)].fetch_sub(1, std::memory_order_acq_rel) == 1) {
    slots_.release(slot);
    dispatch();
  }
  returning_.fetch_sub(1, std::memory_order_acq_rel);  // the last touch
}

void Engine::publish_all() {
  bool failed = false;
  for (;;) {
    InFlight* next = nullptr;
    const auto ready = [&] {
      next = in_flight_.front();
      if (next) note_waiting();
      if (next) return !next->queue->announces() || next->work->done();
      return closed_.load(std::memory_order_acquire) && done_.load() == offered_.load(std::memory_order_acquire);
    };
    if (wait_ == Wait::spin)
      spin_until(ready);
    else
      results_.wait_until(ready);
    if (!next) break;
    InFlight taken;
    in_flight_.try_pop(taken);
    taken.queue->wait(*taken.work);
    wait_began_ns_.store(0, std::memory_order_relaxed);
    // The ring is free before anything is sent: a slow reader costs slots, not samples.
    moved_ns_.store(steady_ns(), std::memory_order_relaxed);
    done_.fetch_add(1, std::memory_order_acq_rel);
    room_.ring();
    failed = failed || !taken.work->good();
    if (failed)
      count_failed(*taken.work);
    else
      publish(*taken.work, taken.work->slot());
    sent_.fetch_add(1, std::memory_order_release);
    give_back(taken.work->slot());
  }
  over_.store(true, std::memory_order_release);
  for (const auto& route : routes_)
    if (!discarded_ && !(has_successor_ && route->goes_on)) route->outlet->finish();
}

void Engine::publish(const SlotWork& work, int slot) {
  const SampleBlock& block = work.block();
  for (std::size_t o = 0; o < plan_.outputs.size(); ++o) close_rows(work, o);
  bool all = true;
  for (const auto& route : routes_) all = send(*route, work, slot) && all;

  const std::int64_t latency = steady_ns() - block.received_ns;
  counters_.latency.record(latency);
  const double rate = plan_.ports.front().shape.source_rate_hz;
  if (rate > 0 && static_cast<double>(latency) * rate > static_cast<double>(block.length) * 1e9 &&
      block.length == plan_.block)
    counters_.deadline_misses.add();
  const auto samples = static_cast<std::uint64_t>(block.length);
  if (all) {
    counters_.published.add(samples);
  } else {
    counters_.drops(Drop::refused).add(samples);
    lost_here_ += samples;
  }
  count_events(work);
  show_levels(work);
  counters_.blocks.add();
}

/// What a device did not finish is lost, and so is what comes after: nothing more is published.
void Engine::count_failed(const SlotWork& work) noexcept {
  counters_.drops(Drop::device).add(static_cast<std::uint64_t>(work.block().length));
}

/// Rows that were not filled up are moved together, so that the payload is one piece.
void Engine::close_rows(const SlotWork& work, std::size_t index) noexcept {
  const PlanOutput& output = plan_.outputs[index];
  const BlockWork::Output result = work.output(index);
  const PlanPort& port = plan_.ports[static_cast<std::size_t>(output.port)];
  const std::int64_t extent = output.format.varying < 0 ? 1 : result.extent;
  const auto row_bytes = static_cast<std::size_t>(extent * port.shape.item_bytes());
  const auto pitch = static_cast<std::size_t>(result.pitch);
  if (pitch == row_bytes) return;
  auto* data = const_cast<std::byte*>(result.data);
  const auto rows = static_cast<std::size_t>(port.shape.row_count());
  for (std::size_t r = 1; r < rows; ++r) std::memmove(data + r * row_bytes, data + r * pitch, row_bytes);
}

bool Engine::send(Route& route, const SlotWork& work, int slot) {
  const PlanOutput& output = plan_.outputs[route.output];
  const BlockWork::Output result = work.output(route.output);
  const SampleBlock& block = work.block();
  route.gap += block.gap;  // shown by the next message, whichever block that is of
  if (block.tuned >= 0) route.tuned = block.tuned;
  if (result.extent == 0 && !route.send_empty) return true;
  const PlanPort& port = plan_.ports[static_cast<std::size_t>(output.port)];

  const std::int64_t extent = output.format.varying < 0 ? 1 : result.extent;
  const auto bytes = static_cast<std::size_t>(extent * port.shape.item_bytes() * port.shape.row_count());
  for (std::size_t f = 0; f < output.facts.size(); ++f) {
    const PlanOutput::Fact& fact = output.facts[f];
    facts_[f] = {fact.key, plan_.ports[static_cast<std::size_t>(fact.port)].shape.element, work.fact(fact.port),
                 fact.rate.num, fact.rate.den};
  }
  Message m;
  m.format = &output.format;
  m.seq = route.seq++;
  m.sample = port.shape.axis == Axis::stream ? port.rate.sample_of(result.first) : block.first;
  m.time_ns = block.time_ns;
  if (output.format.rate_hz > 0)
    m.time_ns += static_cast<std::int64_t>(static_cast<double>(m.sample - block.first) * 1e9 / output.format.rate_hz);
  m.time = block.time;
  m.extent = extent;
  m.gap = route.gap;
  m.dropped = block.dropped + static_cast<std::int64_t>(lost_here_);
  m.halo = std::min(block.past, plan_.reach().past);
  m.tuned = route.tuned;
  // A port that has no frequency gets none.
  if (output.format.frequency_hz != 0 || plan_.ports.front().shape.frequency_hz == 0) m.retuned_hz = block.retuned_hz;
  m.calibrated = block.calibrated && block.was_calibrated;
  m.payload = {result.data, bytes};
  m.facts = {facts_.data(), output.facts.size()};

  holds_[static_cast<std::size_t>(slot)].fetch_add(1, std::memory_order_relaxed);
  Lease lease([](void* engine, int s) noexcept { static_cast<Engine*>(engine)->give_back(s); }, this, slot);
  const bool scarce = slots_.available() * 4 < slots_.slots();
  const bool sent = route.outlet->send(m, std::move(lease), scarce);
  route.gap = sent ? 0 : route.gap + block.length;
  if (sent) route.tuned = -1;
  // What was lost after all had been counted as published: another is counted in its stead.
  route.owed += route.outlet->lost_after_all();
  if (!sent || route.owed > 0) {
    route.owed -= sent ? 1 : 0;
    route.counts->refused.add();
    return false;
  }
  route.counts->messages.add();
  route.counts->bytes.add(m.payload.size());
  return true;
}

}  // namespace iqd
