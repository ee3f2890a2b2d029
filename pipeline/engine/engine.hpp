// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/bell.hpp"
#include "base/mirror_ring.hpp"
#include "base/slot_mask.hpp"
#include "base/spsc_queue.hpp"
#include "pipeline/engine/block_work.hpp"
#include "pipeline/engine/delivery.hpp"
#include "pipeline/engine/result_slots.hpp"
#include "pipeline/plan/plan.hpp"

namespace iqd {

struct EngineOptions {
  int lanes = 1;
  int slots = 8;
  std::int64_t ring_samples = 0;  // at least; rounded up to what the ring needs
  int priority = 0;
  std::vector<int> cpus{};
  Wait wait = Wait::block;  // of the publisher, and of whatever waits for a device
  int time_every = 0;       // of so many blocks the steps of one are timed; 0: never
};

/// Where a plan runs: on the host, and on each of these devices, which share the blocks.
struct EngineBackends {
  std::shared_ptr<Backend> host;
  std::vector<std::shared_ptr<Backend>> devices{};

  /// Whose memory for results everybody can use.
  Backend& shared() const noexcept { return devices.empty() ? *host : *devices.front(); }
};

class Engine;

/// An engine that another one takes the place of: the new one begins when everything that was offered to this one has
/// been published.
struct Succession {
  Engine* before = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> carries{};  // step here, step before: state that is kept
};

/// Takes blocks of the ring through lanes to outlets, in order. Blocks may be offered by one thread; a second thread,
/// the engine's own, publishes. Nothing here allocates, locks or logs while samples flow.
///
///   offer ─▶ ready ─▶ free lane + free slot ─▶ lane's queue ─▶ in flight ─▶ publish ─▶ outlets
///               ▲──── a lane or a slot comes free ────┘            │
///        ring space given back ◀───────────────────────────────────┘
class Engine {
 public:
  Engine(Plan plan, EngineBackends backends, const EngineOptions& options, std::vector<std::unique_ptr<Route>> routes,
         Counters& counters, Succession succession = {});
  /// Everything must have been published; see `close`. Of an engine with a successor: when `relieved`.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // For the thread that fills the ring. Places in it are counted without end; what is missing takes none, so that a gap
  // costs no room.
  std::byte* ring_at(std::size_t channel, SampleIndex place) const noexcept {
    return ring_.at(channel, static_cast<std::size_t>(place) * sample_bytes_);
  }
  std::int64_t ring_samples() const noexcept { return static_cast<std::int64_t>(ring_.row_bytes() / sample_bytes_); }
  /// From this place on so many samples lie before the ring's end.
  std::int64_t before_end(SampleIndex place) const noexcept { return ring_samples() - place % ring_samples(); }
  /// The place of the first sample that a block still needs, or `otherwise` where none is on its way.
  SampleIndex tail(SampleIndex otherwise) const noexcept;
  std::int64_t offers_left() const noexcept {
    return static_cast<std::int64_t>(kMostOutstanding - (offered_.load() - done_.load(std::memory_order_acquire)));
  }
  /// The block's samples, past and future lie in the ring. Its `seq` is given here.
  void offer(SampleBlock block) noexcept;
  /// From the next block on: computes as this plan of the same layout says. For plans that use no device.
  void retune(std::unique_ptr<Plan> plan);
  /// Rings whenever `tail` or `offers_left` may have changed.
  Bell& room() noexcept { return room_; }
  bool slots_are_out() const noexcept { return slots_.available() == 0; }
  /// No block comes any more; the rest is published.
  void close() noexcept;
  /// The same, since the next ones go to a successor, and with them the routes that go on there.
  void close_for_successor() noexcept;
  /// It does not take the place of the engine before after all.
  void discard() noexcept;

  /// Returns when everything offered has been published and the outlets have let it go.
  void join();
  /// Whether a successor has taken over, outlets that it does not go on with have ended, and readers have let go of
  /// everything.
  bool relieved() const noexcept;
  /// Ends, and closes its outlets. Engines that share sockets do so before the first of them is destroyed: a socket
  /// that closes gives back to each of them what readers still held.
  void let_go();
  /// Outlets that wait for a reader give up.
  void interrupt() noexcept;

  const Plan& plan() const noexcept { return plan_; }
  const EngineBackends& backends() const noexcept { return backends_; }
  std::span<const std::unique_ptr<Route>> routes() const noexcept { return delivery_.routes(); }
  int lanes_busy() const noexcept { return free_lanes_.slots() - free_lanes_.available(); }
  int lanes() const noexcept { return free_lanes_.slots(); }
  int slots_free() const noexcept { return slots_.available(); }
  int slots() const noexcept { return slots_.slots(); }
  /// Why a device can do no more; empty while all can.
  std::string backend_failure() const;
  /// Nanoseconds that a device's block at the head of the line has been waited for so far.
  std::int64_t waiting_ns() const noexcept;
  /// Nanoseconds since a block was last finished, while there are any.
  std::int64_t unfinished_ns() const noexcept;
  /// The step on the host that has been at one block for longest.
  struct Slowest {
    std::string step;
    std::int64_t ns = 0;
  };
  Slowest slowest_step() const;
  /// How long each of the plan's steps takes, and the copying of results behind them, of the blocks that were timed.
  std::span<const Histogram> step_times() const noexcept { return step_times_; }

 private:
  static constexpr std::uint64_t kMostOutstanding = 256;

  class SlotWork;
  struct Lane {
    std::array<Buffer, kSides> arenas;
    std::unique_ptr<Queue> device;  // of a mixed plan: what its own queue, a thread, waits for
    std::unique_ptr<Queue> queue;
    LaneMemory memory;
  };
  struct InFlight {
    SlotWork* work = nullptr;
    Queue* queue = nullptr;
  };

  /// Memory that a backend reads in place, as long as this lives.
  class Shared {
   public:
    Shared(Backend& backend, std::span<std::byte> memory) : backend_(backend), memory_(memory) {
      backend_.share(memory_);
    }
    ~Shared() { backend_.unshare(memory_); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

   private:
    Backend& backend_;
    std::span<std::byte> memory_;
  };

  Lane make_lane(int index, const EngineOptions& options);
  void rehearse();
  void set(SlotWork& work, const SampleBlock& block, int lane) noexcept;
  void dispatch() noexcept;
  void start_ready() noexcept;
  void start(const SampleBlock& block, int lane, int slot) noexcept;
  void lane_finished(int lane) noexcept;
  bool succeed(const Succession& succession);
  void publish_all();
  void note_waiting() noexcept;

  Plan plan_;
  EngineBackends backends_;
  std::size_t sample_bytes_;
  MirrorRing ring_;
  Shared shared_ring_;
  Carries carries_;

  struct Replaced {
    std::unique_ptr<Plan> plan;
    std::uint64_t needed_until;  // blocks sent
  };
  std::atomic<const Plan*> at_work_{&plan_};
  std::unique_ptr<Plan> retuned_;
  std::vector<Replaced> replaced_;

  SpscQueue<SampleBlock> ready_{kMostOutstanding};
  SpscQueue<InFlight> in_flight_{SlotMask::kMost};
  std::vector<SampleIndex> window_begin_;  // its place, by seq, for `tail`
  std::atomic<std::uint64_t> offered_{0};
  std::atomic<std::uint64_t> done_{0};  // computed: their samples are not needed any more
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<bool> closed_{false};
  std::atomic<bool> open_{true};  // blocks may be started
  std::atomic<bool> discarded_{false};
  std::atomic<bool> has_successor_{false};
  std::atomic<bool> over_{false};       // everything has been published
  std::atomic<bool> ended_{false};      // the publisher has nothing more to do
  std::atomic<bool> succeeded_{false};  // whoever took over needs nothing more of this
  std::atomic<std::uint32_t> dispatch_requests_{0};

  SlotMask free_lanes_;
  ResultSlots slots_;
  Delivery delivery_;
  std::vector<Histogram> step_times_;
  std::atomic<std::int64_t> wait_began_ns_{0};
  std::atomic<std::int64_t> moved_ns_{0};
  Wait wait_;
  std::vector<std::unique_ptr<SlotWork>> works_;
  Bell room_;
  Bell results_;
  std::vector<Lane> lanes_;  // after everything that their threads touch
  std::thread publisher_;
};

}  // namespace iqd
