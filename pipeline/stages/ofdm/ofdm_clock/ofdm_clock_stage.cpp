// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_clock/ofdm_clock.hpp"
#include "pipeline/stages/ofdm/ofdm_keys.hpp"

namespace iqd::ofdm_clock {
namespace {

class OfdmClockStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const OfdmFormat& f = config_.format;
    if (!ofdm::check_format(f, context.section) || !ofdm::check_carriers(f, context.in[0], context.section)) return;
    const std::int64_t rx = context.in[0].item[2].extent;
    if (rx < 1 || rx > kMostAntennas)
      return context.section.problem("", fmt::format("takes 1 to {} receive antennas, not {}", kMostAntennas, rx));
    design_ = make_design(config_, rx);
    most_ = context.most_new;
    for (PortShape& out : context.out) out.most = most_;
    context.out[1].hold(Element::f32, {});
    context.scratch_bytes = scratch_bytes(design_);
    if (config_.memory > 1) context.carry_bytes = sizeof(Memory);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "ofdm_clock")) return cuda(design_, most_);
    return cpu_run([design = design_](const StageIo& io) noexcept {
      Memory own;
      Memory& memory = io.carry ? *reinterpret_cast<Memory*>(io.carry) : own;
      if (io.fresh) memory = {};
      run_cpu(design, io.in[0].row<const cf32>(), *io.in[0].count, memory, io.out[0].row<cf32>(),
              io.out[1].row<float>(), io.scratch);
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
  ofdm::tail_field(v, format);
  v.field(
      "limit", limit,
      {.help = "largest error of the clock, in ppm; a frame that shows more is not corrected", .low = 0, .high = 1000});
  v.field("memory", memory,
          {.help = "frames over which the error is averaged; 1: each frame has its own", .low = 1, .high = 1e6});
}

StageEntry entry() {
  return {.family = "ofdm",
          .name = "ofdm_clock",
          .summary = "measures the error of a transmitter's sampling clock and removes what it does to OFDM frames",
          .inputs = {{.name = "carriers",
                      .elements = {Element::cf32},
                      .dims = "[frame][symbol][carrier][rx]",
                      .example = {{"symbol", 14}, {"carrier", 300}, {"rx", 2}}}},
          .outputs = {{.name = "carriers"}, {.name = "clock", .fact = "clock_ppm", .levels = true}},
          .make = make_stage<OfdmClockStage>,
          .sample = "ofdm_clock: {tx: 2}",
          .tolerance = 2e-6};
}

}  // namespace iqd::ofdm_clock
