// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/stage_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/clock.hpp"
#include "daemon/bench/copy_bound.hpp"

namespace iqd {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
/// Blocks that a device launches itself are launched from the host at first.
constexpr std::int64_t kWarmUpNs = 20'000'000;
constexpr std::int64_t kMostChecked = 1 << 16;  // items of the first input

std::size_t bytes_of(const PlanPort& port) {
  return static_cast<std::size_t>(port.most_new * port.shape.item_bytes());
}

/// Its first items, as many as belong to `most` items of an input with `length`.
StageInput beginning(const StageInput& in, std::int64_t most, std::int64_t length) {
  StageInput first;
  first.shape = in.shape;
  first.length = in.shape.axis == Axis::block || in.length == 1 ? in.length : in.length * most / length;
  first.data.assign(in.data.begin(), in.data.begin() + first.length * in.shape.item_bytes());
  return first;
}

/// Whether other blocks give other results, as for an average over the block.
bool depends_on_blocks(const Plan& plan) {
  const auto one_a_block = [&](const PlanOutput& o) { return plan.ports[o.port].shape.axis == Axis::block; };
  return std::ranges::any_of(plan.steps, &PlanStep::chunk_exempt) || std::ranges::any_of(plan.outputs, one_a_block);
}

std::unique_ptr<StageRunner> runner_to_check(const StageTrial& trial, const std::vector<StageInput>& inputs) {
  Problems problems;
  std::unique_ptr<StageRunner> runner = make_runner(trial, inputs, Timed::whole, problems);
  if (!runner) throw SetupError(fmt::format("bench: cannot run {}", trial.entry->name));
  return runner;
}

bool is_float(Element element) {
  return element == Element::cf32 || element == Element::f32;
}

std::vector<float> floats_of(const StageOutput& output) {
  const std::vector<std::byte> bytes = output.joined();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// Largest difference relative to the rms of `a`; infinite if only one is finite.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double power = 0, worst = 0;
  for (const float v : a) power += std::isfinite(v) ? static_cast<double>(v) * static_cast<double>(v) : 0;
  const double rms = power > 0 ? std::sqrt(power / static_cast<double>(a.size())) : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return INFINITY;
    worst = std::max(worst, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])) / rms);
  }
  return worst;
}

double distance(const StageOutput& a, const StageOutput& b) {
  if (a.length != b.length || a.rows.size() != b.rows.size()) return INFINITY;
  if (!is_float(a.shape.element)) return a.rows == b.rows ? 0 : INFINITY;
  return distance(floats_of(a), floats_of(b));
}

}  // namespace

std::unique_ptr<StageRunner> make_runner(const StageTrial& trial, const std::vector<StageInput>& inputs, Timed timed,
                                         Problems& problems) {
  StageRunner::Options how;
  how.outputs = trial.outputs;
  how.behind = trial.behind;
  how.fuse = trial.fuse;
  how.wait = trial.wait;
  how.resident = how.timed = timed == Timed::resident;
  if (how.resident)
    how.mapped = MappedLimits{kAll, 0};
  else if (trial.transfer == "mapped")
    how.mapped = MappedLimits{kAll, kAll};
  else if (trial.transfer == "copy")
    how.mapped = MappedLimits{};
  const std::size_t before = problems.size();
  auto runner =
      std::make_unique<StageRunner>(*trial.entry, trial.keys, inputs, trial.block, trial.backend, problems, how);
  if (problems.size() > before) return nullptr;
  // Resident blocks are timed step by step, so they are launched step by step.
  for (std::int64_t i = 0; timed == Timed::whole && i < kBlocksOfInput; ++i)
    if ((i + 1) * trial.block <= runner->length()) runner->rehearse(i * trial.block, trial.block);
  return runner;
}

std::vector<double> time_blocks(StageRunner& runner, std::int64_t block, Timed timed, double seconds) {
  std::vector<double> us;
  const std::int64_t warm = steady_ns() + (runner.backend().kind() == BackendKind::cpu ? 0 : kWarmUpNs);
  const std::int64_t end = warm + static_cast<std::int64_t>(seconds * 1e9);
  for (std::int64_t i = 0; std::ssize(us) < kLeast || steady_ns() < end; ++i) {
    runner.set_block(i % kBlocksOfInput * block, block);
    const std::int64_t begin = steady_ns();
    runner.run_block();
    const std::int64_t took = timed == Timed::resident ? runner.step_ns() : steady_ns() - begin;
    if (i >= kWarmUp && begin > warm) us.push_back(static_cast<double>(took) / 1e3);
  }
  return us;
}

InFlight time_in_flight(std::vector<std::unique_ptr<StageRunner>>& runners, std::int64_t block, double seconds) {
  const auto lanes = std::ssize(runners);
  std::vector<std::int64_t> begun(runners.size());
  InFlight times;
  std::int64_t number = 0;
  times.blocks_per_second = in_flight(
      lanes, seconds,
      [&](std::int64_t l) {
        begun[static_cast<std::size_t>(l)] = steady_ns();
        runners[static_cast<std::size_t>(l)]->set_block(number++ / lanes % kBlocksOfInput * block, block);
        runners[static_cast<std::size_t>(l)]->start_block();
      },
      [&](std::int64_t l) {
        runners[static_cast<std::size_t>(l)]->finish_block();
        times.us.push_back(static_cast<double>(steady_ns() - begun[static_cast<std::size_t>(l)]) / 1e3);
      });
  times.us.erase(times.us.begin(), times.us.begin() + kWarmUp * lanes);
  return times;
}

bool check_results(const StageTrial& trial, const std::vector<StageInput>& inputs, double tolerance) {
  const std::int64_t length = inputs.front().length;
  std::vector<StageInput> first;
  for (const StageInput& in : inputs) first.push_back(beginning(in, std::min(length, kMostChecked), length));
  const std::unique_ptr<StageRunner> tried = runner_to_check(trial, first);
  StageTrial plain = trial;
  plain.backend = "cpu";
  plain.fuse = false;
  const bool same_blocks = trial.block < 2 || depends_on_blocks(tried->plan());
  if (!same_blocks) plain.block = tried->plan().block / 2;
  const bool on_device = tried->backend().kind() != BackendKind::cpu;
  if (same_blocks && !on_device && (trial.behind.empty() || !trial.fuse)) return false;
  const std::vector<StageOutput> expected = runner_to_check(plain, first)->run();
  const std::vector<StageOutput> got = tried->run();
  for (std::size_t o = 0; o < expected.size(); ++o)
    if (const double apart = distance(expected[o], got[o]); !(apart <= tolerance))
      throw WrongResult(fmt::format(
          "{} on {}, blocks of {}: '{}' differs from the CPU's result by {:.2g} of its rms; {:.2g} is allowed",
          trial.entry->name, trial.backend, trial.block, expected[o].name, apart, tolerance));
  return true;
}

std::size_t bytes_of_ports(const Plan& plan) {
  std::size_t bytes = 0;
  for (const PlanPort& p : plan.ports)
    if (p.name.front() != '~') bytes += bytes_of(p);
  return bytes;
}

std::size_t bytes_in(const Plan& plan) {
  std::size_t bytes = 0;
  for (PortIndex p = 0; p < plan.sources; ++p) bytes += bytes_of(plan.ports[p]);
  return bytes;
}

std::size_t bytes_out(const Plan& plan) {
  std::size_t bytes = 0;
  for (const PlanOutput& o : plan.outputs) bytes += bytes_of(plan.ports[o.port]);
  return bytes;
}

}  // namespace iqd
