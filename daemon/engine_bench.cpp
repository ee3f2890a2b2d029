// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <thread>

#include "base/clock.hpp"
#include "daemon/bench_row.hpp"
#include "daemon/commands.hpp"
#include "pipeline/cpu_backend.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kPaceNs = 200'000;

/// A source that costs nothing: the ring keeps what it holds.
class FreeSource final : public Source {
 public:
  explicit FreeSource(std::int64_t pace_ns) : pace_ns_(pace_ns) {}
  StreamInfo info() const override { return {Element::cf32, 1, 1e6, 0, TimeSource::host, true, false}; }
  Received receive(std::span<std::byte* const>, std::int64_t most) override {
    if (pace_ns_ > 0) {
      next_ns_ = std::max(next_ns_ + pace_ns_, steady_ns());
      while (steady_ns() < next_ns_) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    Received r;
    r.event = Received::Event::samples;
    r.samples = pace_ns_ > 0 ? std::min(most, kBlock) : most;
    return r;
  }

 private:
  std::int64_t pace_ns_;
  std::int64_t next_ns_ = 0;
};

class FreeOptions final : public SourceOptions {
 public:
  explicit FreeOptions(std::int64_t pace_ns) : pace_ns_(pace_ns) {}
  void fields(FieldVisitor&) override {}
  StreamInfo describe(const Section&) const override { return FreeSource(0).info(); }
  std::unique_ptr<Source> open() const override { return std::make_unique<FreeSource>(pace_ns_); }

 private:
  std::int64_t pace_ns_;
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
  std::unique_ptr<Outlet> open(const PortFormat&, bool) const override { return std::make_unique<FreeOutlet>(); }
};

std::unique_ptr<SourceOptions> make_free() {
  return std::make_unique<FreeOptions>(0);
}
std::unique_ptr<SourceOptions> make_paced() {
  return std::make_unique<FreeOptions>(kPaceNs);
}
std::unique_ptr<OutletOptions> make_outlet() {
  return std::make_unique<FreeOutletOptions>();
}

BenchRow bench_blocks(bool paced, const BenchOptions& options, std::int64_t lanes) {
  const std::vector<StageEntry> stages{{.family = "bench",
                                        .name = "empty",
                                        .summary = "nothing",
                                        .inputs = {{.name = "in", .elements = {Element::cf32}}},
                                        .outputs = {{.name = "out"}},
                                        .make = [] { return std::unique_ptr<Stage>(std::make_unique<EmptyStage>()); },
                                        .sample = {}}};
  const std::vector<DriverEntry> drivers{{"free", "", make_free}, {"paced", "", make_paced}};
  const Catalogue parts{stages, drivers, make_outlet};
  Problems problems;
  const std::string text = fmt::format(
      "source: {{{}: {{}}}}\nblock: {}\nlanes: {}\nbackend: {}\nstages: [empty: {{}}]\npublish: [{{port: "
      "empty.out}}]\n",
      paced ? "paced" : "free", kBlock, lanes, options.backend);
  Spec spec = read_spec(parse_document(text, "bench", problems), parts, problems);
  Pipeline pipeline(std::move(spec.pipelines.front()), parts, problems);
  report(problems);
  pipeline.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const PipelineStatus before = pipeline.status();
  const std::int64_t begin = steady_ns();
  std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(options.seconds * 1e9)));
  const PipelineStatus after = pipeline.status();
  const auto blocks = static_cast<double>(after.blocks - before.blocks);
  const double seconds = static_cast<double>(steady_ns() - begin) / 1e9;
  pipeline.stop();
  const Histogram::Snapshot latency = after.latency.since(before.latency);
  BenchRow row{"engine", fmt::format("{} {} lane(s)", paced ? "one by one" : "flat out", lanes), after.backend,
               make_cpu_backend()->device(), "64"};
  row.p50_us = latency.quantile_ns(0.5) / 1e3;
  row.p99_us = latency.quantile_ns(0.99) / 1e3;
  row.p999_us = latency.quantile_ns(0.999) / 1e3;
  row.max_us = static_cast<double>(latency.worst_ns) / 1e3;
  row.throughput = blocks / seconds;
  row.unit = "blocks/s";
  row.bound = paced ? 1e9 / kPaceNs : 1e6 / 3;  // 3 us a block
  row.bound_by = paced ? "its pace" : "3 us a block";
  return row;
}

}  // namespace

std::vector<BenchRow> bench_engine(const BenchOptions& options) {
  return {bench_blocks(false, options, 1), bench_blocks(false, options, 2), bench_blocks(true, options, 1)};
}

}  // namespace iqd
