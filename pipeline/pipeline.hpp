// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/pool.hpp"
#include "pipeline/engine/engines.hpp"
#include "pipeline/intake/intake.hpp"
#include "pipeline/intake/opening_watch.hpp"
#include "pipeline/outlets/apply_outlet.hpp"
#include "pipeline/sizing.hpp"
#include "pipeline/spec/pipeline_parts.hpp"
#include "pipeline/spec/spec_change.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {

/// A consistent snapshot of a pipeline. Samples are per channel, and received = published + dropped + in_flight.
struct PipelineStatus : CounterValues {
  std::string name;
  std::string radio;  // the source's driver
  SourceState state = SourceState::closed;
  std::string backend;
  std::string trouble;  // the last error, while it is not streaming
  double rate_hz = 0;
  double frequency_hz = 0;
  SampleIndex tuned = -1;  // first sample after the last retune
  TimeSource time = TimeSource::host;
  double ahead_s = 0;  // the radio's time minus the host's; NaN: not known
  std::optional<ClockDrift::Estimate> drift;
  std::array<std::uint64_t, kDropNames.size()> dropped{};
  std::uint64_t in_flight = 0;
  int lanes = 0;
  int lanes_busy = 0;
  int slots = 0;
  int slots_free = 0;
  std::string slow_stage;  // see Pipeline::slow_stage
  struct Port {
    std::string port;
    std::string to;  // the topic, the sink's driver, or `apply PIPELINE/STAGE.KEY`, which counts set and refused values
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t refused = 0;
    SinkCounts sink;
    std::string endpoint{};  // of a topic, as bound: with the port that the system chose; empty: a sink or `apply`
  };
  std::vector<Port> ports;
  std::vector<PeerCounts> endpoints;
  double block_s = 0;              // how long a block lasts: the deadline
  int gpu_share = 0;               // multiprocessors of its part of each device; 0: all
  std::size_t gpu_resident = 0;    // graphs that its devices launch themselves
  std::size_t device_bytes = 0;    // the plan's memory on all devices
  std::size_t resident_bytes = 0;  // the pipeline's memory on the host
  Needs needs;                     // its parts, computed when the plan was made
  std::uint64_t reloads = 0;
  std::optional<PoolStatus> pool;  // of other hosts that share the blocks
  Histogram::Snapshot latency;
  /// Times of the plan's steps and, last, of bringing results out, in the blocks that were timed.
  struct Step {
    std::string name;
    Histogram::Snapshot time;
  };
  std::vector<Step> steps;
  std::vector<PortPlace> places;                               // of the plan's ports, as the radio is tuned now
  std::vector<std::pair<StageNumber, std::uint64_t>> tallies;  // what stages have counted
  std::vector<std::pair<StageNumber, double>> levels;          // what they last measured; NaN: nothing
  /// Signal level of a source channel; see ChannelLevel.
  struct Channel {
    double rms_dbfs = 0;
    double peak_dbfs = 0;
    std::uint64_t clipped = 0;
    std::uint64_t overloads = 0;
    bool overloaded = false;
  };
  std::vector<Channel> channels;
  double calibrated = std::numeric_limits<double>::quiet_NaN();  // 1 while the channels' calibration holds, else 0
};

/// A running pipeline: source, engine, outlets.
class Pipeline {
 public:
  /// Opens the source, plans for the stream that it really delivers, sets up the outlets. Throws SetupError. Problems
  /// that only show now, including lack of memory, go to `problems`; then the pipeline cannot be started. `watch`
  /// follows the driver calls made here and in `prepare`.
  Pipeline(PipelineSpec spec, const Catalogue& catalogue, Problems& problems,
           std::shared_ptr<OpeningWatch> watch = std::make_shared<OpeningWatch>());
  ~Pipeline();

  /// The number of subscriptions; before `start`.
  std::int64_t subscriptions() const;
  void start();
  /// Stops receiving and publishes what has arrived.
  void stop() noexcept;
  /// Stops waiting for readers.
  void interrupt() noexcept;
  /// Runs, and on a device.
  bool is_on_device() const;
  /// The stream has ended, all results were handed over, and the source is closed.
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  /// Why the pipeline ended too early: after `finished`, or before if a backend failed.
  std::string failure() const;
  bool device_failed() const { return !engines_->backend_failure().empty(); }
  /// Names the driver call or the device that takes longer than `realtime: hang` allows; empty if none does.
  std::string hung() const;
  /// Any thread: the hanging driver call of the source, or of a sink that is a radio. `share`: of the time allowed.
  std::string radio_hangs(double share = 1) const;
  /// How long a device has been working on the oldest block.
  double device_waits_s() const noexcept;
  /// Ends without the radio thread, which hangs in its driver; called when the process is about to exit.
  void abandon_radio() noexcept;

  /// A change that is ready to be made.
  struct Change {
    PipelineSpec spec;
    SpecChange what;
    ChosenBackends backends{};
    StreamInfo stream{};
    Sizing sizing{};
    std::shared_ptr<Engine> engine{};  // either a new one …
    std::unique_ptr<Plan> plan{};      // … or a new plan for the running one
  };
  /// Prepares the change to `next` while the stream continues. `next` has been checked, and its source differs only in
  /// live keys. Throws SetupError; problems go to `problems`; in both cases nothing changes.
  Change prepare(PipelineSpec next, SpecChange what, Problems& problems);
  /// Makes the change between two blocks.
  ChangeOutcome go_over(Change change);
  /// Frees replaced engines whose results have all been released.
  void tidy() { engines_.tidy(); }
  /// Whether a replaced engine has results that are still used, for instance by a sink that closes its file.
  bool has_retired() const noexcept { return engines_.retired() > 0; }
  /// Ports whose values become live keys, here or elsewhere.
  std::vector<std::shared_ptr<ApplyOutlet>> applies() const;

  /// Notices silence while a call into the source's driver does not return; called now and then.
  void look_for_silence() { intake_->look_for_silence(); }

  // Any thread.
  const std::string& name() const noexcept { return name_; }
  SourceState state() const noexcept { return intake_->state(); }
  bool has_ended() const noexcept { return state() == SourceState::ended; }
  /// The last error, while it is not streaming.
  std::string trouble() const { return intake_->trouble(); }
  /// Why other hosts, without which it computes nothing, are not usable; empty: they are, or are not needed.
  std::string pool_trouble() const;
  /// How long no samples have been taken from the source although no lane is busy; 0: they flow, or none is due.
  double idle_s() const noexcept;
  PipelineStatus status() const;
  /// Names what has made no progress for half of the time that `realtime: hang` allows; else empty.
  std::string stuck() const;
  /// The stage on the host that has worked on one block for longer than `seconds` (default: half of what
  /// `realtime: hang` allows); empty if none has.
  std::string slow_stage(std::optional<double> seconds = {}) const;
  /// Calls `visit` with the running plan.
  void visit_plan(const std::function<void(const Plan&)>& visit) const { visit(engines_.running()->plan()); }

  /// How long a block lasts.
  double block_s() const;
  /// What the live page may look at, in the running plan.
  std::vector<WatchedPort> watched() const { return engines_.running()->watched(); }

  /// Calls `visit` with each part that has keys, and the settings of its open radio. Changes wait meanwhile.
  void visit_parts(const std::function<void(const PipelinePart&, const DeviceKeys&)>& visit) const;

  /// The size of the running plan; for the thread that makes changes.
  const Sizing& sizing() const noexcept { return sizing_; }

  const PipelineSpec& spec() const noexcept { return spec_; }
  PipelineSpec& spec() noexcept { return spec_; }
  std::string summary() const;

 private:
  std::string pool_failure() const;
  class Routing;
  struct Draft {
    Plan plan;
    std::vector<OutputIndex> outputs;
    Sizing sizing;
  };
  std::optional<Draft> draft(const PipelineSpec& spec, const StreamInfo& stream, const EngineBackends& backends,
                             Problems& problems) const;
  bool fits(const Draft& draft, const PipelineSpec& spec, const EngineBackends& backends) const;
  std::shared_ptr<Engine> build(Draft draft, const PipelineSpec& spec, const EngineBackends& backends);
  std::vector<std::unique_ptr<Route>> make_routes(const Draft& draft, const PipelineSpec& spec) const;
  void leave_routes_to(const Engine& next) const;
  Succession succession_of(const Plan& plan, bool same_backends) const;
  IntakeOptions intake_options(const PipelineSpec& spec, const Sizing& sizing) const;
  std::unique_ptr<Source> open_source() const;
  std::unique_ptr<Sink> open_sink(const SinkSpec& sink, const PortFormat& format, const PipelineSpec& spec) const;

  const Catalogue catalogue_;
  const std::shared_ptr<OpeningWatch> watch_;
  PipelineSpec spec_;
  const std::string name_;
  std::unique_ptr<Counters> counters_;
  StreamInfo stream_;
  ChosenBackends backends_;
  mutable std::mutex exchange_;  // held while a change replaces what other threads read
  Engines engines_;
  Sizing sizing_;
  Counter reloads_;
  std::shared_ptr<CalibrationWatch> calibration_;
  std::unique_ptr<Intake> intake_;
  std::atomic<bool> finished_{false};
  std::thread waiter_;
};

}  // namespace iqd
