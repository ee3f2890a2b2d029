// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "pipeline/stages/ofdm/ofdm_keys.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

enum Output : std::size_t { kY, kH, kNoise, kPhase };

class MimoChannelEstimatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const OfdmFormat& f = config_.format;
    if (!ofdm::check_format(f, context.section)) return;
    if (config_.delay_spread > f.prefix - f.early())
      return context.section.problem(
          "delay_spread", fmt::format("must be at most {} samples: later paths exceed the prefix and disturb the "
                                      "next symbol; it is {}",
                                      f.prefix - f.early(), config_.delay_spread));
    const PortShape& in = context.in[0];
    const std::vector<Dim>& item = in.item;
    if (in.axis != Axis::counted || item.size() != 3 || item[0].extent != f.symbols() || item[1].extent != f.carriers)
      return context.section.problem(
          "", fmt::format(
                  "input 'carriers' must be [frame][symbol {}][carrier {}][rx]; it is {}; set the same frame keys in "
                  "ofdm_demod and in this stage",
                  f.symbols(), f.carriers, in.text()));
    const std::int64_t rx = item[2].extent;
    if (rx < 1 || rx > kMostAntennas)
      return context.section.problem("", fmt::format("takes 1 to {} receive antennas, not {}", kMostAntennas, rx));
    design_ = make_design(config_, rx);
    most_ = context.most_new;
    for (PortShape& out : context.out) out.most = most_;
    context.out[kY].item = {{"carrier", f.data_carriers()}, {"symbol", f.data_symbols()}, {"rx", rx}};
    context.out[kH].item = {{"carrier", f.data_carriers()}, {"rx", rx}, {"tx", f.tx}};
    context.out[kNoise].hold(Element::f32, {});
    context.out[kPhase].hold(Element::f32, {{"symbol", f.data_symbols()}});
    context.scratch_bytes = scratch_bytes(design_.extents);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "mimo_channel_estimator")) return cuda(design_, most_);
    return cpu_run([design = design_](const StageIo& io) noexcept {
      run_cpu(design, io.in[0].row<const cf32>(), *io.in[0].count,
              {.y = io.out[kY].row<cf32>(),
               .h = io.out[kH].row<cf32>(),
               .noise = io.out[kNoise].row<float>(),
               .phase = io.out[kPhase].row<float>()},
              io.scratch);
      for (const PortIo& out : io.out) *out.count = *io.in[0].count;
    });
  }

 private:
  Design design_;
  std::int64_t most_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  ofdm::format_fields(v, format);
  v.field("delay_spread", delay_spread,
          {.help = "delay of the last path behind the frame's timing, in samples; 0: as much as the prefix allows",
           .low = 0,
           .high = 8192});
  v.field("snr", snr,
          {.help = "SNR that the channel's smoothing is designed for", .unit = Unit::decibel, .low = 0, .high = 80});
  v.field("track_phase", track_phase, {.help = "remove the pilots' common phase from each data symbol"});
}

StageEntry entry() {
  return {.family = "ofdm",
          .name = "mimo_channel_estimator",
          .summary = "estimates channel and noise of OFDM frames and removes the pilots' common phase",
          .inputs = {{.name = "carriers",
                      .elements = {Element::cf32},
                      .dims = "[frame][symbol][carrier][rx]",
                      .example = {{"symbol", 14}, {"carrier", 300}, {"rx", 2}}}},
          .outputs = {{.name = "y"},
                      {.name = "h"},
                      {.name = "noise", .fact = "noise"},
                      {.name = "phase", .can_omit = true}},
          .make = make_stage<MimoChannelEstimatorStage>,
          .sample = "mimo_channel_estimator: {tx: 2}",
          .tolerance = 2e-6};
}

}  // namespace iqd::mimo_channel_estimator
