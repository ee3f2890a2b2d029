// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/fir/fir.hpp"

namespace iqd::fir {
namespace {

using Taps = std::vector<std::complex<double>>;

class FirStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    element_ = in.element;
    const std::size_t before = context.section.problems().size();
    taps_ = read_taps(in, context.section);
    check(taps_, in, context.section);
    if (context.section.problems().size() > before) return;
    context.footprint[0] = {.past = (std::ssize(taps_) - 1) / config_.interpolation,
                            .granule = config_.decimation,
                            .yield = config_.interpolation};
    context.out[0].rate_hz =
        in.rate_hz * static_cast<double>(config_.interpolation) / static_cast<double>(config_.decimation);
    if (in.rate_hz > 0) place(in, context.out[0]);
    if (config_.interpolation > 1) {
      polyphase_ = make_polyphase_filter(phases(), element_ == Element::cf32);
      context.scratch_bytes = polyphase_->scratch_bytes();
    } else {
      filter_ = make_filter(taps_, config_.decimation, config_.method);
      context.scratch_bytes = filter_->scratch_bytes();
    }
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const bool interpolates = config_.interpolation > 1;
    if (const auto* cuda = device_half<CudaHalf>(backend, "fir"))
      return interpolates ? cuda->make_polyphase(phases(), element_) : cuda->make(taps_, config_, element_);
    return interpolates ? run_of(polyphase_, element_) : run_of(filter_, element_);
  }

 private:
  template <class F> static std::unique_ptr<StageRun> run_of(std::shared_ptr<const F> filter, Element element) {
    return cpu_run([filter, element](const StageIo& io) noexcept {
      if (element == Element::f32)
        run<float>(*filter, io);
      else
        run<cf32>(*filter, io);
    });
  }
  template <class T, class F> static void run(const F& filter, const StageIo& io) noexcept {
    filter.run(io.in[0].as<const T>(), io.in[0].first, io.out[0].as<T>(), io.out[0].first, io.scratch);
  }

  /// What passes may be an image of the input's band, and decimation may fold it: its place on the air stays the same.
  void place(const PortShape& in, PortShape& out) const {
    const double rate_hz = in.rate_hz * static_cast<double>(config_.interpolation);
    const PassBand band = pass_band(config_, rate_hz);
    const auto nearest = [&](double step_hz) { return std::round(band.middle_hz / step_hz) * step_hz; };
    const double image = config_.interpolation > 1 ? nearest(in.rate_hz) : 0;
    const double alias = config_.decimation > 1 ? nearest(out.rate_hz) : 0;
    if (image != alias) out.span_hz = 0;
    out.centre_on(alias - image);
    out.narrow_to(2 * (std::fabs(band.middle_hz - alias) + band.half_hz));
  }

  PolyphaseTaps phases() const { return polyphase_taps(taps_, {config_.interpolation, config_.decimation}); }

  Taps read_taps(const PortShape& in, const Section& section) const {
    if (config_.designed && !config_.taps.empty())
      section.problem("design", "give either `taps` or `design`, not both");
    const double rate_hz = in.rate_hz * static_cast<double>(config_.interpolation);
    return config_.designed ? taps_of(config_.design, rate_hz, section) : config_.taps;
  }

  void check(const Taps& taps, const PortShape& in, const Section& section) const {
    if (config_.interpolation > 1 && config_.method == Method::fft)
      section.problem("method", "`fft` does not interpolate: use `auto` or `direct`, or leave out `interpolation`");
    if (taps.empty() && !config_.designed)
      section.problem("taps", "missing: give the filter as `taps: [1, 2, 1]`, or as `design: {type: low_pass, …}`");
    const auto finite = [](std::complex<double> h) { return std::isfinite(h.real()) && std::isfinite(h.imag()); };
    const auto bad = std::find_if_not(taps.begin(), taps.end(), finite);
    if (bad != taps.end()) section.problem("taps", fmt::format("tap {} is not a finite number", bad - taps.begin()));
    const bool complex = std::any_of(taps.begin(), taps.end(), [](auto h) { return h.imag() != 0; });
    if (complex && in.element == Element::f32)
      section.problem("taps", "complex taps need a complex input; this one is f32");
  }

  Element element_ = Element::cf32;
  Taps taps_;
  std::shared_ptr<const Filter> filter_;              // without interpolation
  std::shared_ptr<const PolyphaseFilter> polyphase_;  // with interpolation
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("taps", taps,
          {.help = "the filter's coefficients, real or complex; the first multiplies the newest sample", .live = true});
  v.group("design", designed, {.help = "computes the taps from a specification; instead of taps"},
          [this](FieldVisitor& inner) { design.fields(inner); });
  v.field(
      "interpolation", interpolation,
      {.help = "filters at this multiple of the input's rate, with zeros between its samples", .low = 1, .high = 4096});
  v.field("decimation", decimation, {.help = "keeps one of this many outputs", .low = 1, .high = 1 << 20});
  v.field("method", method, {.help = "sums of products, FFTs, or the faster one"});
}

StageEntry entry() {
  return {.family = "filters",
          .name = "fir",
          .summary = "filters with given or designed taps, interpolates and decimates",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::f32}}},
          .outputs = {{.name = "out"}},
          .make = make_stage<FirStage>,
          .sample = "fir: {taps: [1, 2, 1]}",
          .tolerance = 2e-6};
}

}  // namespace iqd::fir
