// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/measure/spectrum/spectrum.hpp"

namespace iqd::spectrum {
namespace {

class SpectrumStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (config_.size < 1) return context.section.problem("size", "has to be at least 1");
    if (config_.window != Window::rectangular && config_.window != Window::kaiser && config_.size == 2)
      context.section.problem("size", "2 samples of this window are about 0: use 3 or more, or `window: rectangular`");
    rows_ = in.row_count();
    context.out[0].hold_per_block(Element::f32, {in.bins(config_.size, true)});
    context.out[0].span_hz = in.band_hz();
    context.chunk_exempt = true;
    context.scratch_bytes = Spectrum::scratch_bytes(config_.size);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "spectrum")) return cuda(config_, rows_);
    return cpu_run([spectrum = Spectrum(config_)](const StageIo& io) noexcept {
      const std::int64_t frames = spectrum.run(io.in[0].as<const cf32>(), io.in[0].first, io.first_new, io.end_new,
                                               io.out[0].as<float>(), io.scratch);
      *io.out[0].count = frames > 0 ? 1 : 0;
    });
  }

 private:
  std::int64_t rows_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("size", size, {.help = "bins, and samples per frame", .low = 1, .high = 1 << 24});
  v.field("average", average, {.help = "frames to average; 0: all of the block", .low = 0, .live = true});
  v.field("window", window, {.help = "multiplies each frame before the transform"});
  v.field("beta", beta, {.help = "beta of a Kaiser window", .low = 0, .high = 100});
}

StageEntry entry() {
  return {.family = "measure",
          .name = "spectrum",
          .summary = "averaged power spectrum of each block, in dB",
          .inputs = {{.name = "in", .elements = {Element::cf32}}},
          .outputs = {{.name = "out", .in_db = true}},
          .make = make_stage<SpectrumStage>,
          .sample = "spectrum: {size: 1024}",
          .tolerance = 1e-4};
}

}  // namespace iqd::spectrum
