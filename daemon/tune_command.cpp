// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "daemon/commands.hpp"
#include "daemon/device_bench.hpp"
#include "pipeline/tuning.hpp"

namespace iqd {
namespace {

/// In place, a block keeps multiprocessors busy while it travels: with all lanes at work it may cost no more than this.
constexpr double kLeastThroughput = 0.95;
constexpr std::int64_t kSmallest = 16 << 10;
constexpr std::int64_t kLargest = 16 << 20;

Exit tune(const BenchOptions& options, bool store) {
  std::size_t limit = 0;
  std::string device;
  fmt::print("{:>10} {:>14} {:>14} {:>14} {:>14}\n", "block", "in place us", "copied us", "in place GB/s",
             "copied GB/s");
  for (std::int64_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
    const MappedTrial mapped = try_mapped(options, bytes, "mapped"), copied = try_mapped(options, bytes, "copy");
    const double mapped_ns = mapped.latency.quantile_ns(0.5), copied_ns = copied.latency.quantile_ns(0.5);
    fmt::print("{:>6} KiB {:>14.1f} {:>14.1f} {:>14.1f} {:>14.1f}\n", bytes >> 10, mapped_ns / 1e3, copied_ns / 1e3,
               mapped.gigabytes_per_second, copied.gigabytes_per_second);
    device = mapped.device;
    const bool keeps_up = mapped.gigabytes_per_second >= kLeastThroughput * copied.gigabytes_per_second;
    if (mapped_ns > copied_ns || !keeps_up) break;
    limit = static_cast<std::size_t>(bytes);
  }
  fmt::print("{}: blocks up to {} KiB are used in place, larger ones copied\n", device, limit >> 10);
  if (!store) return Exit::ok;
  store_tuning(device, limit);
  fmt::print("kept in {}\n", tuning_file(device).string());
  return Exit::ok;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto device = std::make_shared<int>(0);
  auto dry = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("tune", "measure a GPU and keep what was found for the plans to come");
  c->add_option("--device", *device, "which, counted from 0")->check(CLI::NonNegativeNumber);
  c->add_flag("--dry-run", *dry, "keep nothing");
  c->callback([=, &action] {
    action = [=] {
      BenchOptions options;
      options.backend = fmt::format("cuda:{}", *device);
      options.seconds = 0.2;
      return tune(options, !*dry);
    };
  });
}

}  // namespace iqd
