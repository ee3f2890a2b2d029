// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <numbers>

#include "config/quantity.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/quadrature_demod/quadrature_demod.hpp"

namespace iqd::quadrature_demod {
namespace {

class QuadratureDemodStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    rate_hz_ = in.rate_hz;
    if (config_.deviation_hz) check(*config_.deviation_hz, context.section);
    context.footprint[0].past = 1;
    context.out[0].element = Element::f32;
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const auto gain = static_cast<float>(config_.factor(rate_hz_));
    if (auto* cuda = device_half<CudaHalf>(backend, "quadrature_demod")) return cuda(gain);
    return cpu_run([gain](const StageIo& io) noexcept {
      const PortIo& in = io.in[0];
      const PortIo& out = io.out[0];
      run_cpu(in.as<const cf32>(), out.first - in.first, gain, out.as<float>());
    });
  }

 private:
  void check(double deviation_hz, const Section& section) const {
    if (!(rate_hz_ > 0))
      section.problem("deviation", "needs the sample rate of its input, which is not known: give `gain` instead");
    else if (!(deviation_hz > 0) || !(deviation_hz <= rate_hz_ / 2))
      section.problem("deviation",
                      fmt::format("is {}: has to be above 0, and at most half the rate, {}",
                                  quantity_text(deviation_hz, Unit::hertz), quantity_text(rate_hz_ / 2, Unit::hertz)));
  }

  double rate_hz_ = 0;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("gain", gain, {.help = "the factor", .live = true});
  v.field("deviation", deviation_hz,
          {.help = "an FM signal this far above its carrier gives `gain`; default: a step of one radian does",
           .unit = Unit::hertz,
           .live = true});
}

double Config::factor(double rate_hz) const {
  return deviation_hz ? gain * rate_hz / (2 * std::numbers::pi * *deviation_hz) : gain;
}

StageEntry entry() {
  return {.family = "sync",
          .name = "quadrature_demod",
          .summary = "demodulates frequency: the phase step from sample to sample",
          .inputs = {{.name = "in", .elements = {Element::cf32}}},
          .outputs = {{.name = "out"}},
          .make = make_stage<QuadratureDemodStage>,
          .sample = "quadrature_demod: {}",
          .tolerance = 0};
}

}  // namespace iqd::quadrature_demod
