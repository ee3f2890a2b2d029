// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "config/quantity.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/deemphasis/deemphasis.hpp"

namespace iqd::deemphasis {
namespace {

constexpr double kMost = 50'000;  // samples in tau
constexpr double kLeast = 0.1;    // below that it does nothing, and the rate must be wrong

class DeemphasisStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    rate_hz_ = in.rate_hz;
    if (!(rate_hz_ > 0))
      return context.section.problem("tau", "needs the sample rate of its input, which is not known");
    if (config_.tau > 0 && config_.tau * rate_hz_ < kLeast)
      return context.section.problem(
          "tau", fmt::format("{} are {:g} samples at the input's rate of {}; the minimum is {}. Is the "
                             "rate right? (`iqd exec` assumes 1 without `--rate`)",
                             quantity_text(config_.tau, Unit::seconds), config_.tau * rate_hz_,
                             quantity_text(rate_hz_, Unit::rate), kLeast));
    if (!(config_.tau > 0) || !(config_.tau * rate_hz_ <= kMost))
      return context.section.problem(
          "tau",
          fmt::format("has to be above 0, and at most {} samples: {:g} s at this rate", kMost, kMost / rate_hz_));
    context.footprint[0].past = Pole(config_.tau, rate_hz_).past();
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const Pole pole(config_.tau, rate_hz_);
    if (auto* cuda = device_half<CudaHalf>(backend, "deemphasis")) return cuda(pole);
    return cpu_run([pole](const StageIo& io) noexcept {
      run_cpu(pole, io.in[0].as<const float>(), io.in[0].first, io.out[0].as<float>(), io.out[0].first);
    });
  }

 private:
  double rate_hz_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("tau", tau,
          {.help = "time constant: 50 us in Europe, 75 us in America", .unit = Unit::seconds, .bare_high = 0.01});
}

StageEntry entry() {
  return {.family = "filters",
          .name = "deemphasis",
          .summary = "undoes an FM transmitter's pre-emphasis",
          .inputs = {{.name = "in", .elements = {Element::f32}, .reread = true}},
          .outputs = {{.name = "out"}},
          .make = make_stage<DeemphasisStage>,
          .sample = "deemphasis: {tau: 50 us}",
          .tolerance = 0};
}

}  // namespace iqd::deemphasis
