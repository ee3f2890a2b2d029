// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/mimo_modulation/mimo_modulation.hpp"
#include "pipeline/stages/ofdm/ofdm_keys.hpp"

namespace iqd::mimo_modulation {
namespace {

class MimoModulationStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const OfdmFormat& f = config_.format;
    if (!ofdm::check_format(f, context.section) || !ofdm::check_carriers(f, context.in[0], context.section)) return;
    const std::int64_t rx = context.in[0].item[2].extent;
    if (rx < 1 || rx > kMostAntennas)
      return context.section.problem("", fmt::format("takes 1 to {} receive antennas, not {}", kMostAntennas, rx));
    const auto configured = ofdm::modulation_of(config_.modulation, f.tx, context.section);
    if (!configured) return;
    design_ = make_design(config_, *configured, rx);
    most_ = context.most_new;
    for (const Output o : {kModulation, kMargin}) context.out[o].most = most_;
    context.out[kModulation].hold(Element::u8, {{"tx", f.tx}});
    context.out[kMargin].hold(Element::f32, {{"tx", f.tx}});
    context.out[kTally].tally(kEvents);
    context.scratch_bytes = scratch_bytes(design_);
    context.carry_bytes = sizeof(Memory);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "mimo_modulation")) return cuda(design_, most_);
    return cpu_run([design = design_](const StageIo& io) noexcept {
      Memory own;
      Memory& memory = io.carry ? *reinterpret_cast<Memory*>(io.carry) : own;
      if (!io.carry || io.fresh) set_configured(design.tables, memory);
      const std::int32_t frames = *io.in[0].count;
      auto* const events = io.out[kTally].row<std::int64_t>();
      events[kFrames] = frames;
      events[kUnclear] = run_cpu(design, io.in[0].row<const cf32>(), frames, memory,
                                 io.out[kModulation].row<std::uint8_t>(), io.out[kMargin].row<float>(), io.scratch);
      *io.out[kModulation].count = *io.out[kMargin].count = frames;
      *io.out[kTally].count = 1;
    });
  }

 private:
  Design design_;
  std::int64_t most_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  ofdm::format_fields(v, format);
  v.field(
      "modulation", modulation,
      {.help = "of all antennas or, as a list, of each, as long as they announce nothing: qpsk, 16qam, 64qam, 256qam, "
               "silent",
       .live = true});
  v.field("announced", announced, {.help = "false: frames are not looked at; all have `modulation`", .live = true});
  v.field("margin", margin,
          {.help = "deviations by which a number has to be better than the next; else it is unclear",
           .low = 0,
           .high = 100,
           .live = true});
}

StageEntry entry() {
  return {
      .family = "ofdm",
      .name = "mimo_modulation",
      .summary = "reads which modulation each antenna of an OFDM transmitter announces",
      .inputs = {{.name = "carriers",
                  .elements = {Element::cf32},
                  .dims = "[frame][symbol][carrier][rx]",
                  .example = {{"symbol", 14}, {"carrier", 300}, {"rx", 2}}}},
      .outputs = {{.name = "modulation"}, {.name = "margin", .can_omit = true}, {.name = "events", .tally = kEvents}},
      .make = make_stage<MimoModulationStage>,
      .sample = "mimo_modulation: {tx: 2}",
      .tolerance = 1e-4};
}

}  // namespace iqd::mimo_modulation
