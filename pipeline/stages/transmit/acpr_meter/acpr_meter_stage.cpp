// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "config/quantity.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/transmit/acpr_meter/acpr_meter.hpp"

namespace iqd::acpr_meter {
namespace {

constexpr double kFewestBins = 8;  // of a carrier, as the window's main lobe reaches over its edges

class AcprMeterStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    rate_hz_ = in.rate_hz;
    check(config_, rate_hz_, context.section);
    context.out[0].hold_per_block(Element::f32, {{"level", std::ssize(kLevels), {kLevels.begin(), kLevels.end()}}});
    context.out[1].hold_per_block(Element::f32, {in.bins(config_.size, true)});
    context.out[1].span_hz = in.band_hz();
    context.chunk_exempt = true;
    context.scratch_bytes = Meter::scratch_bytes(config_.size);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "acpr_meter"))
      return cuda(Bands(config_, rate_hz_), config_.size, config_.average);
    return cpu_run([meter = Meter(config_, rate_hz_)](const StageIo& io) noexcept {
      const PortIo &in = io.in[0], &levels = io.out[0], &spectrum = io.out[1];
      std::int64_t frames = 0;
      for (std::int64_t row = 0; row < in.rows; ++row) {
        const auto* const x = in.row<const cf32>(row) + (io.first_new - in.first);
        const std::size_t bins = spectrum.data != nullptr ? static_cast<std::size_t>(spectrum.item) : 0;
        frames = meter.run({x, static_cast<std::size_t>(io.end_new - io.first_new)},
                           std::span<float, kLevels.size()>(levels.row<float>(row), kLevels.size()),
                           {spectrum.row<float>(row), bins}, io.scratch);
      }
      *levels.count = *spectrum.count = frames > 0 ? 1 : 0;
    });
  }

 private:
  double rate_hz_ = 0;
};

}  // namespace

void check(const Config& config, double rate_hz, const Section& section, std::string_view group) {
  const auto problem = [&](const char* key, const std::string& what) {
    section.problem(std::string(group) + key, what);
  };
  if (!(rate_hz > 0)) return section.problem("", "needs the sample rate of its input, which is not known");
  if (config.carriers.empty()) return problem("carriers", "must list at least one carrier");
  const double bin = rate_hz / static_cast<double>(config.size);
  if (config.bandwidth < kFewestBins * bin)
    problem("bandwidth", fmt::format("must be at least {} bins; with a `size` of {}, a bin is {}; set a larger `size`",
                                     kFewestBins, config.size, quantity_text(bin, Unit::hertz)));
  if (config.spacing && *config.spacing < config.bandwidth)
    problem("spacing", fmt::format("must be at least the `bandwidth` of {}, so that the adjacent channel does "
                                   "not overlap the carrier",
                                   quantity_text(config.bandwidth, Unit::hertz)));
  const auto beside = std::ranges::find_if(config.carriers,
                                           [&](double f) { return std::fabs(f) + config.bandwidth / 2 > rate_hz / 2; });
  if (beside != config.carriers.end())
    problem("carriers", fmt::format("the carrier at {} with a bandwidth of {} exceeds the received {}",
                                    quantity_text(*beside, Unit::hertz), quantity_text(config.bandwidth, Unit::hertz),
                                    quantity_text(rate_hz, Unit::hertz)));
}

void Config::fields(FieldVisitor& v) {
  v.field("carriers", carriers, {.help = "centre frequencies of the carriers", .unit = Unit::hertz});
  v.field("bandwidth", bandwidth,
          {.help = "measured bandwidth around the centre of each channel, such as 9 MHz for an LTE carrier of 10 MHz",
           .unit = Unit::hertz,
           .low = 0,
           .required = true});
  v.field("spacing", spacing,
          {.help = "distance from a carrier to the adjacent channel; none: bandwidth / 0.9",
           .unit = Unit::hertz,
           .low = 0});
  v.field("size", size, {.help = "FFT size: bins, and samples of a frame", .low = 16, .high = 1 << 20});
  v.field("average", average, {.help = "frames to average; 0: the whole block", .low = 0, .live = true});
}

StageEntry entry() {
  return {.family = "transmit",
          .name = "acpr_meter",
          .summary = "measures adjacent channels, intermodulation, images and carrier leakage of a transmission",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .reread = true}},
          .outputs = {{.name = "levels", .levels = true}, {.name = "spectrum", .can_omit = true, .in_db = true}},
          .make = make_stage<AcprMeterStage>,
          .sample = "acpr_meter: {carriers: [-50 kHz, 150 kHz], bandwidth: 50 kHz, size: 256}",
          .tolerance = 1e-4};
}

}  // namespace iqd::acpr_meter
