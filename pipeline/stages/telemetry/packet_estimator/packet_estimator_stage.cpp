// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"
#include "pipeline/stages/telemetry/packet_keys.hpp"

namespace iqd::packet_estimator {
namespace {

enum Output : std::size_t { kWindows, kChannel, kNoise, kOffset, kOffsetHz, kClock, kClockQuality };

class PacketEstimatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (!telemetry::check_packets(config_.format, context.section) ||
        !telemetry::check_items(in, "windows", config_.format.window(), context.section))
      return;
    auto pilot = make_pilot(config_.format, config_.lambda);
    if (!pilot)
      return context.section.problem("lambda", "is too small: this pilot does not determine the channel; set 1");
    pilot_ = std::move(*pilot);
    clock_ = make_clock(config_.format, config_.clock);
    const double rate_hz = in.rate_hz > 0 ? in.rate_hz : in.source_rate_hz;
    offsets_ = {config_.average, 1 / config_.memory, rate_hz / (2 * std::numbers::pi)};
    most_packets_ = context.most_new;
    for (PortShape& out : context.out) {
      out.most = most_packets_;
      if (config_.average == Average::packet) out.marks.emplace_back("offset_of_packet");
    }
    context.out[kChannel].item = {{"tap", kTaps}};
    for (const Output o : {kNoise, kOffset, kOffsetHz, kClock, kClockQuality}) context.out[o].hold(Element::f32, {});
    // These stay empty.
    for (const Output o : {kClock, kClockQuality})
      if (config_.clock == Clock::off) context.out[o].hold_per_block(Element::f32, {});
    context.chunk_exempt = config_.average == Average::block || config_.clock == Clock::block;
    context.carry_bytes = config_.average == Average::carry ? sizeof(Mean) : 0;
    context.scratch_bytes = scratch_bytes(pilot_, clock_, most_packets_);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "packet_estimator"))
      return cuda(pilot_, offsets_, clock_, most_packets_);
    return cpu_run([pilot = pilot_, offsets = offsets_, clock = clock_](const StageIo& io) noexcept {
      auto* const mean = reinterpret_cast<Mean*>(io.carry);
      if (mean && io.fresh) *mean = {};
      run_cpu(pilot, offsets, clock, io.in[0].row<const cf32>(), *io.in[0].count, mean,
              {.windows = io.out[kWindows].row<cf32>(),
               .channel = io.out[kChannel].row<cf32>(),
               .noise = io.out[kNoise].row<float>(),
               .offset = io.out[kOffset].row<float>(),
               .offset_hz = io.out[kOffsetHz].row<float>(),
               .clock = io.out[kClock].row<float>(),
               .clock_quality = io.out[kClockQuality].row<float>()},
              io.scratch);
      for (const PortIo& out : io.out) *out.count = *io.in[0].count;
      if (clock.over == Clock::off) *io.out[kClock].count = *io.out[kClockQuality].count = 0;
    });
  }

 private:
  Pilot pilot_;
  Offsets offsets_;
  ClockDesign clock_;
  std::int64_t most_packets_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("average", average, {.help = "what the offset is averaged over: the block, nothing, or all packets so far"});
  v.field("clock", clock,
          {.help = "correct the error of the transmitter's clock: not at all, each packet by itself, or all packets of "
                   "the block alike"});
  v.field("lambda", lambda,
          {.help = "regularization: larger keeps the channel small; 0: maximum likelihood",
           .low = 0,
           .high = 1e6,
           .live = true});
  v.field("memory", memory,
          {.help = "packets that `average: carry` averages over", .low = 1, .high = 1e9, .live = true});
  telemetry::packet_fields(v, format);
}

StageEntry entry() {
  return {.family = "telemetry",
          .name = "packet_estimator",
          .summary = "estimates each packet's frequency offset, channel and noise, and removes the offset",
          .inputs = {{.name = "windows",
                      .elements = {Element::cf32},
                      .dims = "[packet][sample]",
                      .one_channel = true,
                      .example = {{"sample", 13184}}}},
          .outputs = {{.name = "windows", .can_omit = true},
                      {.name = "channel", .can_omit = true},
                      {.name = "noise", .fact = "noise"},
                      {.name = "offset", .can_omit = true},
                      {.name = "offset_hz", .fact = "offset_hz"},
                      {.name = "clock", .fact = "clock_ppm", .levels = true},
                      {.name = "clock_quality", .fact = "clock_quality"}},
          .make = make_stage<PacketEstimatorStage>,
          .sample = "packet_estimator: {average: packet}",
          .tolerance = 1e-6};
}

}  // namespace iqd::packet_estimator
