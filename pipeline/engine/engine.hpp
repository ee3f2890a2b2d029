// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/spsc_queue.hpp"
#include "pipeline/engine/block_ledger.hpp"
#include "pipeline/engine/block_work.hpp"
#include "pipeline/engine/current_plan.hpp"
#include "pipeline/engine/delivery.hpp"
#include "pipeline/engine/device_ring.hpp"
#include "pipeline/engine/engine_options.hpp"
#include "pipeline/engine/lanes.hpp"
#include "pipeline/engine/publisher.hpp"
#include "pipeline/engine/result_slots.hpp"
#include "pipeline/engine/sample_ring.hpp"
#include "pipeline/plan/plan.hpp"

namespace iqd {

class Engine;

/// An engine that replaces another. It begins when everything that was offered to the previous one has been published.
struct Succession {
  Engine* before = nullptr;
  std::vector<std::pair<StepIndex, StepIndex>> carries{};  // step here, step there: state that is kept
};

/// Runs blocks of the ring through lanes and sends the results to outlets, in order. One thread offers blocks; a second
/// one, the publisher's, sends results. Nothing here allocates, locks or logs while samples flow.
///
///   offer ─▶ ready ─▶ free lane + free slot ─▶ lane's queue ─▶ in flight ─▶ publisher ─▶ outlets
///               ▲──── a lane or a slot comes free ────┘            │
///        ring space given back ◀───────────────────────────────────┘
///
/// With a pool, blocks for which no lane is free go to other hosts. When they come back, they run the other steps in a
/// lane of their own, in their order.
class Engine final : private PoolWaiter {
 public:
  Engine(Plan plan, EngineBackends backends, const EngineOptions& options, std::vector<std::unique_ptr<Route>> routes,
         Counters& counters, Succession succession = {});
  /// Everything must have been published; see `close`. An engine with a successor must be `relieved`.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // For the thread that fills the ring.
  const SampleRing& ring() const noexcept { return ring_; }
  /// See BlockLedger.
  SampleIndex tail(SampleIndex idle) const noexcept { return ledger_.tail(idle); }
  std::int64_t offers_left() const noexcept { return ledger_.offers_left(); }
  /// The block's samples, past and future lie in the ring. It gets its `seq` here.
  void offer(SampleBlock block) noexcept;
  /// Uses this plan, which has the same layout, from the next block on. Only for plans that use no device.
  void replace_plan(std::unique_ptr<Plan> plan);
  /// Rings whenever `tail` or `offers_left` may have changed.
  Bell& room() noexcept { return ledger_.room(); }
  bool slots_are_out() const noexcept { return slots_.available() == 0; }
  /// No more blocks will be offered; the rest is still published.
  void close() noexcept { publisher_.close(); }
  /// The same; the next blocks go to a successor, with the routes that continue there.
  void close_for_successor() noexcept { publisher_.close_for_successor(); }
  /// It will not replace the previous engine after all.
  void discard() noexcept { publisher_.discard(); }

  /// Returns when everything offered has been published and the outlets have released it.
  void join() { publisher_.join(); }
  /// Whether a successor has taken over, outlets that it does not continue with have ended, and subscribers have
  /// released everything.
  bool relieved() const noexcept;
  /// Ends, and closes its outlets. Engines that share sockets all do so before the first of them is destroyed: a
  /// closing socket gives back to each engine what subscribers still held.
  void shut_down();
  /// Outlets that wait for a subscriber stop waiting; what they have not got is dropped, and not computed on the host.
  void interrupt() noexcept;

  const Plan& plan() const noexcept { return plan_; }
  /// Where the ports lie in the spectrum, after live changes. Any thread.
  std::vector<PortPlace> places() const { return current_.places(); }
  const EngineBackends& backends() const noexcept { return backends_; }
  std::span<const std::unique_ptr<Route>> routes() const noexcept { return publisher_.delivery().routes(); }
  /// What the live page may look at.
  const std::vector<WatchedPort>& watched() const noexcept { return publisher_.watching().ports(); }
  int lanes_busy() const noexcept { return lanes_.busy(); }
  int lanes() const noexcept { return lanes_.count(); }
  int slots_free() const noexcept { return slots_.available(); }
  int slots() const noexcept { return slots_.slots(); }
  /// How many graphs of its lanes a device launches itself.
  std::size_t resident_graphs() const noexcept { return resident_graphs_; }
  /// Why a device has failed; empty if none has.
  std::string backend_failure() const;
  /// How long the publisher has waited for the oldest block, if a device runs it.
  std::int64_t waiting_ns() const noexcept { return publisher_.waiting_ns(); }
  /// Nanoseconds since a block was last finished; 0 if none is outstanding.
  std::int64_t unfinished_ns() const noexcept { return ledger_.unfinished_ns(); }
  /// Whether the oldest block is at another host, and no block runs that came back.
  bool waits_for_others() const noexcept {
    return publisher_.waits_for_others() && !is_returning_.load(std::memory_order_acquire);
  }
  /// The host step that has run longest on its block.
  struct Slowest {
    std::string step;
    std::int64_t ns = 0;
  };
  Slowest slowest_step() const;
  /// How long each step of the plan takes, and then the copying of results, for the blocks that were timed.
  std::span<const Histogram> step_times() const noexcept { return step_times_; }

 private:
  class SlotWork;
  void rehearse();
  bool succeed(const Succession& succession);
  void dispatch() noexcept;
  void start_ready() noexcept;
  bool start_here(const SampleBlock& block) noexcept;
  bool send_away(const SampleBlock& block) noexcept;
  void start_returned() noexcept;
  void may_have_room() noexcept override { dispatch(); }
  SourceWindow window_for(const SampleBlock& block) const noexcept;
  void start(const SampleBlock& block, int lane, int slot) noexcept;
  void set(SlotWork& work, const SampleBlock& block, int lane) noexcept;
  void fill_ring(const SampleBlock& block, int lane) noexcept;
  /// Of the lane's device; null if it keeps no samples.
  DeviceRing* device_ring(int lane) noexcept;
  /// Its number among the lanes of its device, if that keeps samples.
  int lane_on_device(int lane) const noexcept { return lane / static_cast<int>(device_rings_.size()); }
  void lane_finished(int lane) noexcept;

  Plan plan_;
  EngineBackends backends_;
  SampleRing ring_;
  std::vector<DeviceRing> device_rings_;  // one for each device of their group, if the plan has a port for them
  bool fills_within_works_;               // not on their streams before them
  Carries carries_;
  CurrentPlan current_{plan_};
  SpscQueue<SampleBlock> ready_;
  std::atomic<bool> open_;              // blocks may be started
  std::atomic<bool> succeeded_{false};  // the successor no longer needs this one
  std::atomic<std::uint32_t> dispatch_requests_{0};
  BlockLedger ledger_;
  ResultSlots slots_;
  std::vector<Histogram> step_times_;
  std::vector<std::unique_ptr<SlotWork>> works_;
  class ReturnQueue;
  std::unique_ptr<ReturnQueue> returns_;   // what the publisher waits for, of blocks at other hosts
  SpscQueue<int> away_{SlotMask::kMost};   // the slots of these blocks, in order
  std::atomic<bool> is_returning_{false};  // one of them runs in its lane
  Publisher publisher_;
  std::size_t resident_graphs_ = 0;
  Lanes lanes_;  // after everything that their threads touch
};

}  // namespace iqd
