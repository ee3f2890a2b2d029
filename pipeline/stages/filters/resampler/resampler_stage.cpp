// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/resampler/resampler.hpp"

namespace iqd::resampler {
namespace {

constexpr double kMostRatio = 4096;

class ResamplerStage final : public ConfiguredStage<Config> {
 public:
  using ConfiguredStage::ConfiguredStage;

  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    const Section& section = context.section;
    const std::optional<Ratio> ratio = wanted(in, section);
    if (!ratio) return;
    element_ = in.element;
    taps_ = resampling_taps(*ratio, config_.attenuation_db, config_.bandwidth);
    context.footprint[0] = {.past = taps_.past(), .future = taps_.ahead, .granule = ratio->down, .yield = ratio->up};
    context.out[0].rate_hz = in.rate_hz * static_cast<double>(ratio->up) / static_cast<double>(ratio->down);
    context.out[0].narrow_to(config_.bandwidth * std::min(in.rate_hz, context.out[0].rate_hz));
    filter_ = make_polyphase_filter(taps_, element_ == Element::cf32);
    context.scratch_bytes = filter_->scratch_bytes();
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "resampler")) return cuda(taps_, element_);
    return cpu_run([filter = filter_, element = element_](const StageIo& io) noexcept {
      if (element == Element::f32)
        run<float>(*filter, io);
      else
        run<cf32>(*filter, io);
    });
  }

 private:
  template <class T> static void run(const PolyphaseFilter& filter, const StageIo& io) noexcept {
    filter.run(io.in[0].as<const T>(), io.in[0].first, io.out[0].as<T>(), io.out[0].first, io.scratch);
  }

  std::optional<Ratio> wanted(const PortShape& in, const Section& section) const {
    if (config_.rate_hz.has_value() == !config_.ratio.empty())
      return section.problem("", "give either `ratio`, like `3/2`, or `rate`, like `48 kS/s`"), std::nullopt;
    if (config_.rate_hz && !(in.rate_hz > 0))
      return section.problem("rate", "the input's rate is not known: give `ratio`"), std::nullopt;
    const double real = config_.rate_hz.value_or(0) / in.rate_hz;
    const std::string_view key = config_.rate_hz ? "rate" : "ratio";
    if (config_.rate_hz && !(real >= 1 / kMostRatio && real <= kMostRatio))
      return too_far(key, fmt::format("{:g} times the input's rate of {:g} S/s", real, in.rate_hz), section);
    const std::optional<Ratio> ratio = config_.rate_hz ? nearest_ratio(real) : ratio_of(config_.ratio);
    if (!ratio || ratio->down == 0)
      return section.problem("ratio", fmt::format("`{}` is not a ratio: write `3/2`, with numbers up to 67108864, or "
                                                  "`1.5`",
                                                  config_.ratio)),
             std::nullopt;
    const double given = static_cast<double>(ratio->up) / static_cast<double>(ratio->down);
    if (!(given >= 1 / kMostRatio && given <= kMostRatio))
      return too_far(key, fmt::format("{:g} times the input's rate", given), section);
    return ratio;
  }

  static std::optional<Ratio> too_far(std::string_view key, const std::string& what, const Section& section) {
    section.problem(key, fmt::format("{}: has to be between 1/{} and {}", what, kMostRatio, kMostRatio));
    return std::nullopt;
  }

  Element element_ = Element::cf32;
  PolyphaseTaps taps_;
  std::shared_ptr<const PolyphaseFilter> filter_;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("ratio", ratio, {.help = "the output's rate over the input's: `3/2`, `1.5`"});
  v.field("rate", rate_hz,
          {.help = "the output's rate, instead of ratio", .unit = Unit::rate, .low = 0, .bare_low = 100});
  v.field("attenuation", attenuation_db,
          {.help = "attenuation of images and aliases", .unit = Unit::decibel, .low = 20, .high = 120});
  v.field("bandwidth", bandwidth,
          {.help = "share of the lower rate's band that passes; more taps near 1", .low = 0.1, .high = 0.99});
}

StageEntry entry() {
  return {.family = "filters",
          .name = "resampler",
          .summary = "resamples a signal by any ratio",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::f32}}},
          .outputs = {{.name = "out"}},
          .make = make_stage<ResamplerStage>,
          .sample = "resampler: {ratio: 3/2}",
          .tolerance = 2e-6,
          .make_resampler = [](double to_hz) -> std::unique_ptr<Stage> {
            return std::make_unique<ResamplerStage>(Config{.ratio = {}, .rate_hz = to_hz});
          }};
}

}  // namespace iqd::resampler
