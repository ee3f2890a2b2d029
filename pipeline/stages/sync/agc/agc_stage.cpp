// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/agc/agc.hpp"

namespace iqd::agc {
namespace {

class AgcStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    if (config_.ahead >= config_.window)
      return context.section.problem(
          "ahead", fmt::format("is {}, but has to be less than the window of {}: usually half of it", config_.ahead,
                               config_.window));
    if (!(config_.target > 0)) return context.section.problem("target", "has to be above 0");
    most_new_ = context.most_new;
    context.footprint[0] = {.past = gain().past(), .future = config_.ahead};
    context.scratch_bytes = static_cast<std::size_t>(config_.window) * sizeof(double);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "agc")) return cuda(gain(), most_new_);
    return cpu_run([gain = gain()](const StageIo& io) noexcept {
      run_cpu(gain, io.in[0].as<const cf32>(), io.in[0].first, io.out[0].as<cf32>(), io.out[0].first,
              reinterpret_cast<double*>(io.scratch));
    });
  }

 private:
  Gain gain() const { return {config_.target, config_.window, config_.ahead, std::pow(10, config_.max_gain / 20)}; }

  std::int64_t most_new_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("target", target, {.help = "rms of the output", .low = 0, .high = 1e6, .live = true});
  v.field("window", window, {.help = "samples over which the level is measured", .low = 1, .high = 1 << 20});
  v.field("ahead", ahead,
          {.help = "how many of these come after the sample, fewer than `window`; half a window aligns the gain with "
                   "the level",
           .low = 0,
           .high = (1 << 20) - 1});
  v.field("max_gain", max_gain,
          {.help = "maximum gain; limits the amplification of noise without a signal",
           .unit = Unit::decibel,
           .low = -120,
           .high = 200,
           .live = true});
}

StageEntry entry() {
  return {.family = "sync",
          .name = "agc",
          .summary = "scales a signal to a target level, by the power around each sample",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .reread = true}},
          .outputs = {{.name = "out"}},
          .make = make_stage<AgcStage>,
          .sample = "agc: {window: 256}",
          .tolerance = 1e-6};
}

}  // namespace iqd::agc
