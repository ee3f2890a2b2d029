// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <span>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "daemon/array_port.hpp"
#include "daemon/bench_row.hpp"
#include "daemon/commands.hpp"
#include "daemon/copy_bound.hpp"
#include "daemon/stage_keys.hpp"
#include "pipeline/cpu_backend.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {
namespace {

/// Several blocks' worth, so that no call finds its input in the first cache, and another phase each time.
constexpr std::int64_t kBlocksOfInput = 4;

/// Fills with normal numbers, or bytes that are small and not negative.
void fill_random(StageInput& in, bool variance) {
  in.data.resize(static_cast<std::size_t>(in.row_bytes()));
  std::mt19937 generator(std::random_device{}());
  std::normal_distribution<float> normal;
  if (in.shape.element != Element::cf32 && in.shape.element != Element::f32) {
    for (std::byte& b : in.data) b = static_cast<std::byte>(generator() & 0x3f);
    return;
  }
  // So many numbers, again and again, would take longer to draw than the bench; a prime many, so that none stands at
  // the same place of an item twice in a row.
  std::vector<float> numbers(std::min<std::size_t>(in.data.size() / sizeof(float), 1'000'003));
  for (float& x : numbers) x = variance ? std::fabs(normal(generator)) : normal(generator);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
  for (std::size_t at = 0; at < in.data.size(); at += bytes.size())
    std::memcpy(in.data.data() + at, bytes.data(), std::min(bytes.size(), in.data.size() - at));
}

/// `4x4:cf32/12`: an item's extents, its element, and how many items of the first input go with it.
struct Item {
  std::vector<Dim> dims;
  std::string element;
  std::int64_t serves = 1;
};
Item item_of(const std::string& text) {
  Item item;
  const auto refuse = [&] {
    return UsageError(fmt::format("--item: '{}' is not as in y=4, h=4x4/12 or llr=2304:i8", text));
  };
  std::string rest = text;
  if (const auto slash = rest.find('/'); slash != rest.npos) {
    item.serves = std::atoll(rest.c_str() + slash + 1);
    rest.resize(slash);
  }
  if (const auto colon = rest.find(':'); colon != rest.npos) {
    item.element = rest.substr(colon + 1);
    rest.resize(colon);
    if (!element_named(item.element)) throw refuse();
  }
  for (std::size_t at = 0; at < rest.size(); at = std::min(rest.find('x', at), rest.size() - 1) + 1) {
    item.dims.push_back({fmt::format("d{}", item.dims.size()), std::atoll(rest.c_str() + at)});
    if (item.dims.back().extent < 1) throw refuse();
  }
  if (item.serves < 1) throw refuse();
  return item;
}

/// What comes behind `port=`, or nothing.
std::optional<std::string> given_for(const InputSpec& spec, const std::vector<std::string>& given) {
  const std::string port = fmt::format("{}=", spec.name);
  for (const std::string& text : given)
    if (text.starts_with(port)) return text.substr(port.size());
  return std::nullopt;
}

void check_ports(const StageEntry& entry, const std::vector<std::string>& given) {
  for (const std::string& text : given)
    if (std::ranges::none_of(entry.inputs, [&](const InputSpec& i) { return given_for(i, {text}).has_value(); }))
      throw UsageError(fmt::format("bench {}: '{}' is not `port=` and more, of one of its inputs", entry.name, text));
}

/// The array again and again, so that it is `length` long.
StageInput repeated_input(const std::string& file, const InputSpec& spec, std::int64_t length) {
  StageInput in = as_input(read_npy(file), spec, spec.example_shape(Element::cf32, 1).rate_hz);
  if (in.shape.axis == Axis::block) return in;
  if (in.data.empty()) throw UsageError(fmt::format("--in: {} is empty", file));
  const std::vector<std::byte> once = std::move(in.data);
  const auto row = static_cast<std::size_t>(in.row_bytes());
  in.length = in.shape.most = length;
  const auto wanted = static_cast<std::size_t>(in.row_bytes());
  in.data.resize(once.size() / row * wanted);
  for (std::size_t at = 0; at < in.data.size(); ++at) in.data[at] = once[at / wanted * row + at % wanted % row];
  return in;
}

StageInput input_for(const InputSpec& spec, std::int64_t length, const BenchOptions& options) {
  if (const auto file = given_for(spec, options.arrays)) return repeated_input(*file, spec, length);
  const auto given = given_for(spec, options.items);
  const Item item = given ? item_of(*given) : Item{};
  const Element element = !item.element.empty()       ? *element_named(item.element)
                          : spec.takes(Element::cf32) ? Element::cf32
                                                      : spec.elements.front();
  StageInput in;
  in.length = length / item.serves;
  in.shape = spec.example_shape(element, in.length);
  if (given) in.shape.item = item.dims;
  fill_random(in, spec.variance);
  return in;
}

/// The keys of the sample, `fir: {taps: [1]}` → `{taps: [1]}`, where none are given.
std::string keys_for(const StageEntry& entry, const std::vector<std::string>& config) {
  if (!config.empty()) return keys_of(config);
  const auto colon = entry.sample.find(':');
  return colon == entry.sample.npos ? "{}" : std::string(entry.sample.substr(colon + 1));
}

/// Of all ports together; transfers are not counted.
std::size_t bytes_of(const Plan& plan) {
  std::size_t bytes = 0;
  for (const PlanPort& p : plan.ports)
    if (p.name.front() != '~') bytes += static_cast<std::size_t>(p.most_new * p.shape.item_bytes());
  return bytes;
}

/// Of the stage's inputs, or of what is published of it.
std::size_t bytes_in(const Plan& plan) {
  std::size_t bytes = 0;
  for (int p = 0; p < plan.sources; ++p) {
    const PlanPort& port = plan.ports[static_cast<std::size_t>(p)];
    bytes += static_cast<std::size_t>(port.most_new * port.shape.item_bytes());
  }
  return bytes;
}
std::size_t bytes_out(const Plan& plan) {
  std::size_t bytes = 0;
  for (const PlanOutput& o : plan.outputs) {
    const PlanPort& port = plan.ports[static_cast<std::size_t>(o.port)];
    bytes += static_cast<std::size_t>(port.most_new * port.shape.item_bytes());
  }
  return bytes;
}

std::unique_ptr<StageRunner> runner_for(const StageEntry& entry, const BenchOptions& options, std::int64_t block,
                                        StageRunner::Options how) {
  std::vector<StageInput> inputs;
  for (const InputSpec& spec : entry.inputs) inputs.push_back(input_for(spec, block * kBlocksOfInput, options));
  how.outputs = options.outputs;
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  if (!how.mapped && options.transfer == "mapped") how.mapped = {kAll, kAll};
  if (!how.mapped && options.transfer == "copy") how.mapped = MappedLimits{};
  Problems problems;
  auto runner = std::make_unique<StageRunner>(entry, keys_for(entry, options.config), std::move(inputs), block,
                                              options.backend, problems, how);
  if (report(problems)) throw UsageError(fmt::format("bench {}: the keys are wrong", entry.name));
  return runner;
}

void rehearse(StageRunner& runner, std::int64_t block) {
  for (std::int64_t i = 0; i < kBlocksOfInput; ++i) runner.rehearse(i * block, block);
}

BenchRow row_for(const StageEntry& entry, const BenchOptions& options, std::int64_t block, const Backend& backend,
                 std::string_view variant) {
  std::string shape = options.config.empty() ? "sample" : "given keys";
  BenchRow row{std::string(entry.name), shape + std::string(variant), backend.name(), backend.device(),
               fmt::format("{}", block)};
  row.unit = entry.inputs.front().items() ? "items/s" : "samples/s";
  return row;
}

/// Several blocks under way on a device, host to host.
BenchRow bench_in_flight(const StageEntry& entry, const BenchOptions& options, std::int64_t block, std::int64_t lanes) {
  std::vector<std::unique_ptr<StageRunner>> runners;
  for (std::int64_t l = 0; l < lanes; ++l) {
    runners.push_back(runner_for(entry, options, block, {}));
    rehearse(*runners.back(), block);
  }
  std::vector<std::int64_t> begun(runners.size());
  std::vector<double> us;
  std::int64_t number = 0;
  const double rate = in_flight(
      lanes, options.seconds,
      [&](std::int64_t l) {
        begun[static_cast<std::size_t>(l)] = steady_ns();
        runners[static_cast<std::size_t>(l)]->set_block(number++ / lanes % kBlocksOfInput * block, block);
        runners[static_cast<std::size_t>(l)]->start_block();
      },
      [&](std::int64_t l) {
        runners[static_cast<std::size_t>(l)]->finish_block();
        us.push_back(static_cast<double>(steady_ns() - begun[static_cast<std::size_t>(l)]) / 1e3);
      });
  Backend& backend = runners.front()->backend();
  BenchRow row = row_for(entry, options, block, backend, fmt::format(", {} lane(s)", lanes));
  us.erase(us.begin(), us.begin() + kWarmUp * lanes);
  set_percentiles(row, us);
  row.throughput = rate * static_cast<double>(block);
  const Plan& plan = runners.front()->plan();
  row.bound = exchanges_per_second(backend, std::max<std::int64_t>(lanes, 4), bytes_in(plan), bytes_out(plan)) *
              static_cast<double>(block);
  row.bound_by = "copies of the same bytes in and out";
  return row;
}

/// Either what a caller waits for, or, of a device, what a stage takes whose input and output stay there.
enum class Variant { whole, resident };

BenchRow bench_block(const StageEntry& entry, const BenchOptions& options, std::int64_t block, Variant variant) {
  const bool resident = variant == Variant::resident;
  StageRunner::Options how;
  how.resident = how.timed = resident;
  if (resident) how.mapped = MappedLimits{std::numeric_limits<std::size_t>::max(), 0};
  const auto runner = runner_for(entry, options, block, how);
  if (!resident) rehearse(*runner, block);

  std::vector<double> us;
  double total = 0;
  std::int64_t calls = 0;
  const std::int64_t end = steady_ns() + static_cast<std::int64_t>(options.seconds * 1e9);
  for (std::int64_t i = 0; i < kWarmUp + kLeast || steady_ns() < end; ++i) {
    runner->set_block(i % kBlocksOfInput * block, block);
    const std::int64_t begin = steady_ns();
    runner->run_block();
    const double took = static_cast<double>(resident ? runner->step_ns() : steady_ns() - begin) / 1e3;
    if (i < kWarmUp) continue;
    us.push_back(took);
    total += took;
    ++calls;
  }
  const std::size_t bytes = bytes_of(runner->plan());
  Backend& backend = runner->backend();
  BenchRow row = row_for(entry, options, block, backend, resident ? ", resident" : "");
  set_percentiles(row, us);
  row.throughput = static_cast<double>(calls * block) / total * 1e6;
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
  check_ports(*entry, options.items);
  check_ports(*entry, options.arrays);
  std::vector<std::int64_t> blocks = options.blocks;
  const bool items = entry->inputs.front().items();
  if (blocks.empty())
    blocks = items ? std::vector<std::int64_t>{16, 512} : std::vector<std::int64_t>{8192, 65536, 1 << 20};
  std::vector<BenchRow> rows;
  const bool device = !entry->host_only && choose_backend(options.backend).backend->kind() != BackendKind::cpu;
  for (const std::int64_t block : blocks) rows.push_back(bench_block(*entry, options, block, Variant::whole));
  if (!device) return rows;
  for (const std::int64_t block : blocks)
    for (const std::int64_t lanes : options.lanes) rows.push_back(bench_in_flight(*entry, options, block, lanes));
  if (options.blocks.empty() && !items) blocks = {8192, 1 << 20, 1 << 24};
  for (const std::int64_t block : blocks) rows.push_back(bench_block(*entry, options, block, Variant::resident));
  return rows;
}

}  // namespace iqd
