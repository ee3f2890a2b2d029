// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/signal_source/signal_source.hpp"
#include "signal/formats/phase.hpp"

namespace iqd::signal_source {
namespace {

/// The tone for fused CPU loops and for generated kernels.
class ToneCode final : public ElementCode {
 public:
  ToneCode(Waveform waveform, const Oscillation& oscillation, Element element)
      : waveform_(waveform), oscillation_(oscillation), element_(element) {}

  void apply(std::span<const void* const> /*in*/, std::span<void* const> out, std::int64_t first,
             std::int64_t n) const noexcept override {
    run_cpu(waveform_, oscillation_, first, element_, out[0], n);
  }
  std::optional<DeviceCode> device_code() const override {
    return DeviceCode{"#include \"pipeline/stages/math/signal_source/tone.hpp\"\n",
                      fmt::format("iqd::signal_source::Tone<iqd::signal_source::Waveform::{}, {}>",
                                  enum_names(waveform_)[static_cast<std::size_t>(waveform_)],
                                  element_ == Element::cf32 ? "iqd::elementwise::Complex" : "float"),
                      DeviceCode::bytes_of(oscillation_)};
  }

 private:
  Waveform waveform_;
  Oscillation oscillation_;
  Element element_;
};

class SignalSourceStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    rate_hz_ = in.rate_hz;
    if (!(rate_hz_ > 0) && config_.frequency != 0)
      context.section.problem("frequency", "needs the sample rate of its input, which is not known");
    const auto finite = [&](std::string_view key, double value) {
      if (!std::isfinite(value)) context.section.problem(key, "has to be a finite number");
    };
    finite("frequency", config_.frequency);
    finite("amplitude", config_.amplitude);
    finite("phase", config_.phase);
    if (config_.waveform == Waveform::complex && config_.dtype == Dtype::f32)
      context.section.problem("dtype",
                              "f32 does not go with `waveform: complex`: use cosine, sine, square or constant");
    context.out[0].element = config_.element();
    context.out[0].leave_air();
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const Oscillation oscillation = config_.oscillation(rate_hz_);
    if (auto* cuda = device_half<CudaHalf>(backend, "signal_source"))
      return cuda(config_.waveform, oscillation, config_.element());
    return cpu_run([oscillation, waveform = config_.waveform, element = config_.element()](const StageIo& io) noexcept {
      const PortIo& out = io.out[0];
      for (std::int64_t row = 0; row < out.rows; ++row)
        run_cpu(waveform, oscillation, out.first, element, out.data + row * out.pitch, out.length);
    });
  }

  bool is_elementwise() const override { return true; }
  std::unique_ptr<ElementCode> elements() const override {
    return std::make_unique<ToneCode>(config_.waveform, config_.oscillation(rate_hz_), config_.element());
  }

 private:
  double rate_hz_ = 0;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("waveform", waveform,
          {.help = "`complex`: A exp(j phi); `cosine`: A cos phi; `sine`: A sin phi; `square`: A and -A, half a turn "
                   "each; `constant`: A"});
  v.field("frequency", frequency,
          {.help = "negative: rotates the other way; modulo the source's rate", .unit = Unit::hertz, .live = true});
  v.field("amplitude", amplitude, {.help = "A", .live = true});
  v.field("phase", phase, {.help = "phi at the stream's first sample, in radians", .live = true});
  v.field("dtype", dtype, {.help = "element type of the output; `complex` needs cf32"});
}

Oscillation Config::oscillation(double rate_hz) const {
  if (frequency == 0) return {0, Phase::of_radians(phase).turns, static_cast<float>(amplitude)};
  // A square wave shows on which side of an edge a phase lies, even by 2^-64 turns.
  const Phase step = waveform == Waveform::square ? Phase::per_sample_or_more(frequency, rate_hz)
                                                  : Phase::per_sample(frequency, rate_hz);
  return {step.turns, Phase::of_radians(phase).turns, static_cast<float>(amplitude)};
}

StageEntry entry() {
  return {.family = "math",
          .name = "signal_source",
          .summary = "generates test tones: complex, cosine, sine, square, constant",
          .inputs = {{.name = "in", .elements = {Element::cf32}}},
          .outputs = {{.name = "out"}},
          .make = make_stage<SignalSourceStage>,
          .sample = "signal_source: {frequency: 1 kHz}",
          .tolerance = 0};
}

}  // namespace iqd::signal_source
