// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/fft/fft.hpp"

namespace iqd::fft {
namespace {

class FftStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (config_.size < 1) return context.section.problem("size", "has to be at least 1");
    PortShape& out = context.out[0];
    out.axis_name = "frame";
    out.item = {config_.inverse ? Dim{"bin", config_.size} : in.bins(config_.size, config_.shift)};
    out.span_hz = in.band_hz();
    out.rate_hz = in.rate_hz / static_cast<double>(config_.size);
    context.footprint[0] = {.granule = config_.size, .whole = true};
    context.scratch_bytes = Transform::scratch_bytes(config_.size);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "fft")) return cuda(config_);
    return cpu_run([transform = Transform(config_)](const StageIo& io) noexcept {
      const PortIo& out = io.out[0];
      const View<cf32, 3> y(out.as<cf32>().data(), {out.rows, out.length, transform.size()}, out.as<cf32>().stride(0));
      transform.run(io.in[0].as<const cf32>(), io.in[0].first, y, out.first, io.scratch);
    });
  }
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("size", size, {.help = "samples per transform", .low = 1, .high = 1 << 24});
  v.field("inverse", inverse, {.help = "from frequency to time, unscaled"});
  v.field("window", window, {.help = "multiplies each frame before the transform"});
  v.field("beta", beta, {.help = "beta of a Kaiser window", .low = 0, .high = 100});
  v.field("shift", shift, {.help = "0 Hz in the middle: of the output, or of the input if `inverse`"});
}

StageEntry entry() {
  return {.family = "filters",
          .name = "fft",
          .summary = "transforms frames of samples into frequency bins, or back",
          .inputs = {{.name = "in", .elements = {Element::cf32}}},
          .outputs = {{.name = "out"}},
          .make = make_stage<FftStage>,
          .sample = "fft: {size: 1024}",
          .tolerance = 1e-6};
}

}  // namespace iqd::fft
