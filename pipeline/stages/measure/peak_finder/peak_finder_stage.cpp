// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/measure/peak_finder/peak_finder.hpp"

namespace iqd::peak_finder {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

class PeakFinderStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    bins_ = in.axis == Axis::block && in.item.size() == 1;
    padded_ = !in.rows.empty();
    rows_ = in.row_count();
    if (!bins_ && (in.axis != Axis::stream || !in.item.empty()))
      context.section.problem("", fmt::format("the input has to be [bin] or [n]; it is {}", in.text()));
    if (config_.max < 1) context.section.problem("max", "has to be at least 1");
    if (config_.threshold && std::isnan(*config_.threshold)) context.section.problem("threshold", "has to be a number");
    PortShape& out = context.out[0];
    out.rate_hz = 0;
    out.axis = padded_ ? Axis::block : Axis::counted;
    out.axis_name = "peak";
    out.most = padded_ ? 1 : config_.max;
    out.item = {{"field", 2}};
    if (padded_) out.item.insert(out.item.begin(), {"peak", config_.max});
    if (bins_) return;
    context.footprint[0] = {.past = 1, .future = 1};
    context.chunk_exempt = true;
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const auto threshold = static_cast<float>(config_.threshold.value_or(0));
    if (auto* cuda = device_half<CudaHalf>(backend, "peak_finder"))
      return cuda({threshold, config_.max, rows_, bins_, padded_});
    return cpu_run([threshold, max = config_.max, bins = bins_, padded = padded_](const StageIo& io) noexcept {
      const PortIo& in = io.in[0];
      const PortIo& out = io.out[0];
      if (bins && *in.count == 0) return static_cast<void>(*out.count = 0);
      const std::int64_t begin = bins ? 0 : io.first_new - in.first;
      const std::int64_t end = bins ? in.item : io.end_new - in.first;
      std::int64_t found = 0;
      for (std::int64_t row = 0; row < in.rows; ++row) {
        const std::span<Peak> to(out.row<Peak>(row), static_cast<std::size_t>(max));
        found = run_cpu(in.as<const float>().row(row), begin, end, threshold, to);
        if (padded) std::fill(to.begin() + found, to.end(), Peak{kNone, kNone});
      }
      *out.count = padded ? 1 : static_cast<std::int32_t>(found);
    });
  }

 private:
  std::int64_t rows_ = 1;
  bool bins_ = false;    // one row of bins per block, else a stream
  bool padded_ = false;  // several channels: `max` peaks each; unused ones are NaN
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("threshold", threshold, {.help = "peaks are above this value", .required = true, .live = true});
  v.field("max", max, {.help = "maximum number of peaks per block; the largest are kept", .low = 1, .high = 1 << 20});
}

StageEntry entry() {
  return {.family = "measure",
          .name = "peak_finder",
          .summary = "finds the largest local maxima",
          .inputs = {{.name = "in", .elements = {Element::f32}, .dims = "any"}},
          .outputs = {{.name = "out"}},
          .make = make_stage<PeakFinderStage>,
          .sample = "peak_finder: {threshold: -60}",
          .tolerance = 0};
}

}  // namespace iqd::peak_finder
