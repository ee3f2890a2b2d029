// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/kept_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/bell.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd {
namespace {

constexpr double kMostWaitSeconds = 120;  // for the source to fill the ring, and for the lanes to empty it

/// Another source's samples until they have filled the ring once, then the same again at no cost.
class KeptSource final : public Source {
 public:
  KeptSource(const SourceOptions& inner, KeptPipeline::Feed& feed) : inner_(inner), feed_(feed), source_(inner.open()) {
    info_ = source_->info();
    info_.can_wait = true;
  }
  StreamInfo info() const override { return info_; }
  Received receive(std::span<std::byte* const> into, std::int64_t most) override {
    feed_.used_ns = thread_ns();
    if (!feed_.kept) {
      if (into[0] >= furthest_) return fill(into, most);
      source_.reset();
      feed_.kept = true;
    }
    return again(most);
  }

 private:
  Received fill(std::span<std::byte* const> into, std::int64_t most) {
    furthest_ = into[0];
    Received r = source_->receive(into, most);
    if (r.event == Received::Event::failed) return r;
    if (r.event == Received::Event::end) source_ = inner_.open();
    r.lost = 0;
    if (r.event != Received::Event::samples) r = {};
    return r;
  }
  Received again(std::int64_t most) {
    const std::int64_t pace = feed_.pace_ns;
    Received r;
    r.event = Received::Event::samples;
    r.samples = most;
    r.again = true;
    if (pace == 0) return r;
    // A call may want less than a block.
    if (left_ > 0) {
      left_ -= r.samples = std::min(most, left_);
      return r;
    }
    // Waits are short, so that a stop does not take long.
    constexpr std::int64_t kLongest = 50'000'000;
    next_ns_ = std::max(next_ns_, steady_ns() - pace);
    const std::int64_t due = next_ns_ + pace;
    if (due - steady_ns() > kLongest) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kLongest / 2));
      return {};
    }
    spin_until([due] { return steady_ns() >= due; });
    next_ns_ = due;
    left_ = feed_.block - (r.samples = std::min(most, feed_.block));
    return r;
  }

  const SourceOptions& inner_;
  KeptPipeline::Feed& feed_;
  std::unique_ptr<Source> source_;
  StreamInfo info_;
  std::byte* furthest_ = nullptr;
  std::int64_t next_ns_ = 0;
  std::int64_t left_ = 0;  // of the current block
};

class KeptOptions final : public SourceOptions {
 public:
  KeptOptions(std::shared_ptr<SourceOptions> inner, KeptPipeline::Feed& feed) : inner_(std::move(inner)), feed_(feed) {}
  void fields(FieldVisitor& visitor) override { inner_->fields(visitor); }
  StreamInfo describe(const Section& section) const override {
    StreamInfo info = inner_->describe(section);
    info.can_wait = true;
    return info;
  }
  std::unique_ptr<Source> open() const override { return std::make_unique<KeptSource>(*inner_, feed_); }
  std::optional<RadioRequest> radio() const override { return inner_->radio(); }
  std::string path() const override { return inner_->path(); }
  std::string calibration() const override { return inner_->calibration(); }

 private:
  std::shared_ptr<SourceOptions> inner_;
  KeptPipeline::Feed& feed_;
};

/// Throws UsageError if there is no pipeline of this name.
PipelineSpec& chosen_pipeline(const std::string& command, Spec& spec, const std::string& name) {
  return name.empty() ? spec.pipelines.front() : choose_pipeline(command, spec, name);
}

}  // namespace

KeptPipeline::KeptPipeline(std::string command, const std::string& file, const KeptSetup& setup)
    : command_(std::move(command)), loaded_(load(file)) {
  const auto refuse = [&] { return UsageError(fmt::format("{}: {} is not a valid pipeline", command_, file)); };
  if (report(loaded_->problems)) throw refuse();
  Problems problems;
  pipeline_ = std::make_unique<Pipeline>(spec_of(setup), catalogue(), problems);
  if (report(problems) || report(loaded_->problems)) throw refuse();
  pipeline_->start();
  wait_until("the source did not fill the ring", [&] { return feed_.kept.load(); });
}

KeptPipeline::~KeptPipeline() = default;

PipelineSpec KeptPipeline::spec_of(const KeptSetup& setup) {
  PipelineSpec spec = std::move(chosen_pipeline(command_, loaded_->spec, setup.pipeline));
  if (setup.block > 0) spec.block = setup.block;
  if (setup.lanes > 0) spec.lanes = setup.lanes;
  if (setup.backend != "auto") spec.backend = {setup.backend};
  spec.wait = setup.wait.value_or(spec.wait);
  spec.transfer = setup.transfer.value_or(spec.transfer);
  spec.time_every = setup.time_every;
  spec.overrun = Overrun::wait;
  std::shared_ptr<SourceOptions> source = setup.source ? setup.source(spec) : nullptr;
  if (!source) source = std::move(spec.source);
  spec.source = std::make_unique<KeptOptions>(std::move(source), feed_);
  for (PublishSpec& p : spec.publish) p.options = free_outlet();
  spec.sinks.clear();
  feed_.block = spec.block;
  return spec;
}

/// Throws SetupError after a timeout.
template <class Done> void KeptPipeline::wait_until(std::string_view what, const Done& done) const {
  const std::int64_t end = steady_ns() + static_cast<std::int64_t>(kMostWaitSeconds * 1e9);
  while (!done()) {
    if (pipeline_->finished()) throw SetupError(fmt::format("{}: {}", command_, pipeline_->failure()));
    if (steady_ns() > end)
      throw SetupError(fmt::format("{}: {} within {} s; use shorter blocks", command_, what, kMostWaitSeconds));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

FreeRun KeptPipeline::observe_some(double seconds) {
  const std::int64_t began_ns = steady_ns(), used_ns = feed_.used_ns;
  FreeRun run = observe(*pipeline_, seconds);
  feeding_ = static_cast<double>(feed_.used_ns - used_ns) /
             static_cast<double>(std::max<std::int64_t>(steady_ns() - began_ns, 1));
  if (run.latency.count > 0) return run;
  throw SetupError(fmt::format("{}: {}", command_,
                               pipeline_->finished() ? pipeline_->failure() : "no block was done; use shorter blocks"));
}

FreeRun KeptPipeline::flat_out(double seconds) {
  FreeRun run = observe_some(seconds);
  blocks_per_second_ = run.blocks_per_second;
  return run;
}

FreeRun KeptPipeline::one_by_one(double seconds) {
  feed_.pace_ns = static_cast<std::int64_t>(2e9 * pipeline_->status().lanes / blocks_per_second_);
  // Always in flight: what arrives for the next block, and a block that waits for samples after it.
  std::int64_t most = 2 * feed_.block;
  pipeline_->visit_plan([&](const Plan& plan) { most += plan.reach().future; });
  wait_until("the ring did not drain",
             [&] { return pipeline_->status().in_flight <= static_cast<std::uint64_t>(most); });
  return observe_some(seconds);
}

void KeptPipeline::stop() {
  pipeline_->stop();
  if (!pipeline_->failure().empty()) throw SetupError(fmt::format("{}: {}", command_, pipeline_->failure()));
}

}  // namespace iqd
