// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage.hpp"
#include "pipeline/stages/dsp/quadrature_demod/quadrature_demod.hpp"
#include "pipeline/stages/dsp/quadrature_demod/quadrature_demod_cuda.hpp"

namespace iqd::quadrature_demod {
namespace {

class QuadratureDemodStage final : public Stage {
 public:
  void fields(FieldVisitor& visitor) override { config_.fields(visitor); }

  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (in.axis != Axis::stream || !in.item.empty())
      context.section.problem("", fmt::format("takes single samples, [n]; its input is {}", in.text()));
    context.footprint[0].past = 1;
    context.out[0].element = Element::f32;
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const auto gain = static_cast<float>(config_.gain);
    if (const auto* cuda = device_half<CudaHalf>(backend, "quadrature_demod")) return cuda->make(gain);
    return cpu_run([gain](const StageIo& io) noexcept {
      const PortIo& in = io.in[0];
      const PortIo& out = io.out[0];
      run_cpu(in.as<const cf32>(), out.first - in.first, gain, out.as<float>());
    });
  }

 private:
  Config config_;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("gain", gain,
          {.help = "the factor: the rate / (2 pi deviation) for an FM signal that deviates so far to be 1 there",
           .live = true});
}

StageEntry entry() {
  return {.family = "dsp",
          .name = "quadrature_demod",
          .summary = "demodulates frequency: how far a signal turns from sample to sample",
          .inputs = {{.name = "in", .elements = {Element::cf32}}},
          .outputs = {{.name = "out"}},
          .make = []() -> std::unique_ptr<Stage> { return std::make_unique<QuadratureDemodStage>(); },
          .sample = "quadrature_demod: {}",
          .tolerance = 0};
}

}  // namespace iqd::quadrature_demod
