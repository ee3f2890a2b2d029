// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/intake/intake.hpp"
#include "pipeline/intake/opening_watch.hpp"
#include "pipeline/outlets/apply_outlet.hpp"
#include "pipeline/sizing.hpp"
#include "pipeline/spec/spec_change.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {

/// What a pipeline is doing: one consistent look. Samples are per channel, and
/// received = published + dropped + in_flight.
struct PipelineStatus : CounterValues {
  std::string name;
  std::string radio;  // the source's driver
  SourceState state = SourceState::closed;
  std::string backend;
  std::string trouble;  // what went wrong last, while it is not streaming
  double rate_hz = 0;
  double frequency_hz = 0;
  SampleIndex tuned = -1;  // the radio was set last from this sample on
  TimeSource time = TimeSource::host;
  double ahead_s = 0;  // the radio's time less the host's; NaN: not known
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
    std::string to;  // the topic, the sink's driver, or `apply PIPELINE/STAGE.KEY`: values that were set, and refused
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t refused = 0;
    SinkCounts sink;
  };
  std::vector<Port> ports;
  std::vector<PeerCounts> endpoints;
  double block_s = 0;              // how long a block lasts: the deadline
  std::size_t device_bytes = 0;    // what the plan takes of all devices
  std::size_t resident_bytes = 0;  // what the pipeline takes of the host's memory
  Needs needs;                     // for what, as it was reckoned when the plan was made
  std::uint64_t reloads = 0;
  Histogram::Snapshot latency;
  /// The plan's steps and, last, what it takes to bring results out, of the blocks that were timed.
  struct Step {
    std::string name;
    Histogram::Snapshot time;
  };
  std::vector<Step> steps;
  std::vector<std::pair<StageNumber, std::uint64_t>> tallies;  // what stages have counted
  std::vector<std::pair<StageNumber, double>> levels;          // what they measured last; NaN: nothing
  /// How strong a channel of the source is; see ChannelLevel.
  struct Channel {
    double rms_dbfs = 0;
    double peak_dbfs = 0;
    std::uint64_t clipped = 0;
    std::uint64_t overloads = 0;
    bool overloaded = false;
  };
  std::vector<Channel> channels;
  double calibrated = std::numeric_limits<double>::quiet_NaN();  // whether their calibration holds, 1 or 0
};

/// A pipeline at work: source, engine, outlets.
class Pipeline {
 public:
  /// Opens the source, plans for the stream that it really gives, sets up the outlets. Throws SetupError; problems that
  /// only show now, and what does not fit in memory, go to `problems`, and then the pipeline cannot be started.
  /// `watch` is told of what drivers are called for, here and in `prepare`.
  Pipeline(PipelineSpec spec, const Catalogue& catalogue, Problems& problems,
           std::shared_ptr<OpeningWatch> watch = std::make_shared<OpeningWatch>());
  ~Pipeline();

  /// What readers have asked for; before `start`.
  std::int64_t subscriptions() const;
  void start();
  /// Receives no more and publishes what has arrived.
  void stop() noexcept;
  /// Readers that are waited for are waited for no longer.
  void interrupt() noexcept;
  /// The stream has ended, everything has left, and the source is closed.
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  /// After `finished`, or before for a failing backend: why it ended too early.
  std::string failure() const;
  bool device_failed() const { return !engine_->backend_failure().empty(); }
  /// A call into the driver, or a device, takes longer than `realtime: hang` allows: which. Else empty.
  std::string hung() const;
  /// Any thread: the first of these, or the same of a sink that is a radio. `share`: of the time allowed.
  std::string radio_hangs(double share = 1) const;
  /// How long a device has had the block at the head of the line.
  double device_waits_s() const noexcept;
  /// Ends without the radio thread, which hangs in its driver; the process is about to end.
  void abandon_radio() noexcept;

  /// A change that is ready to be made.
  struct Change {
    PipelineSpec spec;
    SpecChange what;
    ChosenBackends backends{};
    StreamInfo stream{};
    Sizing sizing{};
    std::shared_ptr<Engine> engine{};  // either a new one …
    std::unique_ptr<Plan> plan{};      // … or what the one at work computes from then on
  };
  /// Makes everything ready that goes over to `next`, a spec that was checked and has the same source but for live
  /// keys, while the stream goes on. Throws SetupError; what is wrong goes to `problems`; both leave all as it is.
  Change prepare(PipelineSpec next, SpecChange what, Problems& problems);
  /// Goes over between two blocks. What keeps it from doing so, after which all is as it was, else empty.
  std::string go_over(Change change);
  /// Lets go of what a change has left, when its last readers have.
  void tidy();
  /// Ports whose values become live keys, here or elsewhere.
  std::vector<std::shared_ptr<ApplyOutlet>> applies() const;

  // Any thread.
  const std::string& name() const noexcept { return name_; }
  SourceState state() const noexcept { return intake_->state(); }
  /// What went wrong last, while it is not streaming.
  std::string trouble() const { return intake_->trouble(); }
  PipelineStatus status() const;
  /// What has not moved for half of the time that `realtime: hang` allows; empty while all moves.
  std::string stuck() const;
  /// The stage on the host that has been at one block for longer than these seconds, or, without them, than half of
  /// what `realtime: hang` allows; empty where none has.
  std::string slow_stage(std::optional<double> seconds = {}) const;
  /// With the plan at work.
  void visit_plan(const std::function<void(const Plan&)>& visit) const { visit(engine()->plan()); }

  /// What the plan at work takes; for the thread that makes changes.
  const Sizing& sizing() const noexcept { return sizing_; }

  const PipelineSpec& spec() const noexcept { return spec_; }
  PipelineSpec& spec() noexcept { return spec_; }
  std::string summary() const;

 private:
  class Routing;
  struct Draft {
    Plan plan;
    std::vector<int> outputs;
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
  std::shared_ptr<Engine> engine() const;
  void replace_engine(std::shared_ptr<Engine> by);

  std::unique_ptr<Source> open_source() const;
  std::unique_ptr<Sink> open_sink(const SinkSpec& sink, const PortFormat& format, const PipelineSpec& spec) const;

  const Catalogue catalogue_;
  const std::shared_ptr<OpeningWatch> watch_;
  PipelineSpec spec_;
  const std::string name_;
  const std::string radio_;
  std::unique_ptr<Counters> counters_;
  StreamInfo stream_;
  ChosenBackends backends_;
  mutable std::mutex exchange_;  // of what follows, by the thread that makes changes
  std::shared_ptr<Engine> engine_;
  Sizing sizing_;
  std::vector<std::shared_ptr<Engine>> retired_;
  Counter reloads_;
  std::shared_ptr<CalibrationWatch> calibration_;
  std::unique_ptr<Intake> intake_;
  std::atomic<bool> finished_{false};
  std::thread waiter_;
};

}  // namespace iqd
