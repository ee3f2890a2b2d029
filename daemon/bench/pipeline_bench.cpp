// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/bell.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "daemon/bench/bench_row.hpp"
#include "daemon/bench/free_pipeline.hpp"
#include "daemon/command/commands.hpp"

namespace iqd {
namespace {

constexpr double kAllOfACpu = 0.9;        // of a CPU: the thread that feeds the pipeline has hardly waited for it
constexpr double kMostWaitSeconds = 120;  // for the source to fill the ring, and for the lanes to empty it

/// Shared by the bench and its source.
struct Feed {
  std::atomic<bool> kept{false};         // the ring is full, and its contents stay
  std::atomic<std::int64_t> pace_ns{0};  // between blocks; 0: as fast as possible
  std::atomic<std::int64_t> used_ns{0};  // time of a CPU that its thread has used
  std::int64_t block = 0;
};

/// Another source's samples until they have filled the ring once, then the same again at no cost.
class KeptSource final : public Source {
 public:
  KeptSource(const SourceOptions& inner, Feed& feed) : inner_(inner), feed_(feed), source_(inner.open()) {
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
  Feed& feed_;
  std::unique_ptr<Source> source_;
  StreamInfo info_;
  std::byte* furthest_ = nullptr;
  std::int64_t next_ns_ = 0;
  std::int64_t left_ = 0;  // of the current block
};

class KeptOptions final : public SourceOptions {
 public:
  KeptOptions(std::shared_ptr<SourceOptions> inner, Feed& feed) : inner_(std::move(inner)), feed_(feed) {}
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
  Feed& feed_;
};

/// The file's first pipeline with the options applied, between a source and outlets that cost nothing.
PipelineSpec free_spec(Loaded& loaded, const BenchOptions& options, std::int64_t lanes, Feed& feed) {
  PipelineSpec spec = std::move(loaded.spec.pipelines.front());
  if (!options.blocks.empty()) spec.block = options.blocks.front();
  if (lanes > 0) spec.lanes = lanes;
  if (options.backend != "auto") spec.backend = {options.backend};
  const auto waits = enum_names(Wait{});
  spec.wait = static_cast<Wait>(std::ranges::find(waits, options.wait) - waits.begin());
  spec.overrun = Overrun::wait;
  spec.source = std::make_unique<KeptOptions>(std::move(spec.source), feed);
  for (PublishSpec& p : spec.publish) p.options = free_outlet();
  spec.sinks.clear();
  feed.block = spec.block;
  return spec;
}

/// Throws SetupError after a timeout.
template <class Done> void wait_until(const Pipeline& pipeline, std::string_view what, const Done& done) {
  const std::int64_t end = steady_ns() + static_cast<std::int64_t>(kMostWaitSeconds * 1e9);
  while (!done()) {
    if (pipeline.finished()) throw SetupError(fmt::format("bench: {}", pipeline.failure()));
    if (steady_ns() > end)
      throw SetupError(fmt::format("bench: {} within {} s; use shorter blocks", what, kMostWaitSeconds));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Throws SetupError if no block was done.
FreeRun observe_some(const Pipeline& pipeline, double seconds) {
  FreeRun run = observe(pipeline, seconds);
  if (run.latency.count > 0) return run;
  throw SetupError(
      fmt::format("bench: {}", pipeline.finished() ? pipeline.failure() : "no block was done; use shorter blocks"));
}

BenchRow pipeline_row(const PipelineStatus& s, const FreeRun& run, std::int64_t block, std::string variant) {
  BenchRow row{s.name, std::move(variant), run.backend, device_of(run.backend), fmt::format("{}", block)};
  set_percentiles(row, run.latency);
  row.throughput = run.blocks_per_second * static_cast<double>(block);
  row.unit = "samples/s";
  row.bound = s.rate_hz;
  row.bound_by = "the radio's rate";
  return row;
}

void bench_lanes_of(const std::string& file, const BenchOptions& options, std::int64_t lanes,
                    std::vector<BenchRow>& rows) {
  const std::unique_ptr<Loaded> loaded = load(file);
  if (report(loaded->problems)) throw UsageError(fmt::format("bench: {} is not a valid pipeline", file));
  Feed feed;
  Problems problems;
  Pipeline pipeline(free_spec(*loaded, options, lanes, feed), catalogue(), problems);
  if (report(problems)) throw UsageError(fmt::format("bench: {} is not a valid pipeline", file));
  pipeline.start();
  wait_until(pipeline, "the source did not fill the ring", [&] { return feed.kept.load(); });
  observe_some(pipeline, options.seconds);  // warm
  const std::int64_t began_ns = steady_ns(), used_ns = feed.used_ns;
  const FreeRun flat_out = observe_some(pipeline, options.seconds);
  const double feeding = static_cast<double>(feed.used_ns - used_ns) /
                         static_cast<double>(std::max<std::int64_t>(steady_ns() - began_ns, 1));
  std::string with = fmt::format("{} lanes", pipeline.status().lanes);
  if (flat_out.device_bytes > 0)
    with += fmt::format(", {:.0f} MB on the GPU", static_cast<double>(flat_out.device_bytes) / 1e6);
  const std::string_view bound = feeding > kAllOfACpu ? ", bound by the thread that feeds it" : "";
  rows.push_back(pipeline_row(pipeline.status(), flat_out, feed.block, fmt::format("flat out, {}{}", with, bound)));
  rows.back().further = {{"feeding", feeding}};
  // Slow enough that no block waits for another.
  feed.pace_ns = static_cast<std::int64_t>(2e9 * pipeline.status().lanes / flat_out.blocks_per_second);
  // A block may wait for samples of the next one, so one is always in flight.
  wait_until(pipeline, "the ring did not drain",
             [&] { return pipeline.status().in_flight <= 2 * static_cast<std::uint64_t>(feed.block); });
  rows.push_back(
      pipeline_row(pipeline.status(), observe_some(pipeline, options.seconds), feed.block, "one by one, " + with));
  pipeline.stop();
  if (!pipeline.failure().empty()) throw SetupError(fmt::format("bench: {}", pipeline.failure()));
}

}  // namespace

std::vector<BenchRow> bench_pipeline(const std::string& file, const BenchOptions& options) {
  std::vector<std::int64_t> lanes = options.lanes;
  if (lanes.empty()) lanes = {0};
  std::vector<BenchRow> rows;
  for (const std::int64_t n : lanes) bench_lanes_of(file, options, n, rows);
  return rows;
}

}  // namespace iqd
