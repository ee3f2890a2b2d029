// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "daemon/bench_row.hpp"
#include "daemon/commands.hpp"
#include "daemon/stage_keys.hpp"
#include "pipeline/cpu_backend.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {
namespace {

/// Several blocks' worth, so that no call finds its input in the first cache, and another phase each time.
constexpr std::int64_t kBlocksOfInput = 4;
constexpr int kWarmUp = 3;
constexpr int kLeast = 10;  // calls that count, however slow they are

StageInput random_input(const InputSpec& spec, std::int64_t length) {
  StageInput in;
  in.shape.element = spec.takes(Element::cf32) ? Element::cf32 : spec.elements.front();
  in.shape.rate_hz = in.shape.source_rate_hz = 1e6;
  in.length = length;
  if (spec.items()) {
    in.shape.axis = Axis::counted;
    in.shape.axis_name = "packet";
    in.shape.item = spec.example;
    in.shape.most = length;
  }
  in.data.resize(static_cast<std::size_t>(in.row_bytes()));
  std::mt19937 generator(std::random_device{}());
  std::normal_distribution<float> normal;
  if (in.shape.element == Element::cf32 || in.shape.element == Element::f32) {
    for (std::size_t at = 0; at < in.data.size(); at += sizeof(float)) {
      const float x = normal(generator);
      std::memcpy(in.data.data() + at, &x, sizeof x);
    }
  } else {
    for (std::byte& b : in.data) b = static_cast<std::byte>(generator() & 0x3f);
  }
  return in;
}

/// Bytes a second that this core copies, for blocks of this size: reading and writing once is the least a stage can do.
double copy_bytes_per_second(std::size_t bytes) {
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t begin = steady_ns();
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
    best = std::max(
        best, static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, steady_ns() - begin)) * 1e9);
  }
  return best;
}

/// The keys of the sample, `fir: {taps: [1]}` → `{taps: [1]}`, where none are given.
std::string keys_for(const StageEntry& entry, const std::vector<std::string>& config) {
  if (!config.empty()) return keys_of(config);
  const auto colon = entry.sample.find(':');
  return colon == entry.sample.npos ? "{}" : std::string(entry.sample.substr(colon + 1));
}

/// Copies within a device's memory, for the bound of what stays there.
class CopyWork final : public Work {
 public:
  CopyWork(Backend& backend, std::size_t bytes)
      : backend_(backend), bytes_(bytes), from_(backend.allocate(bytes)), to_(backend.allocate(bytes)) {}
  void enqueue(StreamView stream, StepClock* clock) noexcept override {
    if (clock) clock->mark(0, stream);
    backend_.copy(to_.data(), bytes_, from_.data(), bytes_, bytes_, 1, stream);
    if (clock) clock->mark(1, stream);
  }
  std::size_t timed_steps() const noexcept override { return 1; }
  void timed(std::span<const std::int64_t> steps_ns) noexcept override { ns = std::min(ns, steps_ns.front()); }
  void finished(bool good) noexcept override { mark_done(good); }
  std::int64_t ns = std::numeric_limits<std::int64_t>::max();

 private:
  Backend& backend_;
  std::size_t bytes_;
  Buffer from_, to_;
};

double device_copy_bytes_per_second(Backend& backend, std::size_t bytes) {
  QueueOptions options;
  options.wait = Wait::spin;
  options.time_every = 1;
  options.timed_steps = 1;
  const std::unique_ptr<Queue> queue = backend.make_queue(options);
  CopyWork work(backend, bytes);
  for (int i = 0; i < 20; ++i) {
    queue->submit(work);
    queue->wait(work);
  }
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, work.ns)) * 1e9;
}

/// Of all ports together; transfers are not counted.
std::size_t bytes_of(const Plan& plan) {
  std::size_t bytes = 0;
  for (const PlanPort& p : plan.ports)
    if (p.name.front() != '~') bytes += static_cast<std::size_t>(p.most_new * p.shape.item_bytes());
  return bytes;
}

/// Either what a caller waits for, or, of a device, what a stage takes whose input and output stay there.
enum class Variant { whole, resident };

BenchRow bench_block(const StageEntry& entry, const BenchOptions& options, std::int64_t block, Variant variant) {
  std::vector<StageInput> inputs;
  for (const InputSpec& spec : entry.inputs) inputs.push_back(random_input(spec, block * kBlocksOfInput));
  Problems problems;
  const bool resident = variant == Variant::resident;
  StageRunner::Options how;
  how.resident = how.timed = resident;
  if (resident) how.mapped = MappedLimits{std::numeric_limits<std::size_t>::max(), 0};
  StageRunner runner(entry, keys_for(entry, options.config), std::move(inputs), block, options.backend, problems, how);
  if (report(problems)) throw UsageError(fmt::format("bench {}: the keys are wrong", entry.name));
  if (!resident)
    for (std::int64_t i = 0; i < kBlocksOfInput; ++i) runner.rehearse(i * block, block);

  std::vector<double> us;
  double total = 0;
  std::int64_t calls = 0;
  const std::int64_t end = steady_ns() + static_cast<std::int64_t>(options.seconds * 1e9);
  for (std::int64_t i = 0; i < kWarmUp + kLeast || steady_ns() < end; ++i) {
    runner.set_block(i % kBlocksOfInput * block, block);
    const std::int64_t begin = steady_ns();
    runner.run_block();
    const double took = static_cast<double>(resident ? runner.step_ns() : steady_ns() - begin) / 1e3;
    if (i < kWarmUp) continue;
    us.push_back(took);
    total += took;
    ++calls;
  }
  const std::size_t bytes = bytes_of(runner.plan());
  Backend& backend = runner.backend();
  std::string shape = options.config.empty() ? "sample" : "given keys";
  BenchRow row{std::string(entry.name), resident ? shape + ", resident" : shape, backend.name(), backend.device(),
               fmt::format("{}", block)};
  set_percentiles(row, us);
  row.throughput = static_cast<double>(calls * block) / total * 1e6;
  row.unit = entry.inputs.front().items() ? "items/s" : "samples/s";
  const double copied = resident ? device_copy_bytes_per_second(backend, bytes / 2) : copy_bytes_per_second(bytes / 2);
  if (resident || backend.kind() == BackendKind::cpu) {
    row.bound = copied * 2 / static_cast<double>(bytes) * static_cast<double>(block);
    row.bound_by = "memory copy of the same bytes";
  }
  return row;
}

}  // namespace

std::vector<BenchRow> bench_stage(const std::string& name, const BenchOptions& options) {
  const StageEntry* entry = find_stage(name);
  if (!entry)
    throw UsageError(fmt::format(
        "there is no bench '{}': it is `engine`, `lanes`, `devices`, `copy_or_mapped`, `convolution` or the name of a "
        "stage",
        name));
  std::vector<std::int64_t> blocks = options.blocks;
  const bool items = entry->inputs.front().items();
  if (blocks.empty())
    blocks = items ? std::vector<std::int64_t>{16, 512} : std::vector<std::int64_t>{8192, 65536, 1 << 20};
  std::vector<BenchRow> rows;
  const bool device = choose_backend(options.backend).backend->kind() != BackendKind::cpu;
  for (const std::int64_t block : blocks) rows.push_back(bench_block(*entry, options, block, Variant::whole));
  if (!device) return rows;
  if (options.blocks.empty() && !items) blocks = {8192, 1 << 20, 1 << 24};
  for (const std::int64_t block : blocks) rows.push_back(bench_block(*entry, options, block, Variant::resident));
  return rows;
}

}  // namespace iqd
