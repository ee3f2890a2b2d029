// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/spec.hpp"

namespace iqd {

/// What a pipeline is doing: one consistent look. Samples are per channel, and
/// received = published + dropped + in_flight.
struct PipelineStatus {
  std::string name;
  SourceState state = SourceState::closed;
  std::string backend;
  double rate_hz = 0;
  std::uint64_t received = 0;
  std::uint64_t published = 0;
  std::array<std::uint64_t, kDropNames.size()> dropped{};
  std::uint64_t in_flight = 0;
  std::uint64_t lost = 0;
  std::uint64_t blocks = 0;
  std::uint64_t overflows = 0;
  std::uint64_t time_jumps = 0;
  std::uint64_t stalls = 0;
  std::uint64_t reconnects = 0;
  std::uint64_t deadline_misses = 0;
  int lanes = 0;
  int lanes_busy = 0;
  int slots = 0;
  int slots_free = 0;
  struct Port {
    std::string port;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t refused = 0;
  };
  std::vector<Port> ports;
  Histogram::Snapshot latency;
  /// The plan's steps and, last, what it takes to bring results out, of the blocks that were timed.
  struct Step {
    std::string name;
    Histogram::Snapshot time;
  };
  std::vector<Step> steps;
};

/// A pipeline at work: source, engine, outlets.
class Pipeline {
 public:
  /// Opens the source, plans for the stream that it really gives, sets up the outlets. Throws SetupError; problems that
  /// only show now, and what does not fit in memory, go to `problems`, and then the pipeline cannot be started.
  Pipeline(PipelineSpec spec, const Catalogue& catalogue, Problems& problems);
  ~Pipeline();

  /// What readers have asked for; before `start`.
  std::int64_t subscriptions() const;
  void start();
  /// Receives no more and publishes what has arrived.
  void stop() noexcept;
  /// Readers that are waited for are waited for no longer.
  void interrupt() noexcept;
  /// The stream has ended and everything has left.
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  /// After `finished`, or before for a failing backend: why it ended too early.
  std::string failure() const;
  bool device_failed() const { return !engine_->backend_failure().empty(); }
  /// A call into the driver, or a device, takes longer than `realtime: hang` allows: which. Else empty.
  std::string hung() const;
  /// How long a device has had the block at the head of the line.
  double device_waits_s() const noexcept { return static_cast<double>(engine_->waiting_ns()) / 1e9; }
  /// Ends without the radio thread, which hangs in its driver; the process is about to end.
  void abandon_radio() noexcept;

  PipelineStatus status() const;
  const Plan& plan() const noexcept { return engine_->plan(); }
  const PipelineSpec& spec() const noexcept { return spec_; }
  std::string summary() const;

 private:
  std::vector<std::unique_ptr<Route>> make_routes(const Plan& plan, const std::vector<int>& outputs, int slots,
                                                  bool lossless);

  PipelineSpec spec_;
  std::unique_ptr<Counters> counters_;
  StreamInfo stream_;
  std::string backend_name_;
  std::string backend_reason_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Intake> intake_;
  std::atomic<bool> finished_{false};
  std::thread waiter_;
};

}  // namespace iqd
