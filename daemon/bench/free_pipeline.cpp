// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/free_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/bell.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "daemon/command/commands.hpp"
#include "pipeline/backend/find_backend.hpp"

namespace iqd {
namespace {

constexpr std::uint64_t kLeastBlocks = 3;
constexpr double kMostSeconds = 60;  // to wait for them

/// Delivers a block per call, at once or at its pace, and leaves the ring's contents as they are.
class FreeSource final : public Source {
 public:
  FreeSource(std::int64_t block, std::int64_t pace_ns) : block_(block), pace_ns_(pace_ns) {}
  StreamInfo info() const override { return {Element::cf32, 1, 1e6, 0, TimeSource::host, true, false}; }
  Received receive(std::span<std::byte* const>, std::int64_t most) override {
    if (pace_ns_ > 0) {
      next_ns_ = std::max(next_ns_ + pace_ns_, steady_ns());
      spin_until([this] { return steady_ns() >= next_ns_; });
    }
    Received r;
    r.event = Received::Event::samples;
    r.samples = pace_ns_ > 0 ? std::min(most, block_) : most;
    r.again = true;
    return r;
  }

 private:
  std::int64_t block_;
  std::int64_t pace_ns_;
  std::int64_t next_ns_ = 0;
};

class FreeSourceOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& v) override {
    v.field("block", block_, {.help = "samples per block"});
    v.field("pace", pace_ns_, {.help = "nanoseconds between blocks"});
  }
  StreamInfo describe(const Section&) const override { return FreeSource(block_, 0).info(); }
  std::unique_ptr<Source> open() const override { return std::make_unique<FreeSource>(block_, pace_ns_); }

 private:
  std::int64_t block_ = 1;
  std::int64_t pace_ns_ = 0;
};

/// Does nothing to one output.
class EmptyStage final : public Stage {
 public:
  void fields(FieldVisitor&) override {}
  void shape(ShapeContext&) override {}
  std::unique_ptr<StageRun> make(Backend&) const override {
    return cpu_run([](const StageIo&) noexcept {});
  }
};

class FreeOutlet final : public Outlet {
 public:
  bool send(const Message&, Lease, bool) override { return true; }
};

class FreeOutletOptions final : public OutletOptions {
 public:
  void fields(FieldVisitor&) override {}
  void check(const PortFormat&, const Section&) const override {}
  std::string endpoint() const override { return {}; }
  std::string topic() const override { return {}; }
  std::unique_ptr<Outlet> open(const PortFormat&, bool, std::int64_t) const override {
    return std::make_unique<FreeOutlet>();
  }
};

std::unique_ptr<SourceOptions> make_source() {
  return std::make_unique<FreeSourceOptions>();
}
/// All stages, plus one that costs nothing.
std::vector<StageEntry> stages_and_empty() {
  std::vector<StageEntry> stages(all_stages().begin(), all_stages().end());
  stages.push_back({.family = "bench",
                    .name = "empty",
                    .summary = "nothing",
                    .inputs = {{.name = "in", .elements = {Element::cf32}}},
                    .outputs = {{.name = "out"}},
                    .make = [] { return std::unique_ptr<Stage>(std::make_unique<EmptyStage>()); },
                    .sample = {}});
  return stages;
}

/// The pipeline, and the one that keeps its device busy: filters so long that each kernel fills it, and several of them,
/// so that it copies little.
std::string text_of(const FreePipeline& p) {
  std::string text = fmt::format(
      "pipelines:\n- name: bench\n  source: {{free: {{block: {0}, pace: {1}}}}}\n  block: {0}\n  lanes: {2}\n"
      "  backend: {3}\n  wait: {4}\n  transfer: {5}\n  stages: {6}\n  publish: [{{port: {7}}}]\n",
      p.block, p.pace_ns, p.lanes, p.backend, p.wait, p.transfer, p.stages, p.port);
  if (!p.share.empty()) text += fmt::format("  gpu: {{share: {}}}\n", p.share);
  if (!p.load) return text;
  text += fmt::format(
      "- name: load\n  source: {{free: {{block: 262144, pace: 0}}}}\n  block: 262144\n  lanes: 2\n  backend: {}\n"
      "  publish: [{{port: load7.out}}]\n  stages:\n",
      p.backend);
  for (int s = 0; s < 8; ++s)
    text += fmt::format("  - fir: {{name: load{}, design: {{type: low_pass, cutoff: 1e5, ntaps: 8001}}}}\n", s);
  return text;
}

}  // namespace

double FreeRun::all_steps_us() const noexcept {
  return std::accumulate(steps_us.begin(), steps_us.end(), 0.0);
}

FreeRun run_free(const FreePipeline& p) {
  static const std::vector<StageEntry> stages = stages_and_empty();
  const std::vector<DriverEntry> drivers{{"free", "", make_source}};
  const Catalogue parts{stages, drivers, free_outlet};
  Problems problems;
  Spec spec = read_spec(parse_document(text_of(p), "bench", problems), parts, problems);
  if (report(problems)) throw UsageError("bench: invalid pipeline");
  spec.pipelines.front().time_every = p.time_every;
  std::vector<std::unique_ptr<Pipeline>> pipelines;
  for (PipelineSpec& one : spec.pipelines)
    pipelines.push_back(std::make_unique<Pipeline>(std::move(one), parts, problems));
  if (report(problems)) throw UsageError("bench: invalid pipeline");
  for (const auto& pipeline : pipelines) pipeline->start();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const FreeRun run = observe(*pipelines.front(), p.seconds);
  for (const auto& pipeline : pipelines) pipeline->stop();
  return run;
}

std::string device_of(const std::string& backends) {
  return choose_backend(backends.substr(0, backends.find(','))).backend->device();
}

std::unique_ptr<OutletOptions> free_outlet() {
  return std::make_unique<FreeOutletOptions>();
}

double typical_us(const Histogram::Snapshot& times) noexcept {
  if (times.count == 0) return 0;
  const double mean = static_cast<double>(times.sum_ns) / static_cast<double>(times.count);
  std::uint64_t below = 0;
  int median = 0;
  while ((below += times.buckets[static_cast<std::size_t>(median)]) * 2 < times.count) ++median;
  const double low = median > 0 ? Histogram::upper_edge_ns(median - 1) : 0;
  return std::clamp(mean, low, Histogram::upper_edge_ns(median)) / 1e3;
}

FreeRun observe(const Pipeline& pipeline, double seconds) {
  const PipelineStatus before = pipeline.status();
  const std::int64_t begin = steady_ns();
  const auto passed = [begin] { return static_cast<double>(steady_ns() - begin) / 1e9; };
  std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
  PipelineStatus after = pipeline.status();
  while (after.blocks - before.blocks < kLeastBlocks && passed() < kMostSeconds && !pipeline.finished()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    after = pipeline.status();
  }

  FreeRun run;
  run.blocks_per_second = static_cast<double>(after.blocks - before.blocks) / passed();
  run.latency = after.latency.since(before.latency);
  run.latency.worst_ns = static_cast<std::uint64_t>(run.latency.quantile_ns(1));  // excludes the time before
  run.backend = after.backend;
  run.device_bytes = after.device_bytes;
  for (std::size_t s = 0; s < after.steps.size(); ++s) {
    const Histogram::Snapshot time = after.steps[s].time.since(before.steps[s].time);
    run.steps.push_back(time);
    run.steps_us.push_back(time.count > 0 ? static_cast<double>(time.sum_ns) / static_cast<double>(time.count) / 1e3
                                          : 0);
  }
  return run;
}

}  // namespace iqd
