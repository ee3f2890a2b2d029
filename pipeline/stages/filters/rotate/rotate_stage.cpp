// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/rotate/rotate.hpp"

namespace iqd::rotate {
namespace {

/// The rotation for fused CPU loops and for generated kernels.
class RotateCode final : public ElementCode {
 public:
  explicit RotateCode(Rotator rotator) : rotator_(std::move(rotator)) {}

  void apply(std::span<const void* const> in, std::span<void* const> out, std::int64_t first,
             std::int64_t n) const noexcept override {
    run_cpu(rotator_, View<const cf32, 2>(static_cast<const cf32*>(in[0]), {1, n}), first,
            View<cf32, 2>(static_cast<cf32*>(out[0]), {1, n}));
  }
  std::optional<DeviceCode> device_code() const override {
    return DeviceCode{"#include \"pipeline/stages/filters/rotate/turn.hpp\"\n", "iqd::rotate::Turn",
                      DeviceCode::bytes_of(rotator_.turn())};
  }

 private:
  Rotator rotator_;
};

class RotateStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    rate_hz_ = in.rate_hz;
    if (!(rate_hz_ > 0) && config_.frequency != 0)
      context.section.problem("frequency", "needs the sample rate of its input, which is not known");
    if (!std::isfinite(config_.frequency)) context.section.problem("frequency", "has to be a finite number");
    if (!std::isfinite(config_.phase)) context.section.problem("phase", "has to be a finite number");
    if (rate_hz_ > 0 && std::isfinite(config_.frequency)) move(context.out[0]);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    Rotator rotator = this->rotator();
    if (auto* cuda = device_half<CudaHalf>(backend, "rotate")) return cuda(rotator.turn());
    return cpu_run([rotator = std::move(rotator)](const StageIo& io) noexcept {
      const PortIo& in = io.in[0];
      const PortIo& out = io.out[0];
      const View<const cf32, 2> x(in.as<const cf32>().data() + (out.first - in.first), {in.rows, out.length},
                                  in.pitch / static_cast<std::int64_t>(sizeof(cf32)));
      run_cpu(rotator, x, out.first, out.as<cf32>());
    });
  }

  bool is_elementwise() const override { return true; }
  std::unique_ptr<ElementCode> elements() const override { return std::make_unique<RotateCode>(rotator()); }

 private:
  void move(PortShape& out) const {
    const double up = std::remainder(config_.frequency, rate_hz_);
    out.centre_on(-up);
    if (out.span_hz > 0) out.span_hz = std::min(out.span_hz + 2 * std::fabs(up), rate_hz_);
  }
  Rotator rotator() const { return {Phase::per_sample(config_.frequency, rate_hz_), Phase::of_radians(config_.phase)}; }

  double rate_hz_ = 0;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("frequency", frequency,
          {.help = "how far up to shift the signal; negative: down", .unit = Unit::hertz, .live = true});
  v.field("phase", phase, {.help = "phase of the rotation at the stream's first sample, in radians", .live = true});
}

StageEntry entry() {
  return {.family = "filters",
          .name = "rotate",
          .summary = "shifts a signal in frequency",
          .inputs = {{.name = "in", .elements = {Element::cf32}}},
          .outputs = {{.name = "out"}},
          .make = make_stage<RotateStage>,
          .sample = "rotate: {frequency: 1 MHz}",
          .tolerance = 1e-6};
}

}  // namespace iqd::rotate
