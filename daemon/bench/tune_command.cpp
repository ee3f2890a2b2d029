// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>
#include <memory>

#include "daemon/bench/convolution_trial.hpp"
#include "daemon/bench/device_bench.hpp"
#include "daemon/bench/tune_file.hpp"
#include "daemon/command/commands.hpp"
#include "pipeline/backend/convolution_choice.hpp"
#include "pipeline/backend/find_backend.hpp"
#include "pipeline/backend/tuning.hpp"

namespace iqd {
namespace {

/// In place, a block occupies multiprocessors during its transfer: with all lanes busy, it may cost at most this.
constexpr double kLeastThroughput = 0.95;
constexpr std::int64_t kSmallest = 16 << 10;
constexpr std::int64_t kLargest = 16 << 20;

constexpr double kTrySeconds = 0.2;  // each method at each size

/// Tries every method at every usable size; rows padded in advance are only for the thesis's comparison.
ConvolutionChoice quickest(Backend& backend, const ConvolutionShape& shape) {
  const ConvolutionTable& table = convolutions_of(backend);
  ConvolutionTrial trial(backend, shape);
  ConvolutionChoice best;
  double best_us = std::numeric_limits<double>::infinity();
  for (const ConvolutionChoice& choice : table.choices(shape)) {
    if (table.make(shape, choice)->padded_row() != 0) continue;
    const double us = median(trial.measure(table, choice, kTrySeconds).run_us);
    fmt::print("{:<20} {:<20} {:>12.1f} us\n", text_of(shape), text_of(choice), us);
    if (us < best_us) best_us = us, best = choice;
  }
  return best;
}

Exit tune_convolutions(const std::string& name, const std::vector<std::string>& texts, bool store) {
  std::vector<ConvolutionShape> shapes;
  for (const std::string& text : texts) shapes.push_back(convolution_shape(text));
  const std::unique_ptr<Backend> backend = choose_backend(name).backend;
  backend->use();
  for (const ConvolutionShape& shape : shapes) {
    const ConvolutionChoice best = quickest(*backend, shape);
    fmt::print("{}: {} by {}\n", backend->device(), text_of(shape), text_of(best));
    if (store) store_convolution(backend->device(), shape, best);
  }
  if (store) fmt::print("stored in {}\n", tuning_file(backend->device()).string());
  return Exit::ok;
}

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
  fmt::print("stored in {}\n", tuning_file(device).string());
  return Exit::ok;
}

struct TuneOptions {
  int device = 0;
  bool dry = false;
  bool cpu = false;
  std::vector<std::string> shapes;
  FileTuning file;
};

Exit tune_stages(const TuneOptions& o, std::string device) {
  FileTuning tuning = o.file;
  tuning.device = o.cpu ? "" : std::move(device);
  tuning.store = !o.dry;
  tune_file(tuning);
  return Exit::ok;
}

Exit run(const TuneOptions& o) {
  BenchOptions options;
  options.backend = fmt::format("cuda:{}", o.device);
  if (!o.file.file.empty()) return tune_stages(o, options.backend);
  if (!o.file.pipeline.empty() || !o.file.blocks.empty() || o.file.noise)
    throw UsageError("`--pipeline`, `--block` and `--noise` need the file of a pipeline");
  if (!o.shapes.empty()) return tune_convolutions(o.cpu ? "cpu" : options.backend, o.shapes, !o.dry);
  if (o.cpu) throw UsageError("`--cpu` needs a file or `--convolution`: on the CPU there are no transfers to tune");
  options.seconds = 0.2;
  return tune(options, !o.dry);
}

}  // namespace

void add_tune(CommandLine& line) {
  auto o = std::make_shared<TuneOptions>();
  line.command(
          "tune", "measure a GPU, or a file's stages on CPU and GPU, and store the result", [o] { return run(*o); },
          /*quiet=*/true)
      .option("--device", &o->device, "number of the GPU, from 0", {.not_negative = true})
      .option("--dry-run", &o->dry, "store nothing")
      .option("--convolution", &o->shapes, "find the best convolution for SIGNALxTAPSxPACKETS, e.g. 12672x186x3104")
      .option("FILE", &o->file.file, "pipelines whose stages are timed, for `backend: auto`",
              {.excludes = "--convolution"})
      .option("--cpu", &o->cpu, "measure the CPU alone, with FILE or --convolution")
      .option("--pipeline", &o->file.pipeline, "with FILE: only this pipeline")
      .option("--block", &o->file.blocks, "with FILE: samples per block in place of the file's; may be repeated",
              {.positive = true})
      .option("--noise", &o->file.noise, "with FILE: noise in place of what the sources deliver, which are not opened");
}

}  // namespace iqd
